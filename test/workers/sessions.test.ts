/** Sessions with the real objects: what one opens, and everything that ends it, at once. */

import { env, exports } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { mintSessionToken } from "../../src/core/session-token.ts";
import type { ApiKeyView, Scope, SessionView } from "../../src/core/views.ts";
import type { Env } from "../../src/env.ts";
import type { ApiDocument } from "../../src/http/description/document.ts";
import type { EventWaits } from "../../src/objects/tenant/event-waits.ts";
import { MAX_SESSIONS_OF_KEY } from "../../src/objects/tenant/sessions.ts";
import { contractOf } from "../support/contract.ts";
import { call, Merchant } from "./line.ts";

const { KEY_PEPPER } = env as unknown as Env;
const { default: worker } = exports as unknown as { default: Fetcher };
const contract = contractOf((await (await worker.fetch("https://sluice.test/openapi.json")).json()) as ApiDocument);

const HOUR_MS = 3_600_000;
const ORIGIN = "https://sluice.test";
let merchant: Merchant;

beforeEach(async () => {
  merchant = await Merchant.signUp();
  await setClock(() => Date.now());
});

/** The edge has the clock of the day; so has the object, or one that is set off against it. */
const setClock = (clock: () => number) =>
  merchant.inside((object) => {
    object.clock = clock;
  });

interface SignedIn {
  readonly session: SessionView;
  readonly cookie: string;
  readonly maxAgeS: number;
}

async function signIn(key = merchant.key, headers: Record<string, string> = {}): Promise<SignedIn> {
  const response = await call("POST", "/v1/session", { key, headers });
  expect(response.status).toBe(201);
  const [, cookie = "", maxAge] =
    /^(__Host-sluice=ses_\w+); Max-Age=(\d+); Path=\/; HttpOnly; Secure; SameSite=Strict$/.exec(
      response.headers.get("set-cookie") ?? "",
    ) ?? [];
  await expectAsDescribed("POST", response.clone());
  return { session: await response.json(), cookie, maxAgeS: Number(maxAge) };
}

async function expectAsDescribed(method: string, response: Response): Promise<void> {
  const text = await response.text();
  const body = text === "" ? "" : JSON.parse(text);
  const { status, headers } = response;
  expect(contract.violations(method, "/v1/session", { status, headers, body })).toEqual([]);
}

/** As a browser does it. */
const by = (cookie: string, method: string, path: string, body?: object) =>
  call(method, path, { headers: { Cookie: cookie, Origin: ORIGIN }, ...(body === undefined ? {} : { body }) });
const opens = async (cookie: string) => (await by(cookie, "GET", "/v1/tenant")).status;
const rows = () => merchant.inside((_, sql) => sql.exec("SELECT * FROM sessions").toArray());

async function makeKey(scopes: Scope[], more: object = {}): Promise<ApiKeyView & { secret: string }> {
  const response = await merchant.call("POST", "/v1/api-keys", { body: { name: "a key", scopes, ...more } });
  expect(response.status).toBe(201);
  return response.json();
}

describe("a session", () => {
  it("is its key: tenant, scopes, and one count of requests for both", async () => {
    const before = Date.now();
    const { session, cookie, maxAgeS } = await signIn();
    const left = Date.parse(session.expires_at) - before;
    expect(left).toBeGreaterThanOrEqual(12 * HOUR_MS);
    expect(left).toBeLessThan(12 * HOUR_MS + 30_000);
    expect([43_200, 43_201]).toContain(maxAgeS);
    expect(session).toMatchObject({ tenant: { id: merchant.id }, api_key: { id: merchant.keyId, scopes: ["admin"] } });
    expect(JSON.stringify(session)).not.toMatch(/secret|ses_/);

    const shown = await by(cookie, "GET", "/v1/session");
    await expectAsDescribed("GET", shown.clone());
    expect(await shown.json()).toEqual(session);
    const made = await by(cookie, "POST", "/v1/api-keys", { name: "by session", scopes: ["read"] });
    expect(made.status).toBe(201);

    const leftOf = (response: Response) => Number(/r=(\d+)/.exec(response.headers.get("ratelimit") ?? "")?.[1]);
    const first = leftOf(await by(cookie, "GET", "/v1/tenant"));
    expect(leftOf(await merchant.call("GET", "/v1/tenant"))).toBe(first - 1);
    expect(leftOf(await by(cookie, "GET", "/v1/tenant"))).toBe(first - 2);
  });

  it("of a key that only reads cannot write, and a key that does not read opens none", async () => {
    const reader = await makeKey(["read"]);
    const { cookie } = await signIn(reader.secret);
    expect((await by(cookie, "GET", "/v1/deposits")).status).toBe(200);
    for (const [method, path, body] of [
      ["POST", "/v1/backfills", { network: "local", from_height: 1, to_height: 2 }],
      ["POST", "/v1/api-keys", { name: "x", scopes: ["admin"] }],
      ["DELETE", `/v1/api-keys/${reader.id}`, undefined],
    ] as const)
      expect([path, (await by(cookie, method, path, body)).status]).toEqual([path, 403]);
    const writer = await makeKey(["addresses:write"]);
    const refused = await call("POST", "/v1/session", { key: writer.secret });
    expect([refused.status, refused.headers.has("set-cookie")]).toEqual([403, false]);
    expect(await rows()).toHaveLength(1);
  });

  it("is stored as a hash alone, once however often its object is told", async () => {
    const { cookie } = await signIn();
    const [row] = await rows();
    expect(JSON.stringify(row)).not.toMatch(/ses_/);
    expect(row).toMatchObject({ hash: expect.stringMatching(/^[0-9a-f]{64}$/), key_id: merchant.keyId });
    const keyHash = await merchant.inside((_, sql) => String(sql.exec("SELECT hash FROM api_keys").one().hash));
    const caller = { tenantId: merchant.id, keyHash, requestId: "req" };
    await merchant.inside((object) => object.createSession(caller, String(row?.hash)));
    expect(await rows()).toEqual([row]);
    expect(await opens(cookie)).toBe(200);
  });

  it("that was never opened is refused like a forged one, though its checksum holds", async () => {
    const { secret } = mintSessionToken(merchant.id, new Uint8Array(20).fill(1), KEY_PEPPER);
    const texts = await Promise.all(
      [secret, "forged"].map(async (token) => {
        const response = await by(`__Host-sluice=${token}`, "GET", "/v1/tenant");
        const { request_id: _, ...body } = (await response.json()) as Record<string, unknown>;
        return { status: response.status, body };
      }),
    );
    expect(texts[0]).toEqual(texts[1]);
    expect(texts[0]?.status).toBe(401);
  });
});

