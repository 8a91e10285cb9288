/** One payment, one row a step: what the chain says on the left, what is told on the right. */

import { describe, expect, it } from "vitest";
import { UNMINED } from "../../src/core/transfer.ts";
import {
  type ChainView,
  type ConfirmationRule,
  confirmationsAt,
  decide,
  nextLook,
  type SeenPayment,
  type Told,
} from "../../src/core/watcher.ts";

const W = `0x${"a1".repeat(20)}`;
const at = (height: number, fork = "", amountUnits = 7n): SeenPayment => ({
  address: W,
  asset: "native",
  amountUnits,
  height,
  blockHash: `0x${height}${fork}`,
  timestamp: height * 10,
});
const view = (head: number, more: Partial<ChainView> = {}): ChainView => ({
  head,
  headTimestamp: head * 10,
  finalized: -1,
  windowFrom: Math.max(0, head - 19),
  minConfirmSeconds: 0,
  ...more,
});

/** The same payment, in no block yet. */
const waiting = (): SeenPayment => ({ ...at(0), height: UNMINED, blockHash: "", timestamp: 0 });
const coinbase = (height: number): SeenPayment => ({ ...at(height), leastDepth: 101 });
const wide = { windowFrom: 900 };

interface Line {
  readonly seen: SeenPayment | null;
  readonly view: ChainView;
  readonly says: string;
}

/** Plays lines in order and gives what was said at each, as `type` or `type#epoch` from the second round on. */
function play(lines: readonly Line[], rule: ConfirmationRule = 3): string[] {
  let told: Told | null = null;
  return lines.map(({ seen, view }) => {
    const decision = decide(told, seen, view, () => rule);
    told = decision.told;
    return decision.steps.map((s) => (s.told.epoch === 1 ? s.type : `${s.type}#${s.told.epoch}`)).join(" ");
  });
}

