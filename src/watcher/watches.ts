/**
 * Which heights of which address count, and which of them are still to be read. Every height of an address is
 * read once: what is watched again or from further back is a gap only where it was not covered before.
 */

/** First and last height; null: for as long as it is watched. */
export type Interval = readonly [from: number, until: number | null];

/** By address, ascending, neither overlapping nor touching. An ended one stays: it was read. */
export type Watches = ReadonlyMap<string, readonly Interval[]>;

/** Heights of an address that count and that the cursor passed before it was watched. */
export interface Gap {
  readonly address: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Watches from a height on, beside what is watched already.
 * @param from null: from the next height that is read, or on, where the address is watched
 * @param readTo highest height that was read
 */
export function watched(
  address: string,
  intervals: readonly Interval[],
  from: number | null,
  readTo: number,
): { readonly intervals: readonly Interval[]; readonly gaps: readonly Gap[] } {
  if (from === null && intervals.some(([, until]) => until === null)) return { intervals, gaps: [] };
  const first = from ?? readTo + 1;
  const before = intervals.filter(([, until]) => until !== null && until < first - 1);
  const joined = intervals.slice(before.length);
  const start = Math.min(first, joined[0]?.[0] ?? first);
  const gaps: Gap[] = [];
  let next = first;
  for (const [begin, until] of [...joined, [readTo + 1, null] as const]) {
    if (begin > next && next <= readTo) gaps.push({ address, from: next, to: Math.min(begin - 1, readTo) });
    next = until === null ? readTo + 1 : Math.max(next, until + 1);
  }
  return { intervals: [...before, [start, null]], gaps };
}

/** Ends the watch with height `last`, which is read with it. */
export function unwatched(intervals: readonly Interval[], last: number): readonly Interval[] {
  return intervals.flatMap(([from, until]): Interval[] => {
    if (until !== null) return [[from, until]];
    return from > last ? [] : [[from, last]];
  });
}

export function areSame(a: readonly Interval[], b: readonly Interval[]): boolean {
  return a.length === b.length && a.every(([from, until], i) => from === b[i]?.[0] && until === b[i][1]);
}

export function covers(intervals: readonly Interval[] | undefined, height: number): boolean {
  return intervals?.some(([from, until]) => from <= height && (until === null || height <= until)) ?? false;
}

export function coversFrom(intervals: readonly Interval[] | undefined, height: number): boolean {
  return intervals?.some(([, until]) => until === null || until >= height) ?? false;
}

/** The lowest heights that gaps want read without a pause between them, or null when there is no gap. */
export function nextStretch(gaps: readonly Gap[]): { readonly from: number; readonly to: number } | null {
  const sorted = [...gaps].sort((a, b) => a.from - b.from);
  const [lowest] = sorted;
  if (lowest === undefined) return null;
  let to = lowest.to;
  for (const gap of sorted) {
    if (gap.from > to + 1) break;
    to = Math.max(to, gap.to);
  }
  return { from: lowest.from, to };
}

/** What is left of the gaps once heights `from` to `to` were read for them. `from` is the lowest of them all. */
export function withoutRead(gaps: readonly Gap[], to: number): readonly Gap[] {
  return gaps.flatMap((gap) => (gap.to <= to ? [] : [{ ...gap, from: Math.max(gap.from, to + 1) }]));
}
