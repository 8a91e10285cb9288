/**
 * A chart with its name, what it says in a sentence, and its figures as a table for whoever wants to read them. The
 * picture is one of the three and never the only one.
 */

import { lazy, type ReactNode, Suspense, useState } from "react";
import { Loading } from "../design/answers.tsx";
import { Button } from "../design/button.tsx";
import { Card } from "../design/layout.tsx";
import { Table } from "../design/table.tsx";
import styles from "./chart.module.css";

const Bars = lazy(() => import("./bars.tsx"));

export interface BarRow {
  readonly name: string;
  /** By the key of their series. */
  readonly values: Readonly<Record<string, number>>;
}

export interface BarSeries {
  readonly key: string;
  readonly name: string;
  /** A CSS colour, of the tokens: it has to do in both themes. */
  readonly colour: string;
}

export interface BarsProps {
  readonly rows: readonly BarRow[];
  readonly series: readonly BarSeries[];
  readonly stacked?: boolean;
  readonly format: (value: number) => string;
}

export function Chart({
  title,
  words,
  nameOfRows,
  children,
  ...bars
}: BarsProps & {
  readonly title: string;
  /** What it says. Read in the place of the picture by who does not see it. */
  readonly words: string;
  /** Head of the table's first column. */
  readonly nameOfRows: string;
  readonly children?: ReactNode;
}) {
  const [asTable, setAsTable] = useState(false);
  const isEmpty = bars.rows.every(({ values }) => Object.values(values).every((value) => value === 0));
  return (
    <Card
      title={title}
      actions={
        isEmpty ? undefined : (
          <Button small aria-label={`${title}: ${asTable ? "chart" : "figures"}`} onClick={() => setAsTable(!asTable)}>
            {asTable ? "Chart" : "Figures"}
          </Button>
        )
      }
    >
      <div className="stack stack-tight">
        <p className="small quiet">{words}</p>
        {children}
        {isEmpty ? null : asTable ? (
          <Table
            label={title}
            rows={bars.rows}
            keyOf={(row) => String(bars.rows.indexOf(row))}
            columns={[
              { name: nameOfRows, cell: ({ name }) => name },
              ...bars.series.map(({ key, name }) => ({
                name,
                number: true,
                cell: (row: BarRow) => bars.format(row.values[key] ?? 0),
              })),
            ]}
          />
        ) : (
          <>
            {bars.series.length > 1 ? <Legend series={bars.series} /> : null}
            <div className={styles.picture} role="img" aria-label={`${title}. ${words}`}>
              <Suspense fallback={<Loading label="Loading the chart" />}>
                <Bars {...bars} />
              </Suspense>
            </div>
          </>
        )}
      </div>
    </Card>
  );
}

function Legend({ series }: { readonly series: readonly BarSeries[] }) {
  return (
    <ul className={styles.legend}>
      {series.map(({ key, name, colour }) => (
        <li key={key}>
          <span className={styles.swatch} style={{ background: colour }} aria-hidden />
          {name}
        </li>
      ))}
    </ul>
  );
}
