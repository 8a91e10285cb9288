/** Sign-up and API keys: secrets are shown once, to the one who asked, and written nowhere. */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readApiKey } from "../../src/core/api-key.ts";
import { isId } from "../../src/core/ids.ts";
import type { SignUpClaim } from "../../src/http/services.ts";
import type { NewKey, SignUp } from "../../src/objects/api.ts";
import { type Call, fakeApp, given, keyed, type Options, PEPPER, problemOf, TENANT_ID } from "../support/http-app.ts";

const written: string[] = [];
beforeEach(() => {
  written.length = 0;
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, method).mockImplementation((...args: unknown[]) => void written.push(args.map(String).join(" ")));
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  expect(written.join("\n")).not.toMatch(/sk_[0-9a-z]/);
});

const view = (id: string) => ({
  id,
  name: "default",
  scopes: ["admin"],
  created_at: "2026-06-01T00:00:00.000Z",
  expires_at: null,
  revoked_at: null,
});

/** A tenant's object as far as sign-up needs it: the first key that arrives is the one that stands. */
function signUps() {
  const hashes = new Map<string, string>();
  const claims = new Map<string, { fingerprint: string; tenantId: string; keyId: string }>();
  const tenant = {
    signUp: async (input: SignUp) => {
      if (!hashes.has(input.key.id)) hashes.set(input.key.id, input.key.hash);
      const { id, name, email } = input.tenant;
      return { tenant: { id, name, email, created_at: "2026-06-01T00:00:00.000Z" }, key: view(input.key.id) };
    },
    getTenant: async (caller: { keyHash: string }) =>
      [...hashes.values()].includes(caller.keyHash)
        ? given({ id: "t" })
        : { ok: false, refusal: { code: "unauthorized", detail: "d" }, rate: null },
  };
  const store = {
    claimSignUp: async (claim: {
      scopeHash: string;
      fingerprint: string;
      tenantId: string;
      keyId: string;
    }): Promise<SignUpClaim> => {
      const held = claims.get(claim.scopeHash);
      if (held === undefined) {
        claims.set(claim.scopeHash, claim);
        return { kind: "claimed" };
      }
      return held.fingerprint === claim.fingerprint ? { kind: "known", ...held } : { kind: "other_request" };
    },
  };
  return { tenant, store };
}

interface SignedUp {
  tenant: { id: string; name: string; email: string | null };
  api_key: { id: string; secret?: string; scopes: string[] };
}

function signUpInit(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) };
}

const order = (calls: readonly Call[]) => calls.map(({ to, method }) => `${to}.${method}`);

