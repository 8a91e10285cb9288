/**
 * Sessions at the edge: the cookie to the letter, who may call with it, and that its token is nowhere else. A refused
 * cookie reaches nothing.
 */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { mintSessionToken, readSessionToken } from "../../src/core/session-token.ts";
import {
  API_KEY,
  BY_SESSION,
  fakeApp,
  given,
  keyed,
  OPERATOR_TOKEN,
  type Options,
  PEPPER,
  problemOf,
  RATE,
  SESSION_TOKEN,
  TENANT_ID,
} from "../support/http-app.ts";

const NOW = Date.parse("2026-06-01T00:00:00.000Z");
const HOUR_MS = 3_600_000;
const ID = "01h455vb4pex5vsknk084sn02q";
const { Cookie: COOKIE, Origin: OWN } = BY_SESSION;
/** No platform that names the client, and a client that names nothing. */
const NOBODY = { address: null, userAgent: null };
const SESSION_HASH = readSessionToken(SESSION_TOKEN, PEPPER)?.hash ?? "";

const written: string[] = [];
beforeEach(() => {
  written.length = 0;
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, method).mockImplementation((...args: unknown[]) => void written.push(args.map(String).join(" ")));
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  expect(written.join("\n")).not.toMatch(/(sk|ses)_[0-9a-z]/);
});

const sessionUntil = (expiresAt: number) => ({
  tenant: { id: TENANT_ID, name: "Acme", email: null, created_at: "2026-05-01T00:00:00.000Z" },
  api_key: {
    id: `key_${ID}`,
    name: "default",
    scopes: ["admin"],
    created_at: "2026-05-01T00:00:00.000Z",
    expires_at: null,
    revoked_at: null,
  },
  expires_at: new Date(expiresAt).toISOString(),
  event_sequence: 0,
});
const signsIn = (leftMs: number): Options => ({
  tenant: { createSession: async () => given(sessionUntil(NOW + leftMs), { created: true }) },
});
const tokenIn = (response: Response) => /ses_\w+/.exec(response.headers.get("set-cookie") ?? "")?.[0] ?? "";

describe("sign-in", () => {
  test("sets the cookie to the letter, with a token that opens; the object gets its hash", async () => {
    const { app, calls } = fakeApp(signsIn(12 * HOUR_MS));
    const response = await app.request("/v1/session", keyed("POST"));
    expect(response.status).toBe(201);
    const token = tokenIn(response);
    expect(response.headers.getSetCookie()).toEqual([
      `__Host-sluice=${token}; Max-Age=43200; Path=/; HttpOnly; Secure; SameSite=Strict`,
    ]);
    const read = readSessionToken(token, PEPPER);
    expect(read?.tenantId).toBe(TENANT_ID);
    expect(calls.map(({ id, method, args }) => [id, method, args[1]])).toEqual([
      [TENANT_ID, "createSession", read?.hash],
    ]);
    expect(calls[0]?.args[0]).toMatchObject({ keyHash: expect.stringMatching(/^[0-9a-f]{64}$/) });

    // The token is there and nowhere else: not in the body, not in another header, not in what the object was told.
    expect(await response.json()).toEqual(sessionUntil(NOW + 12 * HOUR_MS));
    const others = [...response.headers].filter(([name]) => name !== "set-cookie");
    expect(JSON.stringify([others, calls])).not.toContain("ses_");
  });

  test.each([
    ["ends sooner with its key", 90_500, 91],
    ["has ended by the edge's clock", -5_000, 0],
  ])("a session that %s: the cookie does too", async (_, leftMs, maxAge) => {
    const response = await fakeApp(signsIn(leftMs)).app.request("/v1/session", keyed("POST"));
    expect(response.headers.get("set-cookie")).toContain(`; Max-Age=${maxAge}; `);
  });

  test("repeated with its Idempotency-Key it is another session, with a cookie that opens", async () => {
    const { app, calls } = fakeApp(signsIn(12 * HOUR_MS));
    const init = keyed("POST", {}, { "Idempotency-Key": "k" });
    const tokens = [await app.request("/v1/session", init), await app.request("/v1/session", init)].map(tokenIn);
    expect(new Set(tokens).size).toBe(2);
    expect(calls.map(({ args }) => args[1])).toEqual(tokens.map((token) => readSessionToken(token, PEPPER)?.hash));
  });

  test.each(["unauthorized", "forbidden", "rate_limited"])("refused with %s it sets no cookie", async (code) => {
    const refusal = { code, detail: "why" };
    const createSession = async () => ({ ok: false, refusal, rate: code === "unauthorized" ? null : RATE });
    const response = await fakeApp({ tenant: { createSession } }).app.request("/v1/session", keyed("POST"));
    expect((await problemOf(response)).code).toBe(code);
    expect(response.headers.has("set-cookie")).toBe(false);
  });

  test("a session makes no session, from its own page neither", async () => {
    const { app, calls } = fakeApp(signsIn(12 * HOUR_MS));
    const response = await app.request("/v1/session", { method: "POST", headers: BY_SESSION });
    expect((await problemOf(response)).code).toBe("unauthorized");
    expect(response.headers.has("set-cookie")).toBe(false);
    expect(calls).toEqual([]);
  });
});

