/** Tables of the ledger: balance before, event, postings, balance after. */

import { describe, expect, it } from "vitest";
import {
  type Balance,
  depositConfirmed,
  depositReverted,
  EMPTY_BALANCE,
  networkFeePaid,
  type Posting,
  post,
  withdrawalConfirmed,
  withdrawalReleased,
  withdrawalReopened,
  withdrawalReserved,
} from "../../src/core/ledger.ts";

const balance = (available: bigint, debt = 0n): Balance => ({ ...EMPTY_BALANCE, available, debt });
const told = (journal: readonly Posting[]) => journal.map((p) => `${p.from}>${p.to} ${p.amountUnits}`);

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
    expect(told(postings)).toEqual(expected);
    expect(post(before, postings)).toEqual(after);
  });

  const held = (available: bigint, reserved: bigint, settled = 0n, debt = 0n): Balance => ({
    available,
    reserved,
    settled,
    debt,
  });
  const reserved = (_before: Balance, units: bigint) => withdrawalReserved(units);
  const confirmed = (_before: Balance, units: bigint) => withdrawalConfirmed(units);
  const reopened = (_before: Balance, units: bigint) => withdrawalReopened(units);

  it.each([
    ["reserved", reserved, held(7n, 1n), 5n, ["available>reserved 5"], held(2n, 6n)],
    ["reserved to the last unit", reserved, held(5n, 0n), 5n, ["available>reserved 5"], held(0n, 5n)],
    ["confirmed", confirmed, held(2n, 6n, 1n), 5n, ["reserved>settled 5"], held(2n, 1n, 6n)],
    ["B104: reopened", reopened, held(2n, 1n, 6n), 5n, ["settled>reserved 5"], held(2n, 6n, 1n)],
    ["released", withdrawalReleased, held(2n, 6n), 5n, ["reserved>available 5"], held(7n, 1n)],
    [
      "released to a debtor",
      withdrawalReleased,
      held(0n, 6n, 1n, 3n),
      5n,
      ["reserved>available 5", "available>debt 3"],
      held(2n, 1n, 1n, 0n),
    ],
    [
      "released to one who owes more",
      withdrawalReleased,
      held(0n, 5n, 0n, 9n),
      5n,
      ["reserved>available 5", "available>debt 5"],
      held(0n, 0n, 0n, 4n),
    ],
  ] as const)("a withdrawal %s", (_name, event, before, units, expected, after) => {
    expect(told(event(before, units))).toEqual(expected);
    expect(post(before, event(before, units))).toEqual(after);
  });

  it.each([
    ["more than is available", reserved, held(4n, 9n)],
    ["more confirmed than is reserved", confirmed, held(9n, 4n)],
    ["more reopened than was settled", reopened, held(9n, 9n, 4n)],
    ["more released than is reserved", withdrawalReleased, held(9n, 4n)],
  ] as const)("I4 a withdrawal of %s is a bug", (_name, event, before) => {
    expect(() => post(before, event(before, 5n))).toThrow(/below zero/);
  });

  it("a network's fee comes from outside and is settled at once; no fee is no posting", () => {
    expect(told(networkFeePaid(5n))).toEqual(["chain>settled 5"]);
    expect(post(EMPTY_BALANCE, networkFeePaid(5n))).toEqual(held(0n, 0n, 5n));
    expect(networkFeePaid(0n)).toEqual([]);
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
