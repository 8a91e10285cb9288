import { describe, expect, test } from "vitest";
import { mintApiKey, readApiKey } from "../../src/core/api-key.ts";
import { newId } from "../../src/core/ids.ts";
import { equalInConstantTime } from "../../src/core/keyed-token.ts";

const PEPPER = "a pepper that is long enough for tests";
const TENANT = newId("ten", new Uint8Array(16).fill(3));
const RANDOM = new Uint8Array(20).fill(5);
const { secret, hash } = mintApiKey(TENANT, RANDOM, PEPPER);

test("a key names its tenant and the hash it is stored under", () => {
  expect(secret).toMatch(/^sk_[0-9a-z]{71}$/);
  expect(readApiKey(secret, PEPPER)).toEqual({ tenantId: TENANT, hash });
});

test("a key that was given out stays the key that it was", () => {
  expect(secret).toBe("sk_030c1g60r30c1g60r30c1g60r30m2ga1850m2ga1850m2ga1850m2ga185c7h9wvcb3m587");
  expect(hash).toBe("b3e8d34e14909cdeeb03058da889e7d55351bf608f661d6d8317168156c925e6");
});

test("the hash depends on the pepper", () => {
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect(mintApiKey(TENANT, RANDOM, "another pepper that is long enough").hash).not.toBe(hash);
});

describe("forged keys are refused", () => {
  test("any single changed character", () => {
    for (let i = 0; i < secret.length; i++) {
      const other = secret.charAt(i) === "0" ? "1" : "0";
      expect(readApiKey(secret.slice(0, i) + other + secret.slice(i + 1), PEPPER), `at ${i}`).toBeNull();
    }
  });

  test("a key of another pepper", () => {
    expect(readApiKey(mintApiKey(TENANT, RANDOM, "another pepper that is long enough").secret, PEPPER)).toBeNull();
  });

  test("another tenant's name before the same secret", () => {
    const other = mintApiKey(newId("ten", new Uint8Array(16).fill(4)), RANDOM, PEPPER).secret;
    expect(readApiKey(other.slice(0, 29) + secret.slice(29), PEPPER)).toBeNull();
  });

  test.each([
    "",
    "sk_",
    secret.slice(0, -1),
    `${secret}0`,
    secret.toUpperCase(),
    ` ${secret.slice(1)}`,
    `pk_${secret.slice(3)}`,
    "\u0000".repeat(74),
    "é".repeat(74),
  ])("%j", (text) => {
    expect(readApiKey(text, PEPPER)).toBeNull();
  });
});

test("what a key is made of is checked", () => {
  expect(() => mintApiKey(TENANT, new Uint8Array(19), PEPPER)).toThrow("20 random bytes, got 19");
  expect(() => mintApiKey("ten_short", RANDOM, PEPPER)).toThrow("not a tenant id");
});

test.each([
  ["", "", true],
  ["abc", "abc", true],
  ["abc", "abd", false],
  ["abc", "ab", false],
  ["", "a", false],
])("%j and %j: %s", (a, b, equal) => {
  expect(equalInConstantTime(a, b)).toBe(equal);
});
