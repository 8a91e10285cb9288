/**
 * What a benchmark gives: rows of figures, each of what was measured and of the reference beside it, and the goals
 * held against them. Figures are medians over rounds in which product and references took turns on one machine: that
 * machine's own speed stands in both.
 */

export interface BenchOptions {
  /** Rounds of which the median is taken. */
  readonly rounds: number;
  /** A smaller run, to see that everything works: its figures mean nothing. */
  readonly quick: boolean;
  /** Takes a line of progress. */
  readonly say: (line: string) => void;
}

export interface Bench {
  /** One sentence: what is measured. */
  readonly about: string;
  readonly run: (options: BenchOptions) => Promise<BenchResult>;
}

export interface BenchResult {
  readonly rows: readonly Row[];
  readonly goals: readonly Goal[];
  /** What a reader of the figures must know: sizes, versions of peers, what was left out and why. */
  readonly notes: readonly string[];
}

export interface Row {
  /** The variant: sparse chain, 64 clients, ... */
  readonly variant: string;
  /** `sluice`, or the reference's name. */
  readonly subject: string;
  /** By name with its unit: `seconds`, `p99_ms`, `rpc_calls`. */
  readonly figures: Readonly<Record<string, number>>;
}

export interface Goal {
  readonly name: string;
  readonly measured: number;
  /** `<=` or `>=` the bound. */
  readonly relation: "<=" | ">=";
  readonly bound: number;
}

export function isMet({ measured, relation, bound }: Goal): boolean {
  return relation === "<=" ? measured <= bound : measured >= bound;
}

/** The middle of an odd number of values, the mean of the two in the middle of an even one. @throws when there is none */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Linear between the two nearest ranks. @param share 0 to 1 @throws when there is no value */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  if (below === undefined || above === undefined) throw new Error("a quantile of nothing was asked for");
  return below + (above - below) * (at - Math.floor(at));
}

/** Each contestant once in a round, in turn, and each round begins with another one: no place in the order is favoured. */
export async function inTurns<T>(
  rounds: number,
  contestants: Readonly<Record<string, () => Promise<T>>>,
): Promise<Record<string, T[]>> {
  const names = Object.keys(contestants);
  const results: Record<string, T[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (let n = 0; n < names.length; n++) {
      const name = names[(round + n) % names.length] ?? "";
      const measured = await contestants[name]?.();
      if (measured !== undefined) results[name]?.push(measured);
    }
  }
  return results;
}

/** A table for a terminal. */
export function tableOf({ rows, goals, notes }: BenchResult): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.figures)))];
  const cells = [
    ["variant", "subject", ...names],
    ...rows.map((row) => [
      row.variant,
      row.subject,
      ...names.map((name) => (row.figures[name] === undefined ? "" : shown(row.figures[name]))),
    ]),
  ];
  const widths = cells[0]?.map((_, n) => Math.max(...cells.map((line) => line[n]?.length ?? 0))) ?? [];
  const table = cells.map((line) =>
    line
      .map((cell, n) => (n < 2 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
  const held = goals.map(
    (goal) =>
      `${isMet(goal) ? "met   " : "MISSED"}  ${goal.name}: ${shown(goal.measured)} ${goal.relation} ${shown(goal.bound)}`,
  );
  return [...table, "", ...held, ...(notes.length === 0 ? [] : ["", ...notes])].join("\n");
}

function shown(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
