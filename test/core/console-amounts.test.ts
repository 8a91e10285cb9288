/** Sums that the console shows: exact to the last digit, whatever the amounts are. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Sum, totalsOf } from "../../src/console/amounts.ts";
import { formatAmount } from "../../src/core/amount.ts";
import type { Balance } from "../../src/sdk/types.ts";

const sumOf = (...amounts: string[]) => amounts.reduce((sum, amount) => sum.add(amount), new Sum()).toString();

function balance(of: Partial<Balance>): Balance {
  return {
    account: "customer-1",
    network: "ethereum",
    asset: "ETH",
    available: "0",
    reserved: "0",
    settled: "0",
    debt: "0",
    ...of,
  };
}

describe("a sum of decimal amounts", () => {
  test.each([
    [[], "0"],
    [["0.1", "0.2"], "0.3"],
    [["0.1", "0.2", "0.7"], "1"],
    [["9007199254740993", "0.000000000000000001"], "9007199254740993.000000000000000001"],
    [["0.000001", "25.5"], "25.500001"],
    [["1254071346418286654.000000000000000001", "0.999999999999999999"], "1254071346418286655"],
    [["10", "100"], "110"],
  ])("%j is %s", (amounts, sum) => expect(sumOf(...amounts)).toBe(sum));

  test("goes below zero and back, and knows zero", () => {
    const sum = new Sum().add("1.5").take("2.25");
    expect(sum.toString()).toBe("-0.75");
    expect(sum.isZero()).toBe(false);
    expect(sum.add("0.750").isZero()).toBe(true);
    expect(sum.toString()).toBe("0");
    expect(new Sum().take("0.05").toString()).toBe("-0.05");
  });

  test.each(["", "1e18", "0x10", ".5", "5.", "1,5", " 1", "NaN"])("%j is no amount and leaves no wrong sum", (text) =>
    expect(() => new Sum().add("1").add(text)).toThrow(TypeError),
  );

  test("is what whole units add up to, whatever decimals each amount has", () =>
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.bigInt(0n, 1n << 256n), fc.integer({ min: 0, max: 30 }))), (amounts) => {
        const units = amounts.reduce((sum, [of, decimals]) => sum + of * 10n ** BigInt(30 - decimals), 0n);
        expect(sumOf(...amounts.map(([of, decimals]) => formatAmount(of, decimals)))).toBe(formatAmount(units, 30));
      }),
      { numRuns: 200 },
    ));
});

describe("totals by asset", () => {
  test("add up every account's buckets and keep networks apart", () => {
    const totals = totalsOf([
      balance({ asset: "USDC", available: "0.1", reserved: "1", debt: "3" }),
      balance({ account: "customer-2", asset: "USDC", available: "0.2", settled: "100.000001" }),
      balance({ account: "customer-2", network: "base", asset: "USDC", available: "7" }),
      balance({ available: "1.000000000000000001" }),
    ]);
    expect(totals).toEqual([
      {
        network: "ethereum",
        asset: "ETH",
        accounts: 1,
        available: "1.000000000000000001",
        reserved: "0",
        settled: "0",
        debt: "0",
        fees: "0",
      },
      {
        network: "base",
        asset: "USDC",
        accounts: 1,
        available: "7",
        reserved: "0",
        settled: "0",
        debt: "0",
        fees: "0",
      },
      {
        network: "ethereum",
        asset: "USDC",
        accounts: 2,
        available: "0.3",
        reserved: "1",
        settled: "100.000001",
        debt: "3",
        fees: "0",
      },
    ]);
  });

  test("count what networks took apart from what customers were paid", () => {
    const [total] = totalsOf([
      balance({ settled: "2" }),
      balance({ account: "sluice:fees", settled: "0.000021000000000001" }),
    ]);
    expect(total).toMatchObject({ accounts: 1, settled: "2", fees: "0.000021000000000001" });
  });
});
