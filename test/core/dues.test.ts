/** When deposits are due, as ranges: never later than their rows say, whatever was put together. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DueRange, earliestDue, splitDue, withDue } from "../../src/core/dues.ts";

describe("ranges of what is due", () => {
  it("deposits of one block that are due together are one range", () => {
    const ranges = [7, 8, 9, 30].reduce<readonly DueRange[]>((all, number) => withDue(all, 100, number), []);
    expect(ranges).toEqual([
      [100, 7, 9],
      [100, 30, 30],
    ]);
    expect(withDue(ranges, 100, 8)).toBe(ranges);
  });

  it("are split at a height, and say the earliest", () => {
    const ranges: readonly DueRange[] = [
      [12, 3, 4],
      [10, 1, 2],
    ];
    expect(splitDue(ranges, 9).due).toEqual([]);
    expect(splitDue(ranges, 10)).toEqual({ due: [[10, 1, 2]], later: [[12, 3, 4]] });
    expect(earliestDue(ranges)).toBe(10);
    expect(earliestDue([])).toBeNull();
  });

  it("every deposit lies in a range that is due no later, and the ranges stay few", () => {
    const dues = fc.array(fc.tuple(fc.nat(90), fc.nat(200)), { maxLength: 400 });
    fc.assert(
      fc.property(dues, (list) => {
        const ranges = list.reduce<readonly DueRange[]>((all, [due, number]) => withDue(all, due, number), []);
        expect(ranges.length).toBeLessThanOrEqual(64);
        for (const [due, number] of list) {
          expect(ranges.some(([at, from, to]) => at <= due && from <= number && number <= to)).toBe(true);
        }
      }),
    );
  });
});
