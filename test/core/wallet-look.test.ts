/** What holds when one, two or more providers look at a wallet: laggards, forks, silence and lies. */

import { describe, expect, it } from "vitest";
import { newsOf, type Slot } from "../../src/core/slot.ts";
import { agree, type MinedReceipt, quorumOf, type WalletLook } from "../../src/core/wallet-look.ts";

const HASH = "0xa1";
const receipt = (parts: Partial<MinedReceipt> = {}): MinedReceipt => ({
  txId: HASH,
  height: 90,
  blockHash: "0xb90",
  success: true,
  feeUnits: 21_000n,
  logs: [{ address: "0xcc", topics: ["0x1", "0x2"], data: "0x3" }],
  ...parts,
});
const mined = (...receipts: MinedReceipt[]) => new Map(receipts.map((r) => [r.txId, r]));
const look = (parts: Partial<WalletLook> = {}): WalletLook => ({
  head: 100,
  finalHeight: 80,
  nonceLatest: 7,
  noncePending: 7,
  nonceFinal: 7,
  receipts: new Map(),
  blocks: new Map(),
  ...parts,
});
const agreed = (looks: readonly WalletLook[], providers = looks.length) => {
  const together = agree(looks, providers);
  if (together === null) throw new Error("too few looked");
  return together;
};

describe("how many must say the same", () => {
  it.each([
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [5, 3],
    [8, 5],
  ])("of %i providers: %i", (providers, quorum) => {
    expect(quorumOf(providers)).toBe(quorum);
  });

  it.each([
    [0, 0, false],
    [0, 1, false],
    [1, 1, true],
    [0, 2, false],
    [1, 2, false],
    [2, 2, true],
    [1, 3, false],
    [2, 3, true],
    [3, 3, true],
  ])("%i looks of %i providers: %s", (looks, providers, enough) => {
    expect(
      agree(
        Array.from({ length: looks }, () => look()),
        providers,
      ) !== null,
    ).toBe(enough);
  });
});

describe("numbers are the highest that enough providers reach", () => {
  it.each([
    ["one alone", [100], 100],
    ["the lagging one of two holds both back", [100, 40], 40],
    ["a laggard among three does not", [100, 40, 99], 99],
    ["a liar among three does not get ahead", [100, 9_999, 99], 100],
    ["of five, the third", [1, 5, 3, 4, 2], 3],
  ])("%s", (_name, values, expected) => {
    const at = (name: "head" | "finalHeight" | "nonceLatest" | "nonceFinal") =>
      agreed(values.map((value) => look({ [name]: value })))[name];
    expect([at("head"), at("finalHeight"), at("nonceLatest"), at("nonceFinal")]).toEqual(Array(4).fill(expected));
  });

  it("each number is taken apart", () => {
    const { head, finalHeight, nonceLatest, nonceFinal } = agreed([
      look({ head: 100, finalHeight: 10, nonceLatest: 9, nonceFinal: 1 }),
      look({ head: 90, finalHeight: 20, nonceLatest: 8, nonceFinal: 2 }),
    ]);
    expect([head, finalHeight, nonceLatest, nonceFinal]).toEqual([90, 10, 8, 1]);
  });

  it("nothing is final where only one of two says so", () => {
    expect(agreed([look({ finalHeight: -1 }), look({ finalHeight: 80 })]).finalHeight).toBe(-1);
  });

  it.each([
    ["the only one", [null], null],
    ["one of two", [7, null], null],
    ["one of three", [7, null, 9], 7],
    ["all", [null, null], null],
  ])("final nonces that are not told do not count: %s", (_name, nonces, expected) => {
    expect(agreed(nonces.map((nonceFinal) => look({ nonceFinal }))).nonceFinal).toBe(expected);
  });

  it("B86: the pending nonce is not raised by one alone either", () => {
    expect(agreed([look({ noncePending: 1_110 }), look({ noncePending: 7 }), look({ noncePending: 8 })])).toMatchObject(
      {
        noncePending: 8,
      },
    );
  });

  it("B86: the other nonces are not raised by one alone", () => {
    const told = agreed([look({ nonceLatest: 1_110, nonceFinal: 1_110 }), look(), look()]);
    expect([told.nonceLatest, told.nonceFinal]).toEqual([7, 7]);
  });
});