describe("POST /v1/tenants", () => {
  test("makes a tenant and a key that opens", async () => {
    const { app, calls } = fakeApp(signUps());
    const response = await app.request("/v1/tenants", signUpInit({ name: "  Acme ", email: "ops@acme.example" }));
    expect(response.status).toBe(201);
    const { tenant, api_key: key } = (await response.json()) as SignedUp;
    expect(tenant).toMatchObject({ name: "Acme", email: "ops@acme.example" });
    expect(isId("ten", tenant.id) && isId("key", key.id)).toBe(true);
    expect(key.scopes).toEqual(["admin"]);
    expect(order(calls)).toEqual(["store.insertTenant", "tenant.signUp"]);
    // What is stored, in D1 and in the object, is the hash alone.
    const hash = readApiKey(key.secret ?? "", PEPPER)?.hash;
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(calls[0]?.args[1]).toMatchObject({ id: key.id, hash, scopes: ["admin"] });
    expect(calls[1]?.args[0]).toMatchObject({ tenant: { id: tenant.id }, key: { id: key.id, hash } });
    expect(JSON.stringify(calls)).not.toContain(key.secret);
  });

  test.each([
    [{}, "name"],
    [{ name: "" }, "name"],
    [{ name: "   " }, "name"],
    [{ name: "x".repeat(101) }, "name"],
    [{ name: "a\u0000b" }, "name"],
    [{ name: 1 }, "name"],
    [{ name: "A", email: "nobody" }, "email"],
    [{ name: "A", email: "a@b" }, "email"],
    [{ name: "A", email: "a b@c.example" }, "email"],
    [{ name: "A", email: `${"a".repeat(250)}@b.example` }, "email"],
    [{ name: "A", scopes: ["admin"] }, "scopes"],
  ])("%j does not fit", async (body, at) => {
    const { app, calls } = fakeApp();
    const problem = await problemOf(await app.request("/v1/tenants", signUpInit(body)));
    expect(new Set(problem.errors?.map(({ path }) => path))).toEqual(new Set([at]));
    expect(calls).toEqual([]);
  });

  // The first four are of sites that lead their own name to this machine: the pages are then of the service's own origin.
  test.each([
    ["http://rebound.example:8787", false],
    ["http://rebound.example", false],
    ["http://127.0.0.1.rebound.example:8787", false],
    ["http://localhost.rebound.example:8787", false],
    ["null", false],
    ["http://localhost:8787", true],
    ["http://shop.localhost:8787", true],
    ["http://127.0.0.1:8787", true],
    ["http://[::1]:8787", true],
    ["http://192.168.1.5:8787", true],
    ["https://sluice.example", true],
  ])("from a page of %s: %s", async (origin, isLetIn) => {
    const { app, calls } = fakeApp(signUps());
    const base = origin === "null" ? "http://127.0.0.1:8787" : origin;
    const response = await app.request(`${base}/v1/tenants`, signUpInit({ name: "A" }, { Origin: origin }));
    expect(response.status).toBe(isLetIn ? 201 : 403);
    if (isLetIn) return;
    expect(await problemOf(response)).toMatchObject({ code: "forbidden", retryable: false });
    expect(calls).toEqual([]);
  });

  test("is limited per client address, before anything is written", async () => {
    const seen: string[] = [];
    const signUpLimit = async (address: string) => {
      seen.push(address);
      return false;
    };
    const { app, calls } = fakeApp({ signUpLimit });
    const response = await app.request("/v1/tenants", signUpInit({ name: "A" }, { "CF-Connecting-IP": "192.0.2.7" }));
    expect((await problemOf(response)).code).toBe("rate_limited");
    expect(response.headers.get("retry-after")).toBe("60");
    expect(seen).toEqual(["192.0.2.7"]);
    expect(calls).toEqual([]);
  });

  describe("with an Idempotency-Key", () => {
    const post = (options: Options, body: unknown, ip = "192.0.2.7") => {
      const { app, calls } = fakeApp(options);
      const init = signUpInit(body, { "Idempotency-Key": "k1", "CF-Connecting-IP": ip });
      return { calls, response: app.request("/v1/tenants", init) };
    };

    test("a replay gives the same tenant and key, without the secret", async () => {
      const world = signUps();
      const first = await post(world, { name: "A" }).response;
      const made = (await first.json()) as SignedUp;
      expect(made.api_key.secret).toMatch(/^sk_/);
      expect(first.headers.get("idempotent-replayed")).toBeNull();

      const again = await post(world, { email: null, name: "A" }).response;
      const { secret: _, ...rest } = made.api_key;
      expect(again.status).toBe(201);
      expect(await again.json()).toEqual({ tenant: made.tenant, api_key: rest });
      expect(again.headers.get("idempotent-replayed")).toBe("true");
    });

    test("B82: a sign-up that died before its object knew it is done by the retry, with a secret that opens", async () => {
      const world = signUps();
      const down = async () => {
        throw Object.assign(new Error("D1 is away"), { retryable: true });
      };
      const first = await post({ ...world, store: { ...world.store, insertTenant: down } }, { name: "A" }).response;
      expect((await problemOf(first)).code).toBe("store_unavailable");

      const again = await post(world, { name: "A" }).response;
      const { api_key: key } = (await again.json()) as SignedUp;
      expect(again.headers.get("idempotent-replayed")).toBeNull();
      const read = readApiKey(key.secret ?? "", PEPPER);
      expect((await world.tenant.getTenant({ keyHash: read?.hash ?? "" })).ok).toBe(true);
    });

    test("another request with the key is refused, another client's is its own", async () => {
      const world = signUps();
      await post(world, { name: "A" }).response;
      const { response, calls } = post(world, { name: "B" });
      expect((await problemOf(await response)).code).toBe("idempotency_key_reused");
      expect(order(calls)).toEqual(["store.claimSignUp"]);
      expect((await post(world, { name: "B" }, "192.0.2.8").response).status).toBe(201);
    });

    test("neither the address nor the key is stored in the clear", async () => {
      const { calls, response } = post(signUps(), { name: "A" });
      await response;
      expect(JSON.stringify(calls[0])).not.toMatch(/192\.0\.2\.7|"k1"/);
    });
  });
});

