/** Idempotency keys at the edge: which are taken (B81), and what a request's fingerprint is made of. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, fingerprint } from "../../src/http/fingerprint.ts";
import { fakeApp, given, keyed } from "../support/http-app.ts";

const KEY_ID = "key_01h455vb4pex5vsknk084sn02q";
const ADDRESS = { network: "local", address: "0xab" };
const anything = new Proxy({}, { get: () => async () => given({ id: "x" }, { created: true }) });

/** What the object gets as `Idempotency`. */
async function idempotencyOf(path: string, body: unknown, headers: HeadersInit): Promise<unknown> {
  const { app, calls } = fakeApp({ tenant: anything });
  const init = keyed("POST", body);
  const all = new Headers(init.headers);
  for (const [name, value] of new Headers(headers)) all.append(name, value);
  const response = await app.request(path, { ...init, headers: all });
  expect(response.status, await response.clone().text()).toBeLessThan(300);
  return calls[0]?.args.at(-1);
}

async function fingerprintOf(path: string, body: unknown): Promise<string> {
  const idempotency = await idempotencyOf(path, body, { "Idempotency-Key": "k" });
  const { fingerprint: print } = idempotency as { fingerprint: string };
  expect(print).toMatch(/^[0-9a-f]{64}$/);
  return print;
}

describe("B81: a key passes as it came, byte for byte", () => {
  test.each(["a", "0", "a b", "~!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}", "k".repeat(255), "a, b", "A"])(
    "%j",
    async (key) => {
      expect(await idempotencyOf("/v1/addresses", ADDRESS, { "Idempotency-Key": key })).toMatchObject({ key });
    },
  );

  test.each(["a", "a b", "k".repeat(255), "a, b", "A"])("%j names a withdrawal, byte for byte", async (key) => {
    const body = { network: "local", asset: "ETH", destination: "0xab", amount: "1" };
    expect(await idempotencyOf("/v1/withdrawals", body, { "Idempotency-Key": key })).toBe(key);
  });

  test("no key at all is null", async () => {
    expect(await idempotencyOf("/v1/addresses", ADDRESS, {})).toBeNull();
  });

  test("two header lines are one key, with a comma", async () => {
    const headers = new Headers();
    headers.append("Idempotency-Key", "a");
    headers.append("Idempotency-Key", "b");
    expect(await idempotencyOf("/v1/addresses", ADDRESS, headers)).toMatchObject({ key: "a, b" });
  });
});