const tables: Record<string, { rule?: ConfirmationRule; lines: Line[] }> = {
  "pending, confirmed at its depth, settled below the window": {
    lines: [
      { seen: at(100), view: view(100), says: "pending" },
      { seen: at(100), view: view(101), says: "" },
      { seen: at(100), view: view(102), says: "confirmed" },
      { seen: at(100), view: view(119), says: "" },
      { seen: at(100), view: view(120), says: "settled" },
      { seen: at(100), view: view(500), says: "" },
    ],
  },
  "seen late, everything at once": {
    lines: [{ seen: at(100), view: view(500), says: "pending confirmed settled" }],
  },
  "dropped before it was confirmed, then seen again in the same round": {
    lines: [
      { seen: at(100), view: view(100), says: "pending" },
      { seen: null, view: view(101), says: "dropped" },
      { seen: null, view: view(102), says: "" },
      { seen: at(103), view: view(103), says: "pending" },
      { seen: at(103), view: view(105), says: "confirmed" },
    ],
  },
  "B08 orphaned after it was confirmed and mined again one block later": {
    lines: [
      { seen: at(100), view: view(102), says: "pending confirmed" },
      { seen: at(102, "'"), view: view(103), says: "reverted pending#2" },
      { seen: at(102, "'"), view: view(104), says: "confirmed#2" },
    ],
  },
  "B16 moved to another block and still deep enough: nothing to tell": {
    lines: [
      { seen: at(100), view: view(102), says: "pending confirmed" },
      { seen: at(100, "'"), view: view(103), says: "" },
      { seen: at(100, "'"), view: view(120), says: "settled" },
    ],
  },
  "a pending one that moves counts from its new block": {
    lines: [
      { seen: at(100), view: view(101), says: "pending" },
      { seen: at(101, "'"), view: view(102), says: "" },
      { seen: at(101, "'"), view: view(103), says: "confirmed" },
    ],
  },
  "A-B-A flip": {
    lines: [
      { seen: at(100), view: view(102), says: "pending confirmed" },
      { seen: null, view: view(103), says: "reverted" },
      { seen: at(100), view: view(104), says: "pending#2 confirmed#2" },
      { seen: null, view: view(105), says: "reverted#2" },
      { seen: at(100), view: view(106), says: "pending#3 confirmed#3" },
    ],
  },
  "the same key pays another amount after re-execution": {
    lines: [
      { seen: at(100), view: view(102), says: "pending confirmed" },
      { seen: at(100, "'", 8n), view: view(103), says: "reverted pending#2 confirmed#2" },
    ],
  },
  "a pending key pays another amount after re-execution": {
    lines: [
      { seen: at(100), view: view(100), says: "pending" },
      { seen: at(100, "'", 8n), view: view(101), says: "dropped pending" },
    ],
  },
  "B12 deep enough but too young": {
    lines: [
      { seen: at(100), view: view(102, { minConfirmSeconds: 60 }), says: "pending" },
      { seen: at(100), view: view(105, { minConfirmSeconds: 60 }), says: "" },
      { seen: at(100), view: view(106, { minConfirmSeconds: 60 }), says: "confirmed" },
    ],
  },
  "the chain's own tag decides": {
    rule: "finalized",
    lines: [
      { seen: at(100), view: view(115, { finalized: 99, windowFrom: 100 }), says: "pending" },
      { seen: at(100), view: view(116, { finalized: 100, windowFrom: 101 }), says: "confirmed settled" },
    ],
  },
  "a final payment that a person reopened and the chain no longer has": {
    lines: [
      { seen: at(100), view: view(200), says: "pending confirmed settled" },
      { seen: null, view: view(200, { windowFrom: 90 }), says: "reverted" },
      { seen: null, view: view(201), says: "" },
    ],
  },
  "waits to be mined, and is one pending payment from there on": {
    lines: [
      { seen: waiting(), view: view(99), says: "pending" },
      { seen: waiting(), view: view(500), says: "" },
      { seen: at(501), view: view(501), says: "" },
      { seen: at(501), view: view(503), says: "confirmed" },
    ],
  },
  "waited, and is read when it is deep already": {
    lines: [
      { seen: waiting(), view: view(99), says: "pending" },
      { seen: at(100), view: view(200), says: "confirmed settled" },
    ],
  },
  "B69 waits and is replaced": {
    lines: [
      { seen: waiting(), view: view(99), says: "pending" },
      { seen: null, view: view(100), says: "dropped" },
      { seen: null, view: view(200), says: "" },
    ],
  },
  "goes from the pool and comes back": {
    lines: [
      { seen: waiting(), view: view(99), says: "pending" },
      { seen: null, view: view(99), says: "dropped" },
      { seen: waiting(), view: view(99), says: "pending" },
      { seen: at(100), view: view(102), says: "confirmed" },
    ],
  },
  "a pending one that a reorganisation puts back into the pool": {
    lines: [
      { seen: at(100), view: view(101), says: "pending" },
      { seen: waiting(), view: view(102), says: "" },
      { seen: at(103), view: view(103), says: "" },
    ],
  },
  "B74 a confirmed one that a reorganisation puts back into the pool, and that is then replaced": {
    lines: [
      { seen: at(100), view: view(102), says: "pending confirmed" },
      { seen: waiting(), view: view(103), says: "reverted pending#2" },
      { seen: waiting(), view: view(500), says: "" },
      { seen: null, view: view(501), says: "dropped#2" },
    ],
  },
  "a settled one that a person reopened, and that waits again": {
    lines: [
      { seen: at(100), view: view(200), says: "pending confirmed settled" },
      { seen: waiting(), view: view(200, { windowFrom: 90 }), says: "reverted pending#2" },
    ],
  },
  "waits under the chain's own tag": {
    rule: "finalized",
    lines: [
      { seen: waiting(), view: view(100, { finalized: 99, windowFrom: 100 }), says: "pending" },
      { seen: waiting(), view: view(400, { finalized: 399, windowFrom: 400 }), says: "" },
    ],
  },
  "B73 new coins: not at 100 confirmations, whatever the rule says": {
    rule: 6,
    lines: [
      { seen: coinbase(1_000), view: view(1_005, wide), says: "pending" },
      { seen: coinbase(1_000), view: view(1_099, wide), says: "" },
      { seen: coinbase(1_000), view: view(1_100, wide), says: "confirmed" },
    ],
  },
  "B73 new coins under a rule that asks for more": {
    rule: 120,
    lines: [
      { seen: coinbase(1_000), view: view(1_118, wide), says: "pending" },
      { seen: coinbase(1_000), view: view(1_119, wide), says: "confirmed" },
    ],
  },
  "B73 new coins under the chain's own tag: final, and deep enough": {
    rule: "finalized",
    lines: [
      { seen: coinbase(1_000), view: view(1_050, { ...wide, finalized: 1_040 }), says: "pending" },
      { seen: coinbase(1_000), view: view(1_099, { ...wide, finalized: 1_040 }), says: "" },
      { seen: coinbase(1_000), view: view(1_100, { ...wide, finalized: 1_040 }), says: "confirmed" },
    ],
  },
  "B73 new coins that are deep enough, and not final yet": {
    rule: "finalized",
    lines: [
      { seen: coinbase(1_000), view: view(1_100, { ...wide, finalized: 999 }), says: "pending" },
      { seen: coinbase(1_000), view: view(1_101, { ...wide, finalized: 1_000 }), says: "confirmed" },
    ],
  },
  "the chain's own depth is that of the first sight, like the rule": {
    lines: [
      { seen: coinbase(1_000), view: view(1_001, wide), says: "pending" },
      { seen: at(1_001, "'"), view: view(1_004, wide), says: "" },
      { seen: at(1_001, "'"), view: view(1_101, wide), says: "confirmed" },
    ],
  },
  "never seen": { lines: [{ seen: null, view: view(100), says: "" }] },
};

