/**
 * The HTTP surface in workerd, with the real objects and D1 behind it. The chain is out of reach here:
 * what needs it must say so and change nothing.
 */

import { reset } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ApiKeyView, Page } from "../../src/core/views.ts";
import type { Env } from "../../src/env.ts";
import type { ApiDocument } from "../../src/http/description/document.ts";
import { serve } from "../../src/http/worker.ts";
import { Tenant } from "../../src/index.ts";
import { StoreFault } from "../../src/store/d1/deadline.ts";
import { type Contract, contractOf } from "../support/contract.ts";
import { migrate } from "./setup.ts";

const { DB, OPERATOR_TOKEN } = env as unknown as Env;
const { default: worker } = exports as unknown as { default: Fetcher };

beforeEach(async () => {
  await migrate();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await reset();
});

interface Options {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

async function call(method: string, path: string, { key, body, headers = {} }: Options = {}): Promise<Response> {
  const all = new Headers(headers);
  if (key !== undefined) all.set("Authorization", `Bearer ${key}`);
  if (body !== undefined) all.set("Content-Type", "application/json");
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await worker.fetch(
    new Request(`https://sluice.test${path}`, { method, headers: all, ...(body === undefined ? {} : { body: text }) }),
  );
  await expectAsDescribed(method, path, response.clone());
  return response;
}

let contract: Contract | undefined;

/** Whatever a test is about: what the real objects answer is what the description says. */
async function expectAsDescribed(method: string, path: string, response: Response): Promise<void> {
  contract ??= contractOf((await (await worker.fetch("https://sluice.test/openapi.json")).json()) as ApiDocument);
  if (UNDESCRIBED.some((one) => path.startsWith(one))) return;
  const text = await response.text();
  const body = /json/.test(response.headers.get("content-type") ?? "") ? JSON.parse(text) : text;
  const { status, headers } = response;
  expect(contract.violations(method, path.split("?")[0] ?? path, { status, headers, body })).toEqual([]);
}

const UNDESCRIBED = ["/openapi.json", "/docs"];

interface SignedUp {
  readonly tenant: { readonly id: string };
  readonly api_key: { readonly id: string; readonly secret: string };
}

async function signUp(headers: Record<string, string> = {}, name = "Acme"): Promise<SignedUp> {
  const response = await call("POST", "/v1/tenants", { body: { name }, headers });
  expect(response.status).toBe(201);
  return response.json();
}

async function codeOf(response: Response): Promise<string> {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  return ((await response.json()) as { code: string }).code;
}

async function rows(table: string): Promise<number> {
  return (await DB.prepare(`SELECT count(*) AS n FROM ${table}`).first<{ n: number }>())?.n ?? -1;
}

describe("a key, from sign-up to its end", () => {
  it("signs up and is let in, with the rate told", async () => {
    const { tenant, api_key: key } = await signUp();
    const response = await call("GET", "/v1/tenant", { key: key.secret });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: tenant.id, name: "Acme", email: null });
    expect(response.headers.get("ratelimit-policy")).toMatch(/^"default";q=\d+;w=\d+$/);
    expect(response.headers.get("ratelimit")).toMatch(/^"default";r=\d+;t=\d+$/);
    const stored = await DB.prepare("SELECT hash FROM api_keys").all();
    expect(JSON.stringify(stored.results)).not.toContain(key.secret);
  });