describe("it ends at once", () => {
  it("by sign-out, which other sessions survive, and which may be repeated", async () => {
    const [one, other] = [await signIn(), await signIn()];
    const out = await by(one.cookie, "DELETE", "/v1/session");
    expect(out.headers.get("set-cookie")).toMatch(/^__Host-sluice=; Max-Age=0; /);
    await expectAsDescribed("DELETE", out);
    expect([await opens(one.cookie), await opens(other.cookie)]).toEqual([401, 200]);
    await merchant.evict();
    await setClock(() => Date.now());
    expect([await opens(one.cookie), await opens(other.cookie)]).toEqual([401, 200]);
    expect((await by(one.cookie, "DELETE", "/v1/session")).status).toBe(204);
    expect((await merchant.call("GET", "/v1/tenant")).status).toBe(200);
  });

  it("not by a page of another port", async () => {
    const { cookie } = await signIn();
    const headers = { Cookie: cookie, Origin: "https://sluice.test:3000" };
    expect((await call("DELETE", "/v1/session", { headers })).status).toBe(403);
    expect(await opens(cookie)).toBe(200);
  });

  it("when its key is revoked, by the session itself too; signing out goes on working", async () => {
    const { id, secret } = await makeKey(["admin"]);
    const { cookie } = await signIn(secret);
    expect((await by(cookie, "DELETE", `/v1/api-keys/${id}`)).status).toBe(204);
    expect(await opens(cookie)).toBe(401);
    expect((await by(cookie, "GET", "/v1/session")).status).toBe(401);
    expect((await by(cookie, "DELETE", "/v1/session")).status).toBe(204);
  });

  it("when its key was rotated and the overlap is over; until then it says so", async () => {
    const { id, secret } = await makeKey(["read"]);
    const { cookie } = await signIn(secret);
    const at = Date.now();
    await setClock(() => at);
    await merchant.call("POST", `/v1/api-keys/${id}/rotate`, { body: { overlap_seconds: 60 } });
    const shown = (await (await by(cookie, "GET", "/v1/session")).json()) as SessionView;
    expect(Date.parse(shown.expires_at)).toBe(at + 60_000);
    await setClock(() => at + 59_999);
    expect(await opens(cookie)).toBe(200);
    await setClock(() => at + 60_000);
    expect(await opens(cookie)).toBe(401);
  });

  it("when its key expires, and the cookie is not kept for longer", async () => {
    const endsAt = Date.now() + HOUR_MS;
    const { secret } = await makeKey(["read"], { expires_at: new Date(endsAt).toISOString() });
    const { session, cookie, maxAgeS } = await signIn(secret);
    expect(Date.parse(session.expires_at)).toBe(endsAt);
    expect(maxAgeS).toBeLessThanOrEqual(3_601);
    await setClock(() => endsAt - 1);
    expect(await opens(cookie)).toBe(200);
    await setClock(() => endsAt);
    expect(await opens(cookie)).toBe(401);
  });

  it("after 12 hours to the millisecond, and is forgotten when the next one is made", async () => {
    const { session, cookie } = await signIn();
    const endsAt = Date.parse(session.expires_at);
    await setClock(() => endsAt - 1);
    expect(await opens(cookie)).toBe(200);
    await setClock(() => endsAt);
    expect(await opens(cookie)).toBe(401);
    expect(await rows()).toHaveLength(1);
    await call("POST", "/v1/session", { key: merchant.key });
    expect((await rows()).map(({ created_at }) => created_at)).toEqual([endsAt]);
  });

  it("for a call that waits for events", async () => {
    const { cookie } = await signIn();
    const heard = by(cookie, "GET", "/v1/events?after=0&wait=1");
    const waits = () => merchant.inside((object) => (object as unknown as { eventWaits: EventWaits }).eventWaits.size);
    await vi.waitFor(async () => expect(await waits()).toBe(1), { interval: 10, timeout: 5_000 });
    await by(cookie, "DELETE", "/v1/session");
    expect((await heard).status).toBe(401);
  });
});

it("of one key the newest sessions hold, however many are opened; another key's are not touched", async () => {
  const reader = await makeKey(["read"]);
  const { cookie: others } = await signIn(reader.secret);
  let at = Date.now();
  await setClock(() => at++);
  const cookies: string[] = [];
  // One idempotency key for all of them: each is a session of its own all the same.
  for (let i = 0; i < MAX_SESSIONS_OF_KEY + 2; i++)
    cookies.push((await signIn(merchant.key, { "Idempotency-Key": "k" })).cookie);
  expect(new Set(cookies).size).toBe(cookies.length);
  expect(await rows()).toHaveLength(MAX_SESSIONS_OF_KEY + 1);
  const states = await Promise.all([others, ...cookies.slice(0, 3), cookies.at(-1) ?? ""].map(opens));
  expect(states).toEqual([200, 401, 401, 200, 200]);
});