describe("the fingerprint", () => {
  const plain = fingerprintOf("/v1/addresses", ADDRESS);

  test.each([
    ["order of fields", '{"address":"0xab","network":"local"}'],
    ["white space", '{ "network" : "local",\n"address":"0xab" }'],
    ["escapes", '{"network":"\\u006cocal","address":"0xab"}'],
    ["defaults written out", { ...ADDRESS, account: "default", label: null, metadata: {}, start_height: null }],
  ])("%s does not count", async (_, body) => {
    expect(await fingerprintOf("/v1/addresses", body)).toBe(await plain);
  });

  test.each([
    ["another address", { ...ADDRESS, address: "0xac" }],
    ["another account", { ...ADDRESS, account: "Default" }],
    ["metadata", { ...ADDRESS, metadata: { a: "" } }],
    ["height 0 and no height", { ...ADDRESS, start_height: 0 }],
  ])("%s counts", async (_, body) => {
    expect(await fingerprintOf("/v1/addresses", body)).not.toBe(await plain);
  });

  test("it is over the body that was sent, never over the secret that is made", async () => {
    const body = { name: "ci", scopes: ["read", "webhooks:write"] };
    const print = await fingerprintOf("/v1/api-keys", body);
    expect(await fingerprintOf("/v1/api-keys", body)).toBe(print);
    expect(await fingerprintOf("/v1/api-keys", { ...body, scopes: ["webhooks:write", "read"] })).toBe(print);
    expect(await fingerprintOf("/v1/api-keys", { ...body, scopes: ["read"] })).not.toBe(print);
  });

  test("an endpoint's signature counts where it was chosen; left out it is the request that it was before there was a choice", async () => {
    const body = { url: "https://a.example/", events: null, description: null };
    const print = await fingerprintOf("/v1/webhook-endpoints", body);
    // Of the version that knew no signatures.
    expect(print).toBe(fingerprint({ method: "POST", path: "/v1/webhook-endpoints", body }));
    expect(await fingerprintOf("/v1/webhook-endpoints", { ...body, signature: "v1" })).toBe(print);
    expect(await fingerprintOf("/v1/webhook-endpoints", { ...body, signature: "v1a" })).not.toBe(print);
  });

  test("the same body on another path or another thing is another request", async () => {
    const we = (id: string, action: string) => fingerprintOf(`/v1/webhook-endpoints/we_${id}/${action}`, {});
    const [a, b] = ["01h455vb4pex5vsknk084sn02q", "01h455vb4pex5vsknk084sn02r"];
    const prints = [await we(a, "rotate-secret"), await we(b, "rotate-secret"), await we(a, "test")];
    prints.push(await fingerprintOf(`/v1/api-keys/${KEY_ID}/rotate`, {}));
    expect(new Set(prints).size).toBe(4);
  });

  test("what moves one withdrawal is another request for another one, another way or with other words", async () => {
    const wd = (id: string, action: string, body: object = {}) =>
      fingerprintOf(`/v1/withdrawals/wd_${id}/${action}`, body);
    const [a, b] = ["01h455vb4pex5vsknk084sn02q", "01h455vb4pex5vsknk084sn02r"];
    const failed = { outcome: "failed", evidence: "e" };
    const prints = await Promise.all([
      ...["cancel", "approve", "speed-up", "reject"].map((action) => wd(a, action)),
      wd(b, "cancel"),
      wd(a, "reject", { reason: "no" }),
      wd(a, "resolve", failed),
      wd(a, "resolve", { ...failed, outcome: "confirmed" }),
      wd(a, "resolve", { ...failed, evidence: "f" }),
      fingerprintOf("/v1/wallets/local/resume", {}),
      fingerprintOf("/v1/wallets/base/resume", {}),
      fingerprintOf("/v1/reconciliation", {}),
    ]);
    expect(new Set(prints).size).toBe(prints.length);
    expect(await wd(a, "reject", { reason: null })).toBe(await wd(a, "reject"));
  });

  test("a left-out body means its defaults", async () => {
    const rotate = (body?: unknown) => fingerprintOf(`/v1/api-keys/${KEY_ID}/rotate`, body);
    const print = await rotate();
    expect(await rotate({})).toBe(print);
    expect(await rotate("")).toBe(print);
    expect(await rotate({ overlap_seconds: 86_400 })).toBe(print);
    expect(await rotate({ overlap_seconds: 0 })).not.toBe(print);
  });
});

describe("canonical JSON", () => {
  test("names are sorted at every depth, lists are not", () => {
    expect(canonicalJson({ b: [3, { z: 1, a: null }], a: "x\n" })).toBe('{"a":"x\\n","b":[3,{"a":null,"z":1}]}');
  });

  test("absent and undefined are the same", () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  test.each([[1n], [Number.NaN], [Number.POSITIVE_INFINITY], [[undefined]], [() => 1]])(
    "%o has no JSON form",
    (value) => {
      expect(() => canonicalJson(value)).toThrow("not a JSON value");
    },
  );

  test("it reads back as the same value, and differs where values differ", () => {
    const value = fc.jsonValue({ maxDepth: 4 }).filter((json) => !JSON.stringify(json).includes("__proto__"));
    fc.assert(
      fc.property(value, value, (a, b) => {
        // JSON itself does not know -0.
        expect(JSON.parse(canonicalJson(a))).toEqual(JSON.parse(JSON.stringify(a)));
        const same = canonicalJson(a) === canonicalJson(b);
        const meaning = { method: "POST", path: "/" };
        expect(fingerprint({ ...meaning, body: a }) === fingerprint({ ...meaning, body: b })).toBe(same);
      }),
    );
  });
});