  it("makes a key with fewer scopes, rotates it, revokes it; each holds at once", async () => {
    const { api_key: admin } = await signUp();
    const made = await call("POST", "/v1/api-keys", { key: admin.secret, body: { name: "ci", scopes: ["read"] } });
    const reader = (await made.json()) as { id: string; secret: string };
    expect((await call("GET", "/v1/deposits", { key: reader.secret })).status).toBe(200);
    const refused = await call("POST", "/v1/api-keys", { key: reader.secret, body: { name: "x", scopes: ["admin"] } });
    expect([refused.status, await codeOf(refused)]).toEqual([403, "forbidden"]);

    const path = `/v1/api-keys/${reader.id}`;
    const rotated = await call("POST", `${path}/rotate`, { key: admin.secret, body: { overlap_seconds: 0 } });
    const fresh = (await rotated.json()) as { id: string; secret: string };
    expect(rotated.status).toBe(201);
    expect((await call("GET", "/v1/deposits", { key: reader.secret })).status).toBe(401);
    expect((await call("GET", "/v1/deposits", { key: fresh.secret })).status).toBe(200);

    expect((await call("DELETE", `/v1/api-keys/${fresh.id}`, { key: admin.secret })).status).toBe(204);
    const ended = await call("GET", "/v1/deposits", { key: fresh.secret });
    expect(ended.headers.get("ratelimit")).toBeNull();
    // A key that ended and one that never was give the same answer.
    const { request_id: _a, ...of } = (await ended.json()) as Record<string, unknown>;
    const { request_id: _b, ...never } = (await (await call("GET", "/v1/deposits", { key: "sk_x" })).json()) as Record<
      string,
      unknown
    >;
    expect(of).toEqual(never);
    const list = (await (await call("GET", "/v1/api-keys", { key: admin.secret })).json()) as Page<ApiKeyView>;
    expect(list.data).toHaveLength(3);
    expect(JSON.stringify(list)).not.toContain("sk_");
  });

  it("a replay of a key's creation has the same key and no secret", async () => {
    const { api_key: admin } = await signUp();
    const request = { key: admin.secret, body: { name: "ci", scopes: ["read"] }, headers: { "Idempotency-Key": "k" } };
    const { secret, ...first } = (await (await call("POST", "/v1/api-keys", request)).json()) as Record<
      string,
      unknown
    >;
    expect(secret).toMatch(/^sk_/);
    const again = await call("POST", "/v1/api-keys", request);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await again.json()).toEqual(first);
    const other = await call("POST", "/v1/api-keys", { ...request, body: { name: "ci", scopes: ["admin"] } });
    expect([other.status, await codeOf(other)]).toEqual([422, "idempotency_key_reused"]);
  });
});

describe("sign-up with an Idempotency-Key", () => {
  const headers = { "Idempotency-Key": "k", "CF-Connecting-IP": "192.0.2.7" };

  it("makes one tenant, however often and however much at once it is sent", async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const response = await call("POST", "/v1/tenants", { body: { name: "Acme" }, headers });
        expect(response.status).toBe(201);
        return (await response.json()) as SignedUp;
      }),
    );
    expect(new Set(answers.map(({ tenant }) => tenant.id)).size).toBe(1);
    const secrets = answers.map(({ api_key: key }) => key.secret).filter((secret) => secret !== undefined);
    expect(secrets).toHaveLength(1);
    expect((await call("GET", "/v1/tenant", { key: secrets[0] ?? "" })).status).toBe(200);
    expect(await rows("tenants")).toBe(1);
    expect(await rows("api_keys")).toBe(1);
  });

  it("D1 away: 503, and the retry finishes with a key that opens", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const batch = DB.batch.bind(DB);
    let calls = 0;
    // The claim goes through, the rows do not.
    vi.spyOn(DB, "batch").mockImplementation(async (...args) => {
      calls += 1;
      if (calls === 2) throw new Error("D1_ERROR: Network connection lost.");
      return batch(...args) as never;
    });
    const failed = await call("POST", "/v1/tenants", { body: { name: "Acme" }, headers });
    expect([failed.status, await codeOf(failed)]).toEqual([503, "store_unavailable"]);
    expect(failed.headers.get("retry-after")).toBe("2");
    const { api_key: key } = await signUp(headers);
    expect((await call("GET", "/v1/tenant", { key: key.secret })).status).toBe(200);
  });
});

