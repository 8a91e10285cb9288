/** What a first and a replacing attempt offer, in wei, and when the cap refuses. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type FeeQuote,
  type Fees,
  firstFees,
  mostPerGas,
  type PricedFees,
  raised,
  replacementFees,
} from "../../src/core/fees.ts";

const asks = (baseFee: bigint, priorityFee: bigint): FeeQuote => ({ kind: "eip1559", baseFee, priorityFee });
const asksLegacy = (gasPrice: bigint): FeeQuote => ({ kind: "legacy", gasPrice });
const fees = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint): Fees => ({
  kind: "eip1559",
  maxFeePerGas,
  maxPriorityFeePerGas,
});
const legacy = (gasPrice: bigint): Fees => ({ kind: "legacy", gasPrice });
const offered = (offer: Fees): PricedFees => ({ ok: true, fees: offer });
const refused = (neededPerGas: bigint, capPerGas: bigint): PricedFees => ({ ok: false, neededPerGas, capPerGas });

describe("a first attempt", () => {
  it.each([
    ["twice the base fee and the tip", asks(10n, 3n), 100n, offered(fees(23n, 3n))],
    ["twice the base fee, exactly at the cap", asks(10n, 3n), 23n, offered(fees(23n, 3n))],
    ["lowered to the cap", asks(10n, 3n), 22n, offered(fees(22n, 3n))],
    ["what the next block takes is the cap", asks(10n, 3n), 13n, offered(fees(13n, 3n))],
    ["what the next block takes is above the cap", asks(10n, 3n), 12n, refused(13n, 12n)],
    ["a tip of nothing is one wei", asks(10n, 0n), 100n, offered(fees(21n, 1n))],
    ["the wei of a tip of nothing counts against the cap", asks(10n, 0n), 10n, refused(11n, 10n)],
    ["no base fee: the tip is all", asks(0n, 4n), 100n, offered(fees(4n, 4n))],
    ["legacy as quoted", asksLegacy(7n), 100n, offered(legacy(7n))],
    ["legacy at the cap", asksLegacy(100n), 100n, offered(legacy(100n))],
    ["legacy above the cap", asksLegacy(101n), 100n, refused(101n, 100n)],
  ])("%s", (_name, quote, cap, expected) => {
    expect(firstFees(quote, cap)).toEqual(expected);
  });
});

describe("B93: an eighth more, rounded up and never the same", () => {
  it.each([
    [0n, 1n],
    [1n, 2n],
    [2n, 3n],
    [8n, 9n],
    [9n, 11n],
    [11n, 13n],
    [1000n, 1125n],
    [1001n, 1127n],
    [30_000_000_000n, 33_750_000_000n],
  ])("%s -> %s", (value, expected) => {
    expect(raised(value)).toBe(expected);
  });
});

describe("a replacing attempt", () => {
  it.each([
    ["B93: both fields go up", [fees(11n, 1n)], asks(1n, 1n), 100n, offered(fees(13n, 2n))],
    ["nothing came before", [], asks(10n, 3n), 100n, offered(fees(23n, 3n))],
    [
      "the highest of each field counts, whichever attempt had it",
      [fees(80n, 1n), fees(16n, 8n)],
      asks(1n, 1n),
      100n,
      offered(fees(90n, 9n)),
    ],
    [
      "B90: not only the last attempt counts",
      [fees(80n, 8n), fees(16n, 1n)],
      asks(1n, 1n),
      100n,
      offered(fees(90n, 9n)),
    ],
    ["the network asks more than an eighth more", [fees(11n, 1n)], asks(40n, 5n), 100n, offered(fees(85n, 5n))],
    ["it asks more, lowered to the cap", [fees(11n, 1n)], asks(40n, 5n), 60n, offered(fees(60n, 5n))],
    ["only the tip has to follow the network", [fees(80n, 1n)], asks(1n, 20n), 100n, offered(fees(90n, 20n))],
    ["an eighth more is the cap", [fees(80n, 8n)], asks(1n, 1n), 90n, offered(fees(90n, 9n))],
    ["an eighth more is above the cap", [fees(80n, 8n)], asks(1n, 1n), 89n, refused(90n, 89n)],
    ["the network asks above the cap", [fees(11n, 1n)], asks(90n, 11n), 100n, refused(101n, 100n)],
    ["both are above the cap: the higher is needed", [fees(100n, 1n)], asks(90n, 11n), 100n, refused(113n, 100n)],
    ["the cap was lowered since", [fees(80n, 8n)], asks(1n, 1n), 50n, refused(90n, 50n)],
    ["legacy after legacy", [legacy(8n), legacy(16n)], asksLegacy(4n), 100n, offered(legacy(18n))],
    ["legacy asks more", [legacy(8n)], asksLegacy(40n), 100n, offered(legacy(40n))],
    ["legacy above the cap", [legacy(80n)], asksLegacy(40n), 89n, refused(90n, 89n)],
    ["legacy after eip1559 is above both fields", [fees(80n, 8n)], asksLegacy(40n), 100n, offered(legacy(90n))],
    ["eip1559 after legacy reads the price as both fields", [legacy(80n)], asks(1n, 1n), 100n, offered(fees(90n, 90n))],
    ["a tip above its maximum drags the maximum along", [fees(8n, 80n)], asks(1n, 1n), 100n, offered(fees(90n, 90n))],
  ] as const)("%s", (_name, earlier, quote, cap, expected) => {
    expect(replacementFees(earlier, quote, cap)).toEqual(expected);
  });
});

describe("for any quote and any earlier attempts", () => {
  const wei = fc.oneof(fc.bigInt(0n, 20n), fc.bigInt(0n, 500_000_000_000n));
  const quotes = fc.oneof(
    fc.tuple(wei, wei).map(([b, t]) => asks(b, t)),
    wei.map(asksLegacy),
  );
  const attempts = fc.array(
    fc.oneof(
      fc.tuple(wei, wei).map(([m, t]) => fees(m, t)),
      wei.map(legacy),
    ),
    { maxLength: 4 },
  );
  const tipOf = (offer: Fees) => (offer.kind === "legacy" ? offer.gasPrice : offer.maxPriorityFeePerGas);

  it("B93: an offer is within the cap, above every earlier one by an eighth, and pays the next block", () => {
    fc.assert(
      fc.property(attempts, quotes, wei, (earlier, quote, cap) => {
        const priced = replacementFees(earlier, quote, cap);
        if (!priced.ok) {
          expect(priced.neededPerGas > cap && priced.capPerGas === cap).toBe(true);
          return;
        }
        expect(mostPerGas(priced.fees) <= cap).toBe(true);
        expect(tipOf(priced.fees) <= mostPerGas(priced.fees)).toBe(true);
        for (const before of earlier) {
          expect(mostPerGas(priced.fees) * 1000n >= mostPerGas(before) * 1125n).toBe(true);
          expect(mostPerGas(priced.fees) > mostPerGas(before)).toBe(true);
          expect(tipOf(priced.fees) * 1000n >= tipOf(before) * 1125n).toBe(true);
          expect(tipOf(priced.fees) > tipOf(before)).toBe(true);
        }
        const first = firstFees(quote, cap);
        if (!first.ok) throw new Error("a replacement was offered where a first attempt is refused");
        expect(mostPerGas(priced.fees) >= mostPerGas(first.fees)).toBe(true);
        expect(tipOf(priced.fees) >= tipOf(first.fees)).toBe(true);
        expect(priced.fees.kind).toBe(quote.kind);
      }),
      { numRuns: 2_000 },
    );
  });

  it("a refusal names what is needed: with a cap of that much there is an offer", () => {
    fc.assert(
      fc.property(attempts, quotes, wei, (earlier, quote, cap) => {
        const priced = replacementFees(earlier, quote, cap);
        if (priced.ok) return;
        expect(replacementFees(earlier, quote, priced.neededPerGas).ok).toBe(true);
        expect(replacementFees(earlier, quote, priced.neededPerGas - 1n).ok).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });
});