describe("sign-out", () => {
  test("ends the session and takes the cookie back, to the letter", async () => {
    const { app, calls } = fakeApp({ tenant: { endSession: async () => undefined } });
    const response = await app.request("/v1/session", { method: "DELETE", headers: BY_SESSION });
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(response.headers.getSetCookie()).toEqual([
      "__Host-sluice=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Strict",
    ]);
    expect(calls.map(({ method, args }) => [method, args])).toEqual([
      [
        "endSession",
        [{ tenantId: TENANT_ID, sessionHash: SESSION_HASH, requestId: expect.any(String), client: NOBODY }],
      ],
    ]);
  });

  test("that did not happen leaves the cookie, and the log says nothing of it", async () => {
    const endSession = async () => {
      throw new Error(`no row for ${SESSION_TOKEN} of ${COOKIE}`);
    };
    const { app } = fakeApp({ tenant: { endSession } });
    const response = await app.request("/v1/session", { method: "DELETE", headers: BY_SESSION });
    expect((await problemOf(response)).code).toBe("internal_error");
    expect(response.headers.has("set-cookie")).toBe(false);
    expect(written.join()).toContain("no row for ses_***");
  });

  test.each(["GET", "DELETE"])("%s is not opened by an API key", async (method) => {
    const { app, calls } = fakeApp();
    const headers = { ...BY_SESSION, Authorization: `Bearer ${API_KEY}` };
    expect((await problemOf(await app.request("/v1/session", { method, headers }))).code).toBe("unauthorized");
    expect(calls).toEqual([]);
  });
});

