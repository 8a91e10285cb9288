/** The library that draws: a file of its own, fetched when a chart is shown first. Nothing else of the console imports it. */

import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import type { BarRow, BarsProps } from "./chart.tsx";

const HEIGHT = 220;
const TICK = { fill: "var(--text-2)", fontSize: 12 };

/** Of the widest of the axis' labels: the library's own measuring cuts them off. */
function widthOf(rows: BarsProps["rows"], format: BarsProps["format"]): number {
  const highest = Math.max(0, ...rows.flatMap(({ values }) => Object.values(values)));
  const longest = Math.max(...[highest, highest * 1.25, highest / 3].map((value) => format(Math.round(value)).length));
  return 14 + 7 * longest;
}

/** It is a picture: what it shows is told in words and as a table by whoever shows it. */
export default function Bars({ rows, series, stacked = false, format }: BarsProps) {
  const last = series.length - 1;
  return (
    <ResponsiveContainer width="100%" height={HEIGHT} initialDimension={{ width: 320, height: HEIGHT }}>
      <BarChart
        data={[...rows]}
        accessibilityLayer={false}
        margin={{ top: 8, right: 4, bottom: 0, left: 0 }}
        barCategoryGap="18%"
      >
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis dataKey="name" tick={TICK} tickLine={false} stroke="var(--line-strong)" minTickGap={12} />
        <YAxis
          width={widthOf(rows, format)}
          allowDecimals={false}
          tick={TICK}
          tickLine={false}
          axisLine={false}
          tickFormatter={(value: number) => format(value)}
        />
        <Tooltip
          isAnimationActive={false}
          cursor={{ fill: "var(--surface-2)" }}
          formatter={(value) => format(Number(value))}
          contentStyle={{
            background: "var(--surface)",
            border: "1px solid var(--line-strong)",
            borderRadius: 6,
            fontSize: 13,
          }}
          labelStyle={{ color: "var(--text)", fontWeight: 600 }}
          itemStyle={{ color: "var(--text)" }}
        />
        {series.map(({ key, name, colour }, i) => (
          <Bar
            key={key}
            name={name}
            dataKey={(row: BarRow) => row.values[key] ?? 0}
            fill={colour}
            stroke="var(--surface)"
            maxBarSize={48}
            isAnimationActive={false}
            {...(stacked ? { stackId: "all" } : {})}
            {...(!stacked || i === last ? { radius: [3, 3, 0, 0] as [number, number, number, number] } : {})}
          />
        ))}
      </BarChart>
    </ResponsiveContainer>
  );
}
