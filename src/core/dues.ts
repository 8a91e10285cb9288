/**
 * When which deposits are to be decided again, as ranges of their numbers: deposits of one block stand side by side and
 * are due together, so a few ranges hold them all, and are kept with what is written anyway.
 *
 * Invariant: a deposit that is due lies in a range that is due no later. A range may hold others, and say a moment that
 * has become void: whoever is asked too early finds nothing to do. Too late is never.
 */

/** Due at this height: every deposit from the one number to the other, both included, whose own row says so. */
export type DueRange = readonly [due: number, from: number, to: number];

export interface Dues {
  /** By the height of the head. */
  readonly height: readonly DueRange[];
  /** By the height that is final. */
  readonly finalized: readonly DueRange[];
}

export const NO_DUES: Dues = { height: [], finalized: [] };

/** Numbers this far apart are still one range: what lies between is read in vain. */
const GAP = 16;
/** Bounds what is written with each commit. Above it, neighbours are put together under the earlier moment. */
const MOST_RANGES = 64;

export function withDue(ranges: readonly DueRange[], due: number, number: number): readonly DueRange[] {
  const near = ranges.findIndex(([at, from, to]) => at === due && number >= from - GAP && number <= to + GAP);
  const found = ranges[near];
  if (found === undefined) return bounded([...ranges, [due, number, number]]);
  const [, from, to] = found;
  if (number >= from && number <= to) return ranges;
  return ranges.with(near, [due, Math.min(from, number), Math.max(to, number)]);
}

/** Those that are due at this height, and the others. */
export function splitDue(
  ranges: readonly DueRange[],
  height: number,
): { readonly due: readonly DueRange[]; readonly later: readonly DueRange[] } {
  return { due: ranges.filter(([at]) => at <= height), later: ranges.filter(([at]) => at > height) };
}

/** The earliest height at which something may be due; null: never. */
export function earliestDue(ranges: readonly DueRange[]): number | null {
  return ranges.length === 0 ? null : Math.min(...ranges.map(([at]) => at));
}

function bounded(ranges: readonly DueRange[]): readonly DueRange[] {
  if (ranges.length <= MOST_RANGES) return ranges;
  const sorted = ranges.toSorted(([a], [b]) => a - b);
  const joined: DueRange[] = [];
  for (let i = 0; i < sorted.length; i += 2) {
    const pair = sorted.slice(i, i + 2);
    joined.push([
      Math.min(...pair.map(([at]) => at)),
      Math.min(...pair.map(([, from]) => from)),
      Math.max(...pair.map(([, , to]) => to)),
    ]);
  }
  return joined;
}