describe("API keys", () => {
  test("a new key is shown with its secret; the object gets the hash", async () => {
    const createApiKey = async (_: unknown, key: NewKey) =>
      given({ ...view(key.id), name: key.name, scopes: key.scopes }, { created: true });
    const { app, calls } = fakeApp({ tenant: { createApiKey } });
    const response = await app.request(
      "/v1/api-keys",
      keyed("POST", { name: "ci", scopes: ["read"], expires_at: "2027-01-01T00:00:00Z" }),
    );
    expect(response.status).toBe(201);
    const key = (await response.json()) as { id: string; secret: string };
    const read = readApiKey(key.secret, PEPPER);
    expect(read?.tenantId).toBe(TENANT_ID);
    expect(calls[0]?.args[1]).toEqual({
      id: key.id,
      hash: read?.hash,
      name: "ci",
      scopes: ["read"],
      expiresAt: Date.UTC(2027, 0, 1),
    });
    expect(JSON.stringify(calls)).not.toContain(key.secret);
  });

  test.each([
    ["createApiKey", "/v1/api-keys", { name: "ci", scopes: ["read"] }],
    ["rotateApiKey", "/v1/api-keys/key_01h455vb4pex5vsknk084sn02q/rotate", {}],
  ])("%s: a replay has no secret, since another one stands", async (method, path, body) => {
    const tenant = { [method]: async () => given(view("key_of_the_first_request"), { replayed: true }) };
    const response = await fakeApp({ tenant }).app.request(path, keyed("POST", body, { "Idempotency-Key": "k" }));
    expect(response.status).toBe(201);
    expect(response.headers.get("idempotent-replayed")).toBe("true");
    expect(await response.json()).toEqual(view("key_of_the_first_request"));
  });

  test("rotation gives the new key's secret", async () => {
    const rotateApiKey = async (_: unknown, _old: string, key: { id: string }) =>
      given(view(key.id), { created: true });
    const { app, calls } = fakeApp({ tenant: { rotateApiKey } });
    const path = "/v1/api-keys/key_01h455vb4pex5vsknk084sn02q/rotate";
    const response = await app.request(path, keyed("POST", { overlap_seconds: 60 }));
    const key = (await response.json()) as { id: string; secret: string };
    expect(calls[0]?.args.slice(1)).toEqual([
      "key_01h455vb4pex5vsknk084sn02q",
      { id: key.id, hash: readApiKey(key.secret, PEPPER)?.hash },
      60,
      null,
    ]);
  });
});

describe("extended private keys", () => {
  // BIP-84's own test vector.
  const ZPRV =
    "zprvAdG4iTXWBoARxkkzNpNh8r6Qag3irQB8PzEMkAFeTRXxHpbF9z4QgEvBRmfvqWvGp42t42nvgGpNgYSJA9iefm1yYNZKEm7z6qUWCroSQnE";
  const broken = `${ZPRV.slice(0, 40)}0${ZPRV.slice(41)}`;

  test.each([
    ["/v1/xpubs", { network: "bitcoin", xpub: ZPRV }],
    ["/v1/xpubs", { network: "bitcoin", xpub: broken }],
    ["/v1/xpubs", { network: "bitcoin", xpub: ZPRV, type: ZPRV, next_index: ZPRV }],
    ["/v1/xpubs", { network: ZPRV, xpub: { [ZPRV.slice(0, 20)]: ZPRV } }],
    ["/v1/addresses", { network: "bitcoin", xpub_id: ZPRV }],
  ])("%s %j: refused before any object hears of it, and not shown again", async (path, body) => {
    const { app, calls } = fakeApp({ tenant: {} });
    const response = await app.request(path, keyed("POST", body, { "Idempotency-Key": "k" }));
    expect(response.status).toBe(422);
    expect(calls).toEqual([]);
    const seen = `${await response.text()} ${JSON.stringify([...response.headers])} ${written.join()}`;
    // A name that a caller made up is shown as the path of what is wrong with it, cut.
    for (let at = 24; at + 8 <= ZPRV.length; at += 4) expect(seen).not.toContain(ZPRV.slice(at, at + 8));
  });
});