describe("B130: another tenant's things", () => {
  it("are unknown, with the same body as what never was", async () => {
    const { api_key: ours } = await signUp();
    const { api_key: theirs } = await signUp({}, "Other");
    const made = await call("POST", "/v1/api-keys", { key: theirs.secret, body: { name: "x", scopes: ["read"] } });
    const { id, secret } = (await made.json()) as { id: string; secret: string };
    const never = `key_${"0".repeat(26)}`;
    for (const [method, action] of [
      ["DELETE", ""],
      ["POST", "/rotate"],
    ] as const) {
      const bodies = await Promise.all(
        [id, never].map(async (of) => {
          const response = await call(method, `/v1/api-keys/${of}${action}`, { key: ours.secret });
          expect(response.status).toBe(404);
          const { request_id: _, ...body } = (await response.json()) as Record<string, unknown>;
          return body;
        }),
      );
      expect(bodies[0]).toEqual(bodies[1]);
    }
    expect((await call("GET", "/v1/deposits", { key: secret })).status).toBe(200);
  });

  it("a cursor of theirs opens nothing of theirs", async () => {
    const { api_key: ours } = await signUp();
    const { api_key: theirs } = await signUp({}, "Other");
    for (const name of ["a", "b"]) {
      await call("POST", "/v1/api-keys", { key: theirs.secret, body: { name, scopes: ["read"] } });
    }
    const page = (await (await call("GET", "/v1/api-keys?limit=1", { key: theirs.secret })).json()) as Page<ApiKeyView>;
    const read = await call("GET", `/v1/api-keys?cursor=${page.next_cursor}`, { key: ours.secret });
    const seen = ((await read.json()) as Page<ApiKeyView>).data;
    expect(seen.every(({ id }) => id === ours.id)).toBe(true);
  });
});

describe("bad input, in workerd's own streams and headers", () => {
  it.each([
    ["not JSON", '{"a":', {}, 400, "malformed_json"],
    ["a field twice", '{"name":"a","name":"b"}', {}, 400, "malformed_json"],
    ["too large", `{"name":"${"x".repeat(70_000)}"}`, {}, 413, "payload_too_large"],
    ["not JSON by its type", "{}", { "Content-Type": "text/plain" }, 415, "unsupported_media_type"],
    ["an unknown field", '{"name":"a","admin":true}', {}, 422, "invalid_fields"],
    ["a blank idempotency key", '{"name":"a"}', { "Idempotency-Key": " " }, 400, "invalid_idempotency_key"],
    [
      "an idempotency key that is not ASCII",
      '{"name":"a"}',
      { "Idempotency-Key": "\u00e9" },
      400,
      "invalid_idempotency_key",
    ],
  ])("%s", async (_, body, headers, status, code) => {
    const response = await worker.fetch(
      new Request("https://sluice.test/v1/tenants", {
        method: "POST",
        body,
        headers: { "Content-Type": "application/json", ...headers },
      }),
    );
    expect([response.status, await codeOf(response)]).toEqual([status, code]);
    expect(await rows("tenants")).toBe(0);
  });

  it("a streamed body of unknown length is cut off", async () => {
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        if (pulled > 1_000) controller.close();
        else controller.enqueue(new Uint8Array(4_096).fill(0x20));
      },
    });
    const response = await worker.fetch(
      new Request("https://sluice.test/v1/tenants", {
        method: "POST",
        body: endless,
        headers: { "Content-Type": "application/json" },
      }),
    );
    expect([response.status, await codeOf(response)]).toEqual([413, "payload_too_large"]);
    expect(pulled).toBeLessThan(200);
  });

  it("a wrong checksum of an address, and a chain out of reach, change nothing", async () => {
    const { api_key: key } = await signUp();
    const wrong = { network: "local", address: "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed" };
    const bad = await call("POST", "/v1/addresses", { key: key.secret, body: wrong });
    expect([bad.status, await codeOf(bad)]).toEqual([422, "invalid_address"]);
    expect(await rows("addresses")).toBe(0);

    vi.spyOn(globalThis, "fetch").mockRejectedValue(new Error("connection refused"));
    const away = await call("POST", "/v1/addresses", {
      key: key.secret,
      body: { ...wrong, address: wrong.address.toLowerCase() },
    });
    expect([away.status, await codeOf(away)]).toEqual([503, "chain_unavailable"]);
    expect(away.headers.get("retry-after")).toMatch(/^\d+$/);
  });
});

