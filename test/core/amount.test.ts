import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatAmount, parseAmount, unitsFromText } from "../../src/core/amount.ts";

describe("B121: exponents and numbers", () => {
  test.each(["4.5e-7", "9.955189695275411e-7", "1e18", "1E+2", "1e0"])("%s is no amount", (text) => {
    expect(parseAmount(text, 6)).toEqual({ ok: false, reason: "not_decimal" });
  });
});

describe("B122: decimals past the asset's own are refused, never rounded", () => {
  test.each([
    ["630.0056882018259", 6],
    ["1.0536059576998882", 7],
    ["1.0000000", 6],
    ["0.1", 0],
    ["1.0", 0],
  ])("%s with %i decimals", (text, decimals) => {
    expect(parseAmount(text, decimals)).toEqual({ ok: false, reason: "too_many_decimals" });
  });

  test.each([
    ["630.005688", 6, 630005688n],
    ["1.0536059", 7, 10536059n],
    ["0.000001", 6, 1n],
    ["0", 18, 0n],
    ["0.0", 1, 0n],
    ["10", 0, 10n],
    ["1254071346418286654.000000000000000001", 18, 1254071346418286654000000000000000001n],
  ])("%s with %i decimals is %i units", (text, decimals, units) => {
    expect(parseAmount(text, decimals)).toEqual({ ok: true, units });
  });
});

describe("B124: the grammar is 0 or a number without leading zeros, and a fraction of ASCII digits", () => {
  const refused = [
    ".",
    "-",
    "-.",
    "",
    "5.",
    ".5",
    "1,5",
    "1 000",
    "+1",
    "-1",
    "-0",
    "00012",
    "00",
    "01.5",
    "1_000",
    "0x10",
    "１２",
    "١٢",
    "12abc",
    "12\n",
    "\n12",
    "12 ",
    " 12",
    "12\r",
    "12\u2028",
    "NaN",
    "Infinity",
    "null",
    "true",
    "1.2.3",
    "1..2",
    "1.\u0661",
    "¹",
    "1\u0000",
  ];
  test.each(refused)("%j", (text) => {
    expect(parseAmount(text, 18)).toEqual({ ok: false, reason: "not_decimal" });
  });
});

describe("bounds", () => {
  test("2^256 - 1 is the largest", () => {
    const largest = (1n << 256n) - 1n;
    expect(parseAmount(largest.toString(), 0)).toEqual({ ok: true, units: largest });
    expect(parseAmount((largest + 1n).toString(), 0)).toEqual({ ok: false, reason: "too_large" });
  });

  test("a very long text is refused before it is read", () => {
    expect(parseAmount("9".repeat(1_000_000), 0)).toEqual({ ok: false, reason: "too_large" });
    expect(parseAmount(`0.${"0".repeat(200)}`, 250)).toEqual({ ok: false, reason: "too_large" });
  });
});

test("what is written reads back as the same units, without exponent and trailing zeros", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }), fc.integer({ min: 0, max: 36 }), (units, decimals) => {
      const text = formatAmount(units, decimals);
      expect(text).toMatch(/^(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/);
      expect(parseAmount(text, decimals)).toEqual({ ok: true, units });
    }),
  );
});

test("a negative amount is a bug", () => {
  expect(() => formatAmount(-1n, 6)).toThrow("never negative");
});

describe("B125: units are text in databases, exact at any size", () => {
  test("past 2^53", () => {
    expect(unitsFromText("1254071346418286654")).toBe(1254071346418286654n);
    expect(formatAmount(unitsFromText("1254071346418286654"), 18)).toBe("1.254071346418286654");
  });

  test("the sum of 1,000 rows is exact", () => {
    const rows = Array.from({ length: 1000 }, () => "9007199254740993");
    expect(rows.map(unitsFromText).reduce((sum, units) => sum + units, 0n)).toBe(9007199254740993000n);
  });

  test.each(["", "-1", "01", "1.0", "1e3", " 1", "1n", "0x1"])("%j is not a stored amount", (text) => {
    expect(() => unitsFromText(text)).toThrow("not a canonical integer");
  });
});
