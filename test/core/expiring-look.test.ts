/** What of providers' words about transactions that expire is believed: landed, seen, dead, or nothing yet. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AttemptNews,
  agreeOnExpiring,
  type ExpiringLook,
  type Landed,
  showsMove,
} from "../../src/core/expiring-look.ts";
import { canonicalTxId } from "../../src/core/tx-id.ts";
import { quorumOf } from "../../src/core/wallet-look.ts";

const ATTEMPT = { txId: "Ab", expiresAt: 110, signedAbove: 97 };
const MOVE = { asset: "native", from: "A", to: "B", amountUnits: 5n };
const LANDED: Landed = { txId: "Ab", height: 105, blockHash: "h", success: true, feeUnits: 2n, moves: [MOVE] };

type Said = Landed | "pending" | null | undefined;

const look = (said: Said, finalHeight = 120): ExpiringLook => ({
  finalHeight,
  finalPoint: finalHeight,
  found: new Map(said === undefined ? [] : [[ATTEMPT.txId, said]]),
});
const kindOf = (looks: readonly ExpiringLook[], providers = looks.length): AttemptNews["kind"] | "too few" =>
  agreeOnExpiring(looks, providers)?.newsOf(ATTEMPT).kind ?? "too few";

describe("one provider", () => {
  it.each<[string, ExpiringLook, string]>([
    ["has it in a final block", look(LANDED), "landed"],
    ["has it in a block that is not final by its own account", look(LANDED, 104), "seen"],
    ["has it in a block of before it was signed", look({ ...LANDED, height: 97 }), "seen"],
    ["names another one", look({ ...LANDED, txId: "aB" }), "seen"],
    ["has it waiting", look("pending", 100), "seen"],
    ["has it in no block up to its expiry", look(null, 110), "waiting"],
    ["has it in no block beyond its expiry", look(null, 111), "dead"],
    ["has it waiting beyond its expiry", look("pending", 111), "seen"],
    ["cannot tell beyond its expiry", look(undefined, 111), "waiting"],
  ])("that %s", (_, one, kind) => {
    expect(kindOf([one])).toBe(kind);
  });
});

describe("three providers", () => {
  const other = { ...LANDED, feeUnits: 3n };
  it.each<[string, readonly ExpiringLook[], string]>([
    ["two landings of one account", [look(LANDED), look(LANDED), look(null)], "landed"],
    ["a landing of each its own account", [look(LANDED), look(other), look({ ...LANDED, height: 106 })], "seen"],
    ["one landing alone", [look(LANDED), look(undefined), look(undefined)], "seen"],
    ["one landing against two who have none", [look(LANDED), look(null), look(null)], "seen"],
    ["two who have none beyond its expiry", [look(null), look(null), look(undefined)], "dead"],
    ["two who have none, one of them before its expiry", [look(null), look(null, 110), look(undefined)], "waiting"],
    ["one who has none", [look(null), look(undefined), look(undefined)], "waiting"],
    ["one who lags and has it waiting", [look(null), look(null), look("pending", 100)], "dead"],
    ["two looks", [look(null), look(null)], "dead"],
    ["one look", [look(null)], "too few"],
  ])("%s", (_, looks, kind) => {
    expect(kindOf(looks, 3)).toBe(kind);
  });

  it("another success, block, or move is another account", () => {
    for (const change of [{ success: false }, { blockHash: "g" }, { moves: [] }, { moves: [{ ...MOVE, to: "C" }] }])
      expect(kindOf([look(LANDED), look({ ...LANDED, ...change })])).toBe("seen");
  });

  it("final is what enough of them reach", () => {
    const agreed = agreeOnExpiring([look(null, 10), look(null, 30), look(null, 20)], 3);
    expect([agreed?.finalHeight, agreed?.finalPoint]).toEqual([20, 20]);
  });

  it("the newest point is one that the lies of too few cannot lower", () => {
    const newest = (points: readonly number[], providers: number) =>
      agreeOnExpiring(
        points.map((point) => look(null, point)),
        providers,
      )?.newestPoint;
    expect(newest([10], 1)).toBe(10);
    expect(newest([1, 30], 2)).toBe(30);
    expect(newest([30, 1, 29], 3)).toBe(29);
    expect(newest([1, 30], 3)).toBe(30);
    expect(newest([30, 1, 2, 29], 4)).toBe(29);
  });
});

const saids = fc.constantFrom<Said>(LANDED, { ...LANDED, success: false }, "pending", null, undefined);
const heights = fc.integer({ min: 95, max: 125 });
const looks = fc.array(fc.tuple(saids, heights), { minLength: 1, maxLength: 5 });

it("dead is never said with fewer voices than a landing needs, nor against anybody who has it in a block", () => {
  fc.assert(
    fc.property(looks, fc.integer({ min: 0, max: 3 }), (all, missing) => {
      const providers = all.length + missing;
      const kind = kindOf(
        all.map(([said, height]) => look(said, height)),
        providers,
      );
      const without = all.filter(([said, height]) => said === null && height > ATTEMPT.expiresAt).length;
      const isLanded = all.some(([said]) => typeof said === "object" && said !== null);
      expect(kind === "dead").toBe(without >= quorumOf(providers) && !isLanded);
    }),
  );
});

it("shows a move that is the same in all that it says", () => {
  expect(showsMove(LANDED, MOVE)).toBe(true);
  for (const change of [{ asset: "T" }, { from: "C" }, { to: "C" }, { amountUnits: 4n }])
    expect(showsMove(LANDED, { ...MOVE, ...change })).toBe(false);
});

it.each([
  [`0x${"Ab".repeat(32)}`, `0x${"ab".repeat(32)}`],
  ["AB".repeat(32), "ab".repeat(32)],
  [
    "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW",
    "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW",
  ],
])("an id of %s", (text, canonical) => {
  expect(canonicalTxId(text)).toBe(canonical);
});