describe("what an object throws, after its way through RPC", () => {
  it.each([
    [
      "a store that is out of reach",
      new StoreFault("claim address: no answer from D1 in 10000 ms"),
      503,
      "store_unavailable",
    ],
    ["a bug", new Error("a journal does not sum to zero"), 500, "internal_error"],
  ])("%s", async (_, fault, status, code) => {
    const written = vi.spyOn(console, "error").mockImplementation(() => {});
    const { api_key: key } = await signUp();
    vi.spyOn(Tenant.prototype, "getTenant").mockRejectedValue(fault);
    const response = await call("GET", "/v1/tenant", { key: key.secret });
    expect([response.status, await codeOf(response)]).toEqual([status, code]);
    const lines = written.mock.calls.flat().join("\n");
    expect(lines).toContain(fault.message);
    expect(lines).not.toContain(key.secret);
  });
});

describe("refused settings", () => {
  it("serve nothing, not even health, and name no secret", async () => {
    const written = vi.spyOn(console, "error").mockImplementation(() => {});
    const settings = { ...(env as unknown as Env), KEY_PEPPER: "too short 7Qx" };
    for (const path of ["/healthz", "/v1/tenant", "/docs", "/nothing"]) {
      const response = await serve(new Request(`https://sluice.test${path}`), settings);
      expect(response.headers.get("retry-after")).toBe("60");
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
      expect([response.status, await codeOf(response)]).toEqual([503, "store_unavailable"]);
    }
    const lines = written.mock.calls.flat().join("\n");
    expect(lines).toContain("KEY_PEPPER");
    expect(lines).not.toContain("7Qx");
  });
});

describe("the platform's sign-up limiter", () => {
  it("is asked for the client's address, and its no is 429", async () => {
    const asked: unknown[] = [];
    const limit = async (of: unknown) => {
      asked.push(of);
      return { success: false };
    };
    const limited = { ...(env as unknown as Env), SIGNUP_LIMITER: { limit } };
    const headers = { "Content-Type": "application/json", "CF-Connecting-IP": "192.0.2.7" };
    const request = new Request("https://sluice.test/v1/tenants", { method: "POST", body: '{"name":"a"}', headers });
    const response = await serve(request, limited);
    expect([response.status, await codeOf(response)]).toEqual([429, "rate_limited"]);
    expect(asked).toEqual([{ key: "192.0.2.7" }]);
    expect(await rows("tenants")).toBe(0);
  });
});

describe("the service's own calls", () => {
  it("is healthy with its tables, and not without", async () => {
    expect((await call("GET", "/healthz")).status).toBe(200);
    vi.spyOn(console, "error").mockImplementation(() => {});
    await reset();
    const response = await call("GET", "/healthz");
    expect([response.status, await codeOf(response)]).toEqual([503, "store_unavailable"]);
  });

  it("gives its metrics to the operator alone", async () => {
    const { api_key: key } = await signUp();
    expect((await call("GET", "/metrics", { key: key.secret })).status).toBe(401);
    const response = await call("GET", "/metrics", { key: OPERATOR_TOKEN });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('sluice_network_up{network="local"} 0');
  });

  it("describes itself", async () => {
    const document = (await (await call("GET", "/openapi.json")).json()) as { openapi: string; paths: object };
    expect(document.openapi).toBe("3.1.0");
    expect(Object.keys(document.paths).length).toBeGreaterThan(25);
    expect((await call("GET", "/docs")).headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  it("lists its networks", async () => {
    const { api_key: key } = await signUp();
    const response = await call("GET", "/v1/networks", { key: key.secret });
    const { data } = (await response.json()) as Page<{ id: string; status: string; assets: unknown[] }>;
    expect(data.map(({ id }) => id)).toEqual(["local"]);
    expect(data[0]?.assets).toContainEqual({
      network: "local",
      symbol: "ETH",
      contract: null,
      decimals: 18,
      caip19: "eip155:31337/slip44:60",
    });
  });
});
