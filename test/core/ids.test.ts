import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { base32, depositEventId, depositOfEvent, derivedId, isId, newId } from "../../src/core/ids.ts";

test("an id is its prefix and 26 characters of Crockford base 32", () => {
  expect(newId("dep", new Uint8Array(16))).toBe(`dep_${"0".repeat(26)}`);
  expect(newId("dep", new Uint8Array(16).fill(255))).toBe(`dep_7${"z".repeat(25)}`);
});

test("16 bytes, no more and no less", () => {
  expect(() => newId("evt", new Uint8Array(15))).toThrow("16 random bytes, got 15");
  expect(() => newId("evt", new Uint8Array(17))).toThrow("16 random bytes, got 17");
});

test("different bytes give different text of one length", () => {
  const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 });
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      expect(base32(a)).toHaveLength(26);
      expect(base32(a) === base32(b)).toBe(a.every((byte, i) => byte === b[i]));
      expect(isId("ten", newId("ten", a))).toBe(true);
    }),
  );
});

describe("derived ids", () => {
  test("the same parts always give the same id", () => {
    expect(derivedId("dep", "local", "0xaa", "log:1")).toBe(derivedId("dep", "local", "0xaa", "log:1"));
    expect(isId("dep", derivedId("dep", "local", 7))).toBe(true);
  });

  test("parts keep their borders", () => {
    const ids = [["ab", "c"], ["a", "bc"], ["abc"], ["ab", "c", ""], ["", "abc"], ["1:a", "b"], ["1", "a|1:b"]];
    expect(new Set(ids.map((parts) => derivedId("evt", ...parts))).size).toBe(ids.length);
  });
});

test.each([
  "dep_",
  "dep_0",
  `dep_${"0".repeat(25)}`,
  `dep_${"0".repeat(27)}`,
  `dep_${"i".repeat(26)}`,
  `dep_${"l".repeat(26)}`,
  `dep_${"o".repeat(26)}`,
  `dep_${"u".repeat(26)}`,
  `dep_${"A".repeat(26)}`,
  `evt_${"0".repeat(26)}`,
  ` dep_${"0".repeat(26)}`,
  `dep_${"0".repeat(26)}\n`,
  "",
])("%j is not a deposit's id", (text) => {
  expect(isId("dep", text)).toBe(false);
});

test("the id of a deposit's event is an event's, its own, and leads back to the deposit", () => {
  const deposit = derivedId("dep", "local", "0xaa", "log:1");
  for (const n of [1, 2, 31, 32, 1_000_000]) {
    const id = depositEventId(deposit, n);
    expect(isId("evt", id)).toBe(true);
    expect(depositOfEvent(id).n).toBe(n);
    expect(deposit.startsWith(depositOfEvent(id).idBegins)).toBe(true);
  }
  expect(new Set([1, 2, 3].map((n) => depositEventId(deposit, n))).size).toBe(3);
  expect(() => depositEventId(deposit, 0)).toThrow("no event 0");
  expect(() => depositEventId(deposit, 32 ** 4)).toThrow("no event");
});
