/** Tables of the ledger: balance before, event, postings, balance after. */

import { describe, expect, it } from "vitest";
import { type Balance, depositConfirmed, depositReverted, EMPTY_BALANCE, post } from "../../src/core/ledger.ts";

const balance = (available: bigint, debt = 0n): Balance => ({ ...EMPTY_BALANCE, available, debt });

describe("postings", () => {
  it.each([
    ["confirmed", balance(0n), 5n, ["chain>available 5"], balance(5n)],
    ["confirmed", balance(1n, 0n), 5n, ["chain>available 5"], balance(6n)],
    ["confirmed", balance(0n, 3n), 5n, ["chain>debt 3", "chain>available 2"], balance(2n)],
    ["confirmed", balance(0n, 9n), 5n, ["chain>debt 5"], balance(0n, 4n)],
    ["reverted", balance(5n), 5n, ["available>chain 5"], balance(0n)],
    ["reverted", balance(2n), 5n, ["available>chain 2", "debt>chain 3"], balance(0n, 3n)],
    ["reverted", balance(0n, 1n), 5n, ["debt>chain 5"], balance(0n, 6n)],
  ] as const)("a deposit %s", (event, before, units, expected, after) => {
    const postings = (event === "confirmed" ? depositConfirmed : depositReverted)(before, units);
    expect(postings.map((p) => `${p.from}>${p.to} ${p.amountUnits}`)).toEqual(expected);
    expect(post(before, postings)).toEqual(after);
  });
});

describe("I4 a bucket below zero is a bug", () => {
  it("is refused, and so is a posting of nothing", () => {
    expect(() => post(balance(1n), [{ from: "available", to: "chain", amountUnits: 2n }])).toThrow(/below zero/);
    expect(() => post(balance(0n), [{ from: "available", to: "reserved", amountUnits: 1n }])).toThrow(/below zero/);
    expect(() => post(balance(0n), [{ from: "chain", to: "debt", amountUnits: 1n }])).toThrow(/below zero/);
    expect(() => post(balance(1n), [{ from: "available", to: "chain", amountUnits: 0n }])).toThrow(/more than nothing/);
  });
});
