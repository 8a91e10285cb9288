/** Session tokens: of one kind with API keys in form, and of another in everything that opens. */

import { expect, test } from "vitest";
import { mintApiKey, readApiKey } from "../../src/core/api-key.ts";
import { newId } from "../../src/core/ids.ts";
import { mintSessionToken, readSessionToken } from "../../src/core/session-token.ts";

const PEPPER = "a pepper that is long enough for tests";
const TENANT = newId("ten", new Uint8Array(16).fill(3));
const RANDOM = new Uint8Array(20).fill(5);
const { secret, hash } = mintSessionToken(TENANT, RANDOM, PEPPER);
const key = mintApiKey(TENANT, RANDOM, PEPPER);

test("a token names its tenant and the hash it is stored under", () => {
  expect(secret).toMatch(/^ses_[0-9a-z]{71}$/);
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect(readSessionToken(secret, PEPPER)).toEqual({ tenantId: TENANT, hash });
});

test("a token that was given out stays the token that it was", () => {
  expect(secret).toBe("ses_030c1g60r30c1g60r30c1g60r30m2ga1850m2ga1850m2ga1850m2ga1855awnnfe85gc29");
  expect(hash).toBe("60a6f14201d083eade614a34be74162341883d98cb6e7b3c6ebee66900f98aae");
});

test("any single changed character, another pepper, another length: refused", () => {
  for (let i = 0; i < secret.length; i++) {
    const other = secret.charAt(i) === "0" ? "1" : "0";
    expect(readSessionToken(secret.slice(0, i) + other + secret.slice(i + 1), PEPPER), `at ${i}`).toBeNull();
  }
  expect(readSessionToken(mintSessionToken(TENANT, RANDOM, `${PEPPER}!`).secret, PEPPER)).toBeNull();
  for (const text of ["", "ses_", secret.slice(0, -1), `${secret}0`, secret.toUpperCase()])
    expect(readSessionToken(text, PEPPER)).toBeNull();
});

test("neither kind can be made into the other, from the same chance and with its prefix exchanged", () => {
  expect(hash).not.toBe(key.hash);
  expect(secret.slice(4, -13)).toBe(key.secret.slice(3, -13));
  expect(secret.slice(-13)).not.toBe(key.secret.slice(-13));
  expect(readApiKey(secret, PEPPER)).toBeNull();
  expect(readSessionToken(key.secret, PEPPER)).toBeNull();
  expect(readApiKey(`sk_${secret.slice(4)}`, PEPPER)).toBeNull();
  expect(readSessionToken(`ses_${key.secret.slice(3)}`, PEPPER)).toBeNull();
});