describe("a receipt is believed when enough providers give the same", () => {
  const has = (...receipts: MinedReceipt[]) => look({ receipts: mined(...receipts) });
  const silent = look();
  const otherBlock = receipt({ blockHash: "0xf90" });
  const otherLogs = receipt({ logs: [{ address: "0xcc", topics: ["0x1", "0x2"], data: "0x4" }] });

  it.each([
    ["one provider", [has(receipt())], true],
    ["one of two: lagging, on a fork, or a lie", [has(receipt()), silent], false],
    ["two of two", [has(receipt()), has(receipt())], true],
    ["two of three, one lagging", [silent, has(receipt()), has(receipt())], true],
    ["one of three", [silent, has(receipt()), silent], false],
    ["two in other blocks", [has(receipt()), has(otherBlock)], false],
    ["two at other heights", [has(receipt()), has(receipt({ height: 91 }))], false],
    ["B96: two that differ in success", [has(receipt()), has(receipt({ success: false }))], false],
    ["two that differ in the fee", [has(receipt()), has(receipt({ feeUnits: 1n }))], false],
    ["two that differ in a log's data", [has(receipt()), has(otherLogs)], false],
    ["two that differ in the number of logs", [has(receipt()), has(receipt({ logs: [] }))], false],
    ["a lie first", [has(otherLogs), has(receipt()), has(receipt())], true],
    ["a lie in between", [has(receipt()), has(receipt({ success: false })), has(receipt())], true],
    ["a lie last", [has(receipt()), has(receipt()), has(otherLogs)], true],
    ["two against two", [has(receipt()), has(receipt()), has(otherBlock), has(otherBlock)], false],
    ["another transaction's", [has(receipt({ txId: "0xa2" })), has(receipt({ txId: "0xa2" }))], false],
  ])("%s: %s", (_name, looks, believed) => {
    expect(agreed(looks).receipts.get(HASH)).toEqual(believed ? receipt() : undefined);
  });

  it("each receipt for itself", () => {
    const second = receipt({ txId: "0xa2" });
    const { receipts } = agreed([has(receipt(), second), has(second), has(receipt({ height: 1 }))]);
    expect([...receipts]).toEqual([["0xa2", second]]);
  });

  it("is not put together from providers of which not enough looked", () => {
    expect(agree([has(receipt())], 2)).toBeNull();
  });
});

describe("a block is replaced when enough providers have another one at its height", () => {
  const at = (hash: string | null) => look({ blocks: hash === null ? new Map() : new Map([[90, hash]]) });

  it.each([
    ["the only provider has another", [at("0xf90")], true],
    ["the only provider has the same", [at("0xb90")], false],
    ["the only provider has none yet: a shorter chain proves nothing", [at(null)], false],
    ["one of two", [at("0xf90"), at("0xb90")], false],
    ["one of two, and the other has none", [at("0xf90"), at(null)], false],
    ["two of two", [at("0xf90"), at("0xf90")], true],
    ["two of two, in the middle of a reorganisation", [at("0xf90"), at("0xe90")], true],
    ["two of three", [at("0xf90"), at("0xb90"), at("0xf90")], true],
    ["a liar of three", [at("0xf90"), at("0xb90"), at("0xb90")], false],
  ])("%s: %s", (_name, looks, replaced) => {
    expect(agreed(looks).isReplaced(90, "0xb90")).toBe(replaced);
  });

  it("at the height that is asked for", () => {
    expect(agreed([at("0xf90")]).isReplaced(91, "0xb90")).toBe(false);
  });
});

describe("a nonce is consumed by another when enough providers are past it and have none of the hashes", () => {
  const past = look({ nonceFinal: 8 });
  const pastWithOurs = look({ nonceFinal: 8, receipts: mined(receipt()) });

  it.each([
    ["the only provider", [past], true],
    ["the only provider, not past it", [look({ nonceFinal: 7 })], false],
    ["the only provider, not final yet", [look({ nonceFinal: 7, nonceLatest: 8 })], false],
    ["the only provider, which cannot tell", [look({ nonceFinal: null, nonceLatest: 8 })], false],
    ["the only provider has ours", [pastWithOurs], false],
    ["one of two is behind", [past, look()], false],
    ["one of two has ours", [past, pastWithOurs], false],
    ["two of two", [past, past], true],
    ["one is past it, another has none of ours: not one provider's word", [pastWithOurs, look()], false],
    ["two of three, one behind", [past, look(), past], true],
    ["a liar of three", [past, pastWithOurs, pastWithOurs], false],
  ])("%s: %s", (_name, looks, consumed) => {
    expect(agreed(looks).isConsumedByAnother(7, [HASH])).toBe(consumed);
  });

  it("B90: any of our hashes counts, not the last alone", () => {
    expect(agreed([pastWithOurs]).isConsumedByAnother(7, ["0xa0", HASH, "0xa2"])).toBe(false);
    expect(agreed([pastWithOurs]).isConsumedByAnother(7, ["0xa0", "0xa2"])).toBe(true);
  });

  it("a nonce for which nothing is signed is consumed by whatever is final", () => {
    expect(agreed([past]).isConsumedByAnother(7, [])).toBe(true);
    expect(agreed([past]).isConsumedByAnother(8, [])).toBe(false);
  });
});