describe("what is told", () => {
  for (const [name, { rule, lines }] of Object.entries(tables)) {
    it(name, () => {
      expect(play(lines, rule)).toEqual(lines.map((line) => line.says));
    });
  }

  it("keeps the rule of the first sight for the whole round", () => {
    const first = decide(null, at(100), view(100), () => 3);
    const later = decide(first.told, at(100), view(102), () => 10);
    expect(later.steps.map((s) => s.type)).toEqual(["confirmed"]);
  });
});

describe("when to look again", () => {
  const byDepth = { finality: "depth", reorgWindow: 20 } as const;
  const byTag = { finality: "tag", reorgWindow: 64 } as const;
  const told = (status: Told["status"], rule: ConfirmationRule): Told => ({ ...at(100), status, epoch: 1, rule });

  it.each([
    ["pending", 3, byDepth, view(100), { height: 102, finalized: null }],
    ["pending", 3, byDepth, view(105), { height: 106, finalized: null }],
    ["confirmed", 3, byDepth, view(102), { height: 120, finalized: null }],
    ["settled", 3, byDepth, view(120), { height: null, finalized: null }],
    ["reverted", 3, byDepth, view(102), { height: null, finalized: null }],
    ["dropped", 3, byDepth, view(102), { height: null, finalized: null }],
    ["pending", "finalized", byTag, view(100), { height: null, finalized: 100 }],
    ["pending", 3, byTag, view(100), { height: 102, finalized: 100 }],
    ["confirmed", 3, byTag, view(102), { height: null, finalized: 100 }],
    ["pending", "finalized", byDepth, view(100), { height: 120, finalized: 100 }],
  ] as const)("%s under %s", (status, rule, settlesBy, at, expected) => {
    expect(nextLook(told(status, rule), at, settlesBy)).toEqual(expected);
  });

  it.each([
    ["pending, too shallow for its chain", 6, view(1_003), { height: 1_100, finalized: null }],
    ["pending under the tag, neither final nor deep", "finalized", view(1_003), { height: 1_100, finalized: 1_000 }],
    [
      "pending under the tag, final and not deep",
      "finalized",
      view(1_050, { finalized: 1_000 }),
      { height: 1_100, finalized: null },
    ],
    ["pending under the tag, deep and not final", "finalized", view(1_100), { height: 1_144, finalized: 1_000 }],
  ] as const)("new coins, %s", (_, rule, at, expected) => {
    const coins: Told = { ...coinbase(1_000), status: "pending", epoch: 1, rule };
    expect(nextLook(coins, at, { finality: "depth", reorgWindow: 144 })).toEqual(expected);
  });

  it.each([3, "finalized"] as const)("never at a height while it waits to be mined, under %s", (rule) => {
    const waits: Told = { ...waiting(), status: "pending", epoch: 1, rule };
    for (const settlesBy of [byDepth, byTag]) {
      expect(nextLook(waits, view(100), settlesBy)).toEqual({ height: null, finalized: null });
    }
    expect(confirmationsAt(waits, 100)).toBe(0);
  });

  it("counts the block itself as the first confirmation, and none for what was taken back", () => {
    expect(confirmationsAt(told("pending", 3), 100)).toBe(1);
    expect(confirmationsAt(told("settled", 3), 199)).toBe(100);
    expect(confirmationsAt(told("reverted", 3), 199)).toBe(0);
    expect(confirmationsAt(told("pending", 3), 50)).toBe(0);
  });
});
