/** What holds when one, two or more providers look at a wallet's coins: laggards, forks, silence and lies. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  agreeOnCoins,
  agreeOnUnspent,
  type CoinLook,
  type Spender,
  type UnspentCoin,
} from "../../src/core/coin-look.ts";
import { coinText } from "../../src/core/coins.ts";

const PIN = { txId: "aa".repeat(32), vout: 1 };
const OTHER_PIN = { txId: "bb".repeat(32), vout: 0 };
const spender = (parts: Partial<Spender> = {}): Spender => ({
  txId: "01".repeat(32),
  height: 90,
  blockHash: "b90",
  inputs: [PIN, OTHER_PIN],
  outputs: [{ script: "0014aa", amountUnits: 5_000n }],
  ...parts,
});
type Said = Spender | "missing" | null;
const look = (said: Said | undefined, parts: Partial<CoinLook> = {}): CoinLook => ({
  head: 100,
  headHash: "b100",
  spenders: new Map(said === undefined ? [] : [[coinText(PIN), said]]),
  searched: new Map(),
  blocks: new Map(),
  ...parts,
});
const agreed = (looks: readonly CoinLook[], providers = looks.length) => {
  const together = agreeOnCoins(looks, providers);
  if (together === null) throw new Error("too few looked");
  return together;
};
const saidOf = (looks: readonly CoinLook[], providers?: number) => agreed(looks, providers).spenders.get(coinText(PIN));

describe("who spends the pin", () => {
  const mine = spender();
  it.each<[string, (Said | undefined)[], number, Said | undefined]>([
    ["one provider is believed where there is one", [mine], 1, mine],
    ["two of two", [mine, mine], 2, mine],
    ["two of two that differ", [mine, null], 2, undefined],
    ["two of three", [mine, null, mine], 3, mine],
    ["one of three", [mine, null, "missing"], 3, undefined],
    ["two that do not know it, and one that lies", [null, mine, null], 3, null],
    ["missing for two", ["missing", null, "missing"], 3, "missing"],
    ["two cannot tell", [mine, undefined, undefined], 3, undefined],
    ["two of four are no majority", [mine, mine, null, null], 4, undefined],
    ["the same transaction in another block", [mine, spender({ blockHash: "dead" })], 2, undefined],
    ["the same transaction at another height", [mine, spender({ height: 91 })], 2, undefined],
    [
      "the same id with other outputs",
      [mine, spender({ outputs: [{ script: "0014aa", amountUnits: 5_001n }] })],
      2,
      undefined,
    ],
    [
      "the same id with another script",
      [mine, spender({ outputs: [{ script: "0014ab", amountUnits: 5_000n }] })],
      2,
      undefined,
    ],
    ["the same id with other inputs", [mine, spender({ inputs: [PIN] })], 2, undefined],
  ])("%s", (_name, said, providers, expected) => {
    const looks = said.map((one) => look(one));
    expect(saidOf(looks, providers)).toEqual(expected);
    expect(saidOf([...looks].reverse(), providers)).toEqual(expected);
  });

  it("too few looks say nothing at all", () => {
    expect(agreeOnCoins([look(mine)], 2)).toBeNull();
    expect(agreeOnCoins([look(mine)], 3)).toBeNull();
    expect(agreeOnCoins([], 0)).toBeNull();
    expect(agreeOnCoins([look(mine), look(mine)], 3)?.head).toBe(100);
  });
});

describe("how deep it stands", () => {
  it.each([
    ["its own block is 1", [90, 90], [], 1],
    ["heads of those without it count for nothing", [92, 91], [500], 2],
    ["the laggard of just enough decides", [100, 95], [], 6],
    ["enough reach it without the laggard", [100, 95, 90], [], 6],
    ["too few reach it", [100, 89], [], 0],
  ])("%s", (_name, holding, without, depth) => {
    const looks = [...holding.map((head) => look(spender(), { head })), ...without.map((head) => look(null, { head }))];
    expect(agreed(looks).depthOf(PIN, spender())).toBe(depth);
  });

  it("says nothing of a spender that too few have", () => {
    expect(agreed([look(spender()), look(null)]).depthOf(PIN, spender())).toBeLessThan(1);
    expect(agreed([look(spender()), look(spender())]).depthOf(OTHER_PIN, spender())).toBeLessThan(1);
  });
});

describe("dead: spent by another", () => {
  const ours = new Set(["01".repeat(32), "02".repeat(32)]);
  const other = spender({ txId: "ff".repeat(32), height: 94 });
  it.each<[string, (Said | undefined)[], number, boolean]>([
    ["at the depth", [other, other], 7, true],
    ["not so deep", [other, other], 8, false],
    ["one says so", [other, null], 1, false],
    ["ours", [spender(), spender()], 1, false],
    ["one of our other attempts", [spender({ txId: "02".repeat(32) }), spender()], 1, false],
    ["two of three", [other, spender(), other], 7, true],
    ["one lies among three", [other, spender(), spender()], 1, false],
    ["each names another stranger: it is none of ours", [other, spender({ txId: "ee".repeat(32) })], 7, true],
    ["nobody spends it", [null, null], 1, false],
    ["it is missing", ["missing", "missing"], 1, false],
    ["they cannot tell", [undefined, undefined], 1, false],
  ])("%s", (_name, said, depth, expected) => {
    expect(agreed(said.map((one) => look(one))).isSpentByAnother(PIN, ours, depth)).toBe(expected);
  });
});

describe("a replaced block", () => {
  const at = (...hashes: (string | null)[]) =>
    agreed(hashes.map((hash) => look(null, { blocks: new Map(hash === null ? [] : [[90, hash]]) })));
  it("is one that enough have another in place of", () => {
    expect(at("dead", "dead").isReplaced(90, "b90")).toBe(true);
    expect(at("dead", "beef").isReplaced(90, "b90")).toBe(true);
    expect(at("dead", "b90").isReplaced(90, "b90")).toBe(false);
    expect(at("dead", null).isReplaced(90, "b90")).toBe(false);
    expect(at("dead", "dead", "b90").isReplaced(90, "b90")).toBe(true);
    expect(at("dead", "dead").isReplaced(91, "b90")).toBe(false);
  });
});

describe("what is unspent", () => {
  const coin = (parts: Partial<UnspentCoin> = {}): UnspentCoin => ({
    amountUnits: 9n,
    script: "0014aa",
    depth: 3,
    ...parts,
  });
  const answer = (said: UnspentCoin | null | undefined) => new Map(said === undefined ? [] : [["c:0", said]]);
  it.each<[string, (UnspentCoin | null | undefined)[], number, UnspentCoin | null | undefined]>([
    ["one of one", [coin()], 1, coin()],
    ["the depth that enough reach", [coin({ depth: 9 }), coin({ depth: 4 })], 2, coin({ depth: 4 })],
    ["a laggard more", [coin({ depth: 9 }), coin({ depth: 4 }), coin({ depth: 1 })], 3, coin({ depth: 4 })],
    ["one has it spent", [coin(), null], 2, undefined],
    ["two of three have it", [coin(), null, coin()], 3, coin()],
    ["two of three have it spent", [null, coin(), null], 3, null],
    ["another amount", [coin(), coin({ amountUnits: 10n })], 2, undefined],
    ["another script", [coin(), coin({ script: "0014ab" })], 2, undefined],
    ["a lie about depth", [coin({ depth: 1 }), coin({ depth: 1 }), coin({ depth: 99 })], 3, coin({ depth: 1 })],
    ["not asked", [undefined, undefined], 2, undefined],
    ["too few answered", [coin()], 2, undefined],
  ])("%s", (_name, said, providers, expected) => {
    expect(agreeOnUnspent(said.map(answer), providers).get("c:0")).toEqual(expected);
  });
});

describe("I6: random lookers, one of whom lies", () => {
  const truth = fc.constantFrom<Said>(null, "missing", spender(), spender({ txId: "02".repeat(32), height: 97 }));
  const lie = fc.oneof(
    truth,
    fc.constant(undefined),
    fc.record({ height: fc.integer({ min: 0, max: 200 }), blockHash: fc.constantFrom("b90", "dead") }).map(spender),
    fc.constant(spender({ txId: "ff".repeat(32), height: 1 })),
  );
  const honest = fc.record({ behind: fc.integer({ min: 0, max: 20 }), isSilent: fc.boolean() });

  it("nothing false is ever believed, and no depth is greater than an honest one has it", () => {
    fc.assert(
      fc.property(
        truth,
        fc.array(honest, { minLength: 2, maxLength: 5 }),
        lie,
        fc.integer({ min: 0, max: 1_000 }),
        fc.nat(),
        (told, others, lied, liarsHead, place) => {
          // A laggard does not have a spender above its head: it says that the pin is unspent.
          const looks = others.flatMap(({ behind, isSilent }) => {
            const head = 100 - behind;
            const seen = told !== null && told !== "missing" && told.height > head ? null : told;
            return isSilent ? [] : [look(seen, { head })];
          });
          looks.splice(place % (looks.length + 1), 0, look(lied, { head: liarsHead }));
          const together = agreeOnCoins(looks, others.length + 1);
          if (together === null) return;
          const said = together.spenders.get(coinText(PIN));
          const possible = [undefined, told, ...(told !== null && told !== "missing" ? [null] : [])];
          expect(possible).toContainEqual(said);
          if (said !== undefined && said !== null && said !== "missing")
            expect(together.depthOf(PIN, said)).toBeLessThanOrEqual(100 - said.height + 1);
          expect(together.head).toBeLessThanOrEqual(100);
          const ours = new Set(["01".repeat(32), "02".repeat(32)]);
          expect(together.isSpentByAnother(PIN, ours, 1)).toBe(false);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("how far the search for a spender has come", () => {
  const searchedTo = (heights: readonly (number | null)[], providers = heights.length) =>
    agreed(
      heights.map((height) => look(undefined, { searched: new Map(height === null ? [] : [[coinText(PIN), height]]) })),
      providers,
    ).searchedTo(PIN);

  it.each<[string, readonly (number | null)[], number | null]>([
    ["one provider's word where there is one", [70], 70],
    ["as far as both of two", [70, 90], 70],
    ["as far as two of three", [70, 90, 80], 80],
    ["a lie of one of three adds nothing", [70, 9_000, 60], 70],
    ["one of two does not know", [70, null], null],
    ["nobody knows", [null], null],
  ])("%s", (_name, heights, expected) => expect(searchedTo(heights)).toBe(expected));
});
