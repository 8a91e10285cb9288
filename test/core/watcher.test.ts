/** One payment, one row a step: what the chain says on the left, what is told on the right. */

import { describe, expect, it } from "vitest";
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

  it("counts the block itself as the first confirmation, and none for what was taken back", () => {
    expect(confirmationsAt(told("pending", 3), 100)).toBe(1);
    expect(confirmationsAt(told("settled", 3), 199)).toBe(100);
    expect(confirmationsAt(told("reverted", 3), 199)).toBe(0);
    expect(confirmationsAt(told("pending", 3), 50)).toBe(0);
  });
});