describe("calls with the cookie", () => {
  const getTenant = async () => given({ id: TENANT_ID });

  test("are made as the session, among other cookies too", async () => {
    for (const cookie of [COOKIE, `a=b; ${COOKIE}; theme=dark`]) {
      const { app, calls } = fakeApp({ tenant: { getTenant } });
      const response = await app.request("/v1/tenant", { headers: { Cookie: cookie } });
      expect(response.status).toBe(200);
      expect(response.headers.has("ratelimit")).toBe(true);
      expect(response.headers.has("set-cookie")).toBe(false);
      expect(calls).toEqual([
        {
          to: "tenant",
          id: TENANT_ID,
          method: "getTenant",
          args: [
            {
              tenantId: TENANT_ID,
              sessionHash: SESSION_HASH,
              requestId: response.headers.get("x-request-id"),
              client: NOBODY,
            },
          ],
        },
      ]);
    }
  });

  test("HEAD is GET without its body, from anywhere", async () => {
    const { app } = fakeApp({ tenant: { getTenant, getSession: async () => given(sessionUntil(NOW)) } });
    for (const path of ["/v1/tenant", "/v1/session"]) {
      const headers = { Cookie: COOKIE, Origin: "https://elsewhere.example" };
      const response = await app.request(path, { method: "HEAD", headers });
      expect([response.status, await response.text()]).toEqual([200, ""]);
    }
  });

  const foreign = mintSessionToken(TENANT_ID, new Uint8Array(20).fill(11), `${PEPPER}!`).secret;
  const tampered = SESSION_TOKEN.slice(0, 40) + (SESSION_TOKEN[40] === "0" ? "1" : "0") + SESSION_TOKEN.slice(41);
  test.each([
    ["empty", "__Host-sluice="],
    ["forged", `__Host-sluice=${SESSION_TOKEN.slice(0, -1)}${SESSION_TOKEN.endsWith("0") ? "1" : "0"}`],
    ["tampered with", `__Host-sluice=${tampered}`],
    ["cut", `__Host-sluice=${SESSION_TOKEN.slice(0, -1)}`],
    ["of another pepper", `__Host-sluice=${foreign}`],
    ["an API key", `__Host-sluice=${API_KEY}`],
    ["the operator's token", `__Host-sluice=${OPERATOR_TOKEN}`],
    ["without the prefix that browsers guard", `sluice=${SESSION_TOKEN}`],
    ["with another prefix", `__Secure-sluice=${SESSION_TOKEN}`],
    ["of a name in other letters", `__host-sluice=${SESSION_TOKEN}`],
  ])("%s: 401, and nobody was asked", async (_, cookie) => {
    const { app, calls } = fakeApp();
    for (const [method, path] of [
      ["GET", "/v1/tenant"],
      ["GET", "/v1/session"],
      ["DELETE", "/v1/session"],
      ["POST", "/v1/addresses"],
    ] as const) {
      const response = await app.request(path, { method, headers: { Cookie: cookie, Origin: OWN } });
      expect((await problemOf(response)).code).toBe("unauthorized");
      expect(response.headers.has("set-cookie")).toBe(false);
    }
    expect(calls).toEqual([]);
  });

  test("a session's token is no bearer token, and opens nothing of the operator's", async () => {
    const { app, calls } = fakeApp();
    const bearer = { headers: { Authorization: `Bearer ${SESSION_TOKEN}` } };
    expect((await app.request("/v1/tenant", bearer)).status).toBe(401);
    expect((await app.request("/metrics", { headers: BY_SESSION })).status).toBe(401);
    expect(calls).toEqual([]);
  });
});

describe("an Authorization header always wins", () => {
  test("with its key, and then no Origin is asked for", async () => {
    const createBackfill = async () => given({ id: "bf" }, { created: true });
    const { app, calls } = fakeApp({ tenant: { createBackfill } });
    const body = { network: "local", from_height: 1, to_height: 2 };
    const init = keyed("POST", body, { Cookie: COOKIE, Origin: "https://elsewhere.example" });
    expect((await app.request("/v1/backfills", init)).status).toBe(202);
    expect(calls[0]?.args[0]).toEqual({
      tenantId: TENANT_ID,
      keyHash: expect.any(String),
      requestId: expect.any(String),
      client: NOBODY,
    });
  });

  test.each(["", "Bearer", `Basic ${API_KEY}`, `Bearer ${API_KEY.slice(0, -1)}`, `Bearer ${SESSION_TOKEN}`])(
    "also when it opens nothing: %j",
    async (authorization) => {
      const { app, calls } = fakeApp();
      const headers = { ...BY_SESSION, Authorization: authorization };
      expect((await app.request("/v1/tenant", { headers })).status).toBe(401);
      expect(calls).toEqual([]);
    },
  );
});

