/** The whole table of a withdrawal's steps: every pair of states, the legal ones written out. */

import { describe, expect, it } from "vitest";
import { isOpen, mayBecome, OPEN_STATES, WITHDRAWAL_STATES, type WithdrawalState } from "../../src/core/withdrawal.ts";

/** Rows: from. Columns: to, in the order of the rows. */
const TABLE: readonly (readonly [WithdrawalState, string])[] = [
  //                         req fun app bro tra con fai can rej man
  ["request_received", /*  */ "-   x   -   -   -   -   -   -   -   -"],
  ["funds_reserved", /*    */ "-   -   x   x   -   -   x   x   -   -"],
  ["pending_approval", /*  */ "-   x   -   -   -   -   -   x   x   -"],
  ["broadcast_pending", /* */ "-   -   -   -   x   -   -   -   -   x"],
  ["confirmation_tracking", "-   -   -   -   -   x   x   -   -   x"],
  ["confirmed", /*         */ "-   -   -   -   x   -   -   -   -   -"],
  ["failed", /*            */ "-   -   -   -   -   -   -   -   -   -"],
  ["cancelled", /*         */ "-   -   -   -   -   -   -   -   -   -"],
  ["rejected", /*          */ "-   -   -   -   -   -   -   -   -   -"],
  ["manual_review", /*     */ "-   -   -   -   x   x   x   -   -   -"],
];
const ORDER = TABLE.map(([state]) => state);

const PAIRS = TABLE.flatMap(([from, row]) =>
  row
    .split(/ +/)
    .map((mark, i): [WithdrawalState, WithdrawalState | undefined, boolean] => [from, ORDER[i], mark === "x"]),
);

describe("I12 a withdrawal's steps", () => {
  it("the table names every state once", () => {
    expect([...ORDER].sort()).toEqual([...WITHDRAWAL_STATES].sort());
    expect(PAIRS).toHaveLength(100);
  });

  it.each(PAIRS)("%s -> %s: %s", (from, to, legal) => {
    if (to === undefined) throw new Error("the table has a row of another length");
    expect(mayBecome(from, to)).toBe(legal);
  });

  it("every state but the first is reached from the first", () => {
    const reached = new Set<WithdrawalState>(["request_received"]);
    for (const from of reached) for (const to of WITHDRAWAL_STATES) if (mayBecome(from, to)) reached.add(to);
    expect([...reached].sort()).toEqual([...WITHDRAWAL_STATES].sort());
  });
});

describe("R0 once a nonce is taken, only the chain or a person ends it", () => {
  it.each(["broadcast_pending", "confirmation_tracking", "confirmed", "manual_review"] as const)(
    "%s never leads back to where a withdrawal may be called off",
    (start) => {
      const reached = new Set<WithdrawalState>([start]);
      for (const from of reached) for (const to of WITHDRAWAL_STATES) if (mayBecome(from, to)) reached.add(to);
      for (const before of [
        "request_received",
        "funds_reserved",
        "pending_approval",
        "cancelled",
        "rejected",
      ] as const) {
        expect(reached.has(before)).toBe(false);
      }
    },
  );
});

describe("I11 a reservation belongs to an open withdrawal", () => {
  it.each([
    ["request_received", true],
    ["funds_reserved", true],
    ["pending_approval", true],
    ["broadcast_pending", true],
    ["confirmation_tracking", true],
    ["confirmed", false],
    ["failed", false],
    ["cancelled", false],
    ["rejected", false],
    ["manual_review", true],
  ] as const)("%s: %s", (state, open) => {
    expect(isOpen(state)).toBe(open);
    expect(OPEN_STATES.includes(state)).toBe(open);
  });
});
