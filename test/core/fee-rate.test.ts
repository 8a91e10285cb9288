/** What a first and a replacing transaction offer, in satoshi per 1,000 vbytes, and when the cap refuses. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  boundsOf,
  type FeeRateQuote,
  feeOf,
  feeRateLimits,
  firstDemand,
  type OfferedFee,
  type PricedDemand,
  rateOf,
  replacementDemand,
} from "../../src/core/fee-rate.ts";

const LIMITS = { minPerKvb: 1_000n, maxPerKvb: 90_000n };
const quote = (estimate: bigint | null, floor: bigint): FeeRateQuote => ({ estimate, floor });
const asks = (ratePerKvb: bigint, replacedUnits: bigint | null = null): PricedDemand => ({
  ok: true,
  demand: { ratePerKvb, replacedUnits },
});
const refused = (neededPerKvb: bigint, capPerKvb: bigint): PricedDemand => ({ ok: false, neededPerKvb, capPerKvb });
const fee = (feeUnits: bigint, vsize: number): OfferedFee => ({ feeUnits, vsize });

describe("settings become whole rates", () => {
  it.each([
    [1, 500, 1_000n, 500_000n],
    [1.1, 1.1, 1_100n, 1_100n],
    [0.1, 0.3, 100n, 300n],
    [0.12345, 0.98765, 124n, 987n],
    [0.1, 10_000, 100n, 10_000_000n],
  ])("%s to %s", (minFeeRate, maxFeeRate, minPerKvb, maxPerKvb) => {
    expect(feeRateLimits({ minFeeRate, maxFeeRate })).toEqual({ minPerKvb, maxPerKvb });
  });
});

describe("a first attempt", () => {
  it.each([
    ["the estimate", quote(12_345n, 1_000n), LIMITS, asks(12_345n)],
    ["no estimate: the floor", quote(null, 2_500n), LIMITS, asks(2_500n)],
    ["no estimate, a floor below ours", quote(null, 100n), LIMITS, asks(1_000n)],
    ["an estimate below the floor of the pool", quote(1_500n, 3_000n), LIMITS, asks(3_000n)],
    ["two thirds of the cap", quote(60_000n, 1_000n), LIMITS, asks(60_000n)],
    ["above two thirds of the cap", quote(60_001n, 1_000n), LIMITS, refused(60_001n, 60_000n)],
    ["a pool that asks more than the cap", quote(null, 70_000n), LIMITS, refused(70_000n, 60_000n)],
    ["least and most are one", quote(null, 0n), { minPerKvb: 5_000n, maxPerKvb: 5_000n }, asks(5_000n)],
  ])("%s", (_name, given, limits, expected) => {
    expect(firstDemand(given, limits)).toEqual(expected);
  });
});

describe("a replacing attempt", () => {
  it.each([
    ["an eighth more, rounded up", [fee(1_111n, 111)], quote(null, 1_000n), asks(11_262n, 1_111n)],
    [
      "the rate of the dearest rate, the fee of the dearest fee",
      [fee(2_000n, 100), fee(30_000n, 3_000)],
      quote(null, 0n),
      asks(22_500n, 30_000n),
    ],
    ["the market asks more", [fee(200n, 100)], quote(40_000n, 1_000n), asks(40_000n, 200n)],
    [
      "the market asks more than the cap: as far as that",
      [fee(200n, 100)],
      quote(400_000n, 1_000n),
      asks(90_000n, 200n),
    ],
    ["exactly at the cap", [fee(8_000n, 100)], quote(null, 0n), asks(90_000n, 8_000n)],
    ["beyond the cap", [fee(8_001n, 100)], quote(null, 0n), refused(90_012n, 90_000n)],
    ["a pool that asks more than the cap", [fee(200n, 100)], quote(null, 90_001n), refused(90_001n, 90_000n)],
    ["nothing came before", [], quote(5_000n, 1_000n), asks(5_000n)],
  ])("%s", (_name, earlier, given, expected) => {
    expect(replacementDemand(earlier, given, LIMITS, "replacement")).toEqual(expected);
  });

  it("a burn may go to twice the cap", () => {
    expect(replacementDemand([fee(8_001n, 100)], quote(null, 0n), LIMITS, "burn")).toEqual(asks(90_012n, 8_001n));
    expect(replacementDemand([fee(16_001n, 100)], quote(null, 0n), LIMITS, "burn")).toEqual(
      refused(180_012n, 180_000n),
    );
  });

  it("a small transaction in place of a large one pays what that offered, and for itself", () => {
    const demand = { ratePerKvb: 22_500n, replacedUnits: 66_000n };
    expect(feeOf(demand, 110)).toBe(66_110n);
    expect(feeOf(demand, 3_300)).toBe(74_250n);
  });
});

const aRate = fc.bigInt(0n, 2_000_000n);
const aQuote = fc.record({ estimate: fc.option(aRate), floor: aRate });
const someEarlier = fc.array(
  fc.record({ feeUnits: fc.bigInt(1n, 1_000_000n), vsize: fc.integer({ min: 82, max: 60_000 }) }),
  { minLength: 1, maxLength: 5 },
);
const someLimits = fc
  .tuple(fc.bigInt(100n, 100_000n), fc.bigInt(0n, 900_000n))
  .map(([minPerKvb, more]) => ({ minPerKvb, maxPerKvb: minPerKvb + more }));
const aSize = fc.integer({ min: 82, max: 60_000 });

describe("always", () => {
  it("a first rate lies between least and cap, and meets floor and estimate", () => {
    fc.assert(
      fc.property(aQuote, someLimits, (given, limits) => {
        const priced = firstDemand(given, limits);
        const needed = [given.estimate ?? 0n, given.floor, limits.minPerKvb].reduce((a, b) => (a > b ? a : b));
        if (!priced.ok) {
          expect(priced.neededPerKvb).toBe(needed);
          expect(needed * 3n).toBeGreaterThan(limits.maxPerKvb * 2n - 3n);
          return;
        }
        expect(priced.demand).toEqual({ ratePerKvb: needed, replacedUnits: null });
        expect(needed).toBeLessThanOrEqual(limits.maxPerKvb);
      }),
    );
  });

  it("a replacement is taken by a pool that holds any of the earlier ones (BIP-125, rules 3 and 4)", () => {
    fc.assert(
      fc.property(someEarlier, aQuote, someLimits, aSize, (earlier, given, limits, vsize) => {
        const priced = replacementDemand(earlier, given, limits, "replacement");
        fc.pre(priced.ok);
        if (!priced.ok) return;
        const feeUnits = feeOf(priced.demand, vsize);
        for (const one of earlier) {
          // Core compares what is added with the incremental rate, rounded up in recent versions.
          expect(feeUnits - one.feeUnits).toBeGreaterThanOrEqual(BigInt(vsize));
          expect(feeUnits * BigInt(one.vsize)).toBeGreaterThan(one.feeUnits * BigInt(vsize));
          expect(feeUnits * 8_000n * BigInt(one.vsize)).toBeGreaterThanOrEqual(one.feeUnits * 9_000n * BigInt(vsize));
        }
        expect(priced.demand.ratePerKvb).toBeLessThanOrEqual(limits.maxPerKvb);
        expect(priced.demand.ratePerKvb).toBeGreaterThanOrEqual(given.floor);
        expect(rateOf({ feeUnits, vsize })).toBeGreaterThanOrEqual(limits.minPerKvb);
      }),
      { numRuns: 1_000 },
    );
  });

  it("is refused only when an eighth more, or the pool's floor, is above the cap", () => {
    fc.assert(
      fc.property(someEarlier, aQuote, someLimits, (earlier, given, limits) => {
        const priced = replacementDemand(earlier, given, limits, "replacement");
        if (priced.ok) return;
        expect(priced.capPerKvb).toBe(limits.maxPerKvb);
        expect(priced.neededPerKvb).toBeGreaterThan(limits.maxPerKvb);
        const isRaised = earlier.some((one) => rateOf(one) * 9n + 8n > limits.maxPerKvb * 8n);
        expect(isRaised || given.floor > limits.maxPerKvb).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it("a larger transaction never costs less, and what is asked for lies within the bounds", () => {
    fc.assert(
      fc.property(someEarlier, aQuote, someLimits, aSize, aSize, (earlier, given, limits, a, b) => {
        const priced = replacementDemand(earlier, given, limits, "burn");
        fc.pre(priced.ok);
        if (!priced.ok) return;
        const [small, large] = a < b ? [a, b] : [b, a];
        expect(feeOf(priced.demand, small)).toBeLessThanOrEqual(feeOf(priced.demand, large));
        const { least, most } = boundsOf(limits, priced.demand.replacedUnits, small);
        expect(feeOf(priced.demand, small)).toBeGreaterThanOrEqual(least);
        expect(feeOf(priced.demand, small)).toBeLessThanOrEqual(most);
      }),
      { numRuns: 1_000 },
    );
  });
});