describe("a chain that is split between providers", () => {
  const BURN = "0xb0";
  const burnt: Slot = {
    nonce: 7,
    attempts: [
      { txId: HASH, kind: "payment" },
      { txId: BURN, kind: "burn" },
    ],
    mined: null,
  };
  const burn = receipt({ txId: BURN, height: 90, blockHash: "0xdead" });
  const dead = look({ nonceFinal: 8, finalHeight: 95, receipts: mined(burn), blocks: new Map([[90, "0xdead"]]) });
  const live = look({ head: 200, finalHeight: 150, blocks: new Map([[90, "0xb90"]]) });
  const held = (parts: Partial<WalletLook>) => look({ receipts: mined(receipt()), ...parts });

  it("I6: two of four on a dead fork with a final burn, and two without: nothing is believed", () => {
    for (const looks of [
      [dead, dead, live, live],
      [live, live, dead, dead],
    ]) {
      expect([...agreed(looks).receipts]).toEqual([]);
      expect(newsOf(burnt, agreed(looks))).toEqual({ kind: "waiting" });
      expect(agreed(looks).isReplaced(90, "0xdead")).toBe(false);
    }
    expect(newsOf(burnt, agreed([dead, dead, dead, live]))).toMatchObject({ kind: "mined", isFinal: true });
  });

  it.each([
    ["heads of those without it count for nothing", [100, 91, 91], [200, 200], 2],
    ["the lowest of just enough holders decides", [100, 95, 90], [200, 200], 1],
    ["a holder more than enough may lag", [100, 95, 94, 90], [200], 5],
  ])("how deep a transaction stands is said by those who have it: %s", (_name, holding, without, depth) => {
    const together = agreed([...holding.map((head) => held({ head })), ...without.map((head) => look({ head }))]);
    expect(together.standingOf(receipt()).depth).toBe(depth);
    const slot: Slot = { ...burnt, attempts: [{ txId: HASH, kind: "payment" }] };
    expect(newsOf(slot, together)).toMatchObject({ kind: "mined", depth });
  });

  it("heads that enough holders do not have above the block say nothing yet", () => {
    const together = agreed([held({ head: 100 }), held({ head: 89 }), look({ head: 200 })]);
    expect(newsOf(burnt, together)).toEqual({ kind: "waiting" });
  });

  it.each([
    ["those without it say so", [95, 80, 80], [200, 200], false],
    ["too few of those who have it say so", [200, 200, 89], [200, 200], false],
    ["enough of those who have it say so", [90, 90, 90], [0, 0], true],
  ])("what is final is said by those who have it: %s: %s", (_name, holding, without, isFinal) => {
    const together = agreed([
      ...holding.map((finalHeight) => held({ finalHeight })),
      ...without.map((finalHeight) => look({ finalHeight })),
    ]);
    expect(together.standingOf(receipt()).isFinal).toBe(isFinal);
  });

  it("I6: hashes that nobody was asked for never make a nonce somebody else's", () => {
    const past = look({ nonceFinal: 8 });
    const askedFor = (...hashes: string[]) => agree([past, past], 2, new Set(hashes));
    expect(askedFor(HASH)?.isConsumedByAnother(7, [HASH, BURN])).toBe(false);
    expect(askedFor()?.isConsumedByAnother(7, [HASH])).toBe(false);
    expect(askedFor(HASH, BURN)?.isConsumedByAnother(7, [HASH, BURN])).toBe(true);
    expect(askedFor(BURN)?.isConsumedByAnother(7, [])).toBe(true);
    const unasked = askedFor(HASH);
    if (unasked === null) throw new Error("two of two looked");
    expect(newsOf(burnt, unasked)).toEqual({ kind: "waiting" });
  });
});