describe("a change needs the service's own Origin", () => {
  const changes: [string, string, unknown][] = [
    ["POST", "/v1/backfills", { network: "local", from_height: 1, to_height: 2 }],
    ["PUT", "/v1/policies/confirmations/local", {}],
    ["PATCH", `/v1/webhook-endpoints/we_${ID}`, { description: "d" }],
    ["DELETE", `/v1/api-keys/key_${ID}`, undefined],
    ["DELETE", "/v1/session", undefined],
  ];
  const done = async () => given({ id: "one" });
  const tenant = {
    createBackfill: done,
    putConfirmations: done,
    updateEndpoint: done,
    revokeApiKey: async () => given(null),
    endSession: async () => undefined,
  };
  const asked = (method: string, body: unknown, origin: string | null): RequestInit => {
    const { Authorization: _, ...headers } = keyed(method, body).headers as Record<string, string>;
    return {
      ...keyed(method, body),
      headers: { ...headers, Cookie: COOKIE, ...(origin === null ? {} : { Origin: origin }) },
    };
  };

  test.each([
    ["http://127.0.0.1:8787", "none", null],
    ["http://127.0.0.1:8787", "an opaque one", "null"],
    ["http://127.0.0.1:8787", "an empty one", ""],
    ["http://127.0.0.1:8787", "another port", "http://127.0.0.1:3000"],
    ["http://127.0.0.1:8787", "no port", "http://127.0.0.1"],
    ["http://127.0.0.1:8787", "another scheme", "https://127.0.0.1:8787"],
    ["http://127.0.0.1:8787", "another name of the same host", "http://localhost:8787"],
    ["https://sluice.example", "another scheme", "http://sluice.example"],
    ["https://sluice.example", "a host below", "https://evil.sluice.example"],
    ["https://sluice.example", "a host that begins alike", "https://sluice.example.evil.test"],
    ["https://sluice.example", "two", "https://sluice.example, https://evil.test"],
    ["https://sluice.example", "one with a path", "https://sluice.example/"],
    ["https://sluice.example", "any", "*"],
  ])("at %s, %s is refused", async (base, _, origin) => {
    const { app, calls } = fakeApp({ tenant });
    for (const [method, path, body] of changes) {
      const response = await app.request(`${base}${path}`, asked(method, body, origin));
      expect(response.status).toBe(403);
      expect(response.headers.has("set-cookie")).toBe(false);
      expect(await problemOf(response)).toMatchObject({ code: "forbidden", retryable: false });
    }
    expect(calls).toEqual([]);
  });

  test.each([
    "http://127.0.0.1:8787",
    "http://localhost:8787",
    "https://sluice.example",
    "https://sluice.example:8443",
  ])("at %s its own passes", async (base) => {
    const { app, calls } = fakeApp({ tenant });
    for (const [method, path, body] of changes) {
      const response = await app.request(`${base}${path}`, asked(method, body, base));
      expect([path, response.ok]).toEqual([path, true]);
    }
    expect(calls.map(({ args }) => args[0])).toEqual(
      changes.map(() => ({
        tenantId: TENANT_ID,
        sessionHash: SESSION_HASH,
        requestId: expect.any(String),
        client: NOBODY,
      })),
    );
  });
});

test("no other origin is let in: no answer has a header of CORS, and a preflight is refused", async () => {
  const { app } = fakeApp({ ...signsIn(HOUR_MS), networks: [] });
  const from = { ...BY_SESSION, Origin: "https://elsewhere.example" };
  const preflight = {
    ...from,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization",
  };
  const answers = [
    await app.request("/v1/session", { method: "OPTIONS", headers: preflight }),
    await app.request("/v1/session", keyed("POST", {}, { Origin: "https://elsewhere.example" })),
    await app.request("/v1/session", { method: "DELETE", headers: from }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([405, 201, 403]);
  for (const { headers } of answers) {
    expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    expect(headers.get("cache-control")).toBe("no-store");
  }
});
