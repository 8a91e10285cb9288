/** Good input: what each route hands to the tenant's object, and what becomes of the object's answer. */

import { describe, expect, test } from "vitest";
import { REFUSALS, type RefusalCode } from "../../src/core/refusal.ts";
import { fakeApp, given, keyed, problemOf, RATE, TENANT_ID } from "../support/http-app.ts";

const ID = "01h455vb4pex5vsknk084sn02q";
const MAX = Number.MAX_SAFE_INTEGER;
const CALLER = {
  tenantId: TENANT_ID,
  keyHash: expect.stringMatching(/^[0-9a-f]{64}$/),
  requestId: expect.stringMatching(/^req_/),
};
const FIRST_PAGE = { limit: 50, cursor: null };
const RULES = { default: null, assets: {} };

/** method, path, body, the object's method, its arguments after the caller, status. */
const table: [string, string, unknown, string, unknown[], number][] = [
  ["GET", "/v1/tenant", undefined, "getTenant", [], 200],
  ["GET", "/v1/api-keys", undefined, "listApiKeys", [FIRST_PAGE], 200],
  ["DELETE", `/v1/api-keys/key_${ID}`, undefined, "revokeApiKey", [`key_${ID}`], 204],
  [
    "POST",
    "/v1/assets",
    { network: "local", contract: "0xAb" },
    "createAsset",
    [{ network: "local", contract: "0xAb", symbol: null }, null],
    201,
  ],
  [
    "POST",
    "/v1/assets",
    { network: "local", contract: "0xAb", symbol: "USD₮0" },
    "createAsset",
    [{ network: "local", contract: "0xAb", symbol: "USD₮0" }, null],
    201,
  ],
  [
    "POST",
    "/v1/addresses",
    { network: "local", address: "0XABC" },
    "createAddress",
    [{ network: "local", address: "0XABC", account: "default", label: null, metadata: {}, startHeight: null }, null],
    201,
  ],
  [
    "POST",
    "/v1/addresses",
    {
      network: "local",
      address: "a",
      account: "Ümit 7",
      label: "l",
      metadata: { order: "17", constructor: "x" },
      start_height: 0,
    },
    "createAddress",
    [
      {
        network: "local",
        address: "a",
        account: "Ümit 7",
        label: "l",
        metadata: { order: "17", constructor: "x" },
        startHeight: 0,
      },
      null,
    ],
    201,
  ],
  [
    "GET",
    "/v1/addresses?network=local&account=a%20b&limit=200&cursor=abc",
    undefined,
    "listAddresses",
    [
      { network: "local", account: "a b" },
      { limit: 200, cursor: "abc" },
    ],
    200,
  ],
  ["GET", `/v1/addresses/addr_${ID}`, undefined, "getAddress", [`addr_${ID}`], 200],
  ["DELETE", `/v1/addresses/addr_${ID}`, undefined, "deleteAddress", [`addr_${ID}`], 204],
  ["GET", "/v1/deposits", undefined, "listDeposits", [{}, FIRST_PAGE], 200],
  [
    "GET",
    "/v1/deposits?network=local&account=a&address=0xA&asset=ETH&status=settled&tx_id=0xf&limit=1",
    undefined,
    "listDeposits",
    [
      { network: "local", account: "a", address: "0xA", asset: "ETH", status: "settled", tx_id: "0xf" },
      { limit: 1, cursor: null },
    ],
    200,
  ],
  ["GET", `/v1/deposits/dep_${ID}`, undefined, "getDeposit", [`dep_${ID}`], 200],
  [
    "GET",
    "/v1/balances?account=a&asset=ETH",
    undefined,
    "listBalances",
    [{ account: "a", asset: "ETH" }, FIRST_PAGE],
    200,
  ],
  ["GET", "/v1/ledger/entries?network=local", undefined, "listLedgerEntries", [{ network: "local" }, FIRST_PAGE], 200],
  ["GET", "/v1/events", undefined, "listEvents", [{ after: 0, types: null }, 50], 200],
  [
    "GET",
    "/v1/events?after=17&limit=7&types=deposit.confirmed,deposit.reverted",
    undefined,
    "listEvents",
    [{ after: 17, types: ["deposit.confirmed", "deposit.reverted"] }, 7],
    200,
  ],
  ["GET", `/v1/events?cursor=${MAX}`, undefined, "listEvents", [{ after: MAX, types: null }, 50], 200],
  ["GET", `/v1/events/evt_${ID}`, undefined, "getEvent", [`evt_${ID}`], 200],
  [
    "POST",
    "/v1/webhook-endpoints",
    { url: "https://a.example/" },
    "createEndpoint",
    [{ url: "https://a.example/", events: null, description: null }, null],
    201,
  ],
  ["GET", "/v1/webhook-endpoints?limit=3", undefined, "listEndpoints", [{ limit: 3, cursor: null }], 200],
  ["GET", `/v1/webhook-endpoints/we_${ID}`, undefined, "getEndpoint", [`we_${ID}`], 200],
  ["PATCH", `/v1/webhook-endpoints/we_${ID}`, { events: null }, "updateEndpoint", [`we_${ID}`, { events: null }], 200],
  [
    "PATCH",
    `/v1/webhook-endpoints/we_${ID}`,
    { url: "u", events: ["webhook.test"], description: null },
    "updateEndpoint",
    [`we_${ID}`, { url: "u", events: ["webhook.test"], description: null }],
    200,
  ],
  ["DELETE", `/v1/webhook-endpoints/we_${ID}`, undefined, "deleteEndpoint", [`we_${ID}`], 204],
  [
    "POST",
    `/v1/webhook-endpoints/we_${ID}/rotate-secret`,
    undefined,
    "rotateEndpointSecret",
    [`we_${ID}`, 86_400, null],
    200,
  ],
  [
    "POST",
    `/v1/webhook-endpoints/we_${ID}/rotate-secret`,
    { overlap_seconds: 0 },
    "rotateEndpointSecret",
    [`we_${ID}`, 0, null],
    200,
  ],
  ["POST", `/v1/webhook-endpoints/we_${ID}/enable`, undefined, "enableEndpoint", [`we_${ID}`], 200],
  ["POST", `/v1/webhook-endpoints/we_${ID}/test`, {}, "testEndpoint", [`we_${ID}`, null], 202],
  [
    "POST",
    `/v1/webhook-endpoints/we_${ID}/replay`,
    { after_sequence: 0 },
    "replayEvents",
    [`we_${ID}`, { afterSequence: 0 }, null],
    202,
  ],
  [
    "POST",
    `/v1/webhook-endpoints/we_${ID}/replay`,
    { since: "2026-01-01T01:00:00+01:00" },
    "replayEvents",
    [`we_${ID}`, { since: Date.UTC(2026, 0, 1) }, null],
    202,
  ],
  [
    "GET",
    `/v1/webhook-endpoints/we_${ID}/deliveries?status=given_up`,
    undefined,
    "listDeliveries",
    [`we_${ID}`, { status: "given_up" }, FIRST_PAGE],
    200,
  ],
  [
    "POST",
    "/v1/backfills",
    { network: "local", from_height: 5, to_height: 5 },
    "createBackfill",
    [{ network: "local", fromHeight: 5, toHeight: 5 }, null],
    202,
  ],
  ["GET", `/v1/backfills/bf_${ID}`, undefined, "getBackfill", [`bf_${ID}`], 200],
  ["GET", "/v1/policies", undefined, "getPolicies", [], 200],
  ["PUT", "/v1/policies/confirmations/local", {}, "putConfirmations", ["local", RULES], 200],
  [
    "PUT",
    "/v1/policies/confirmations/local",
    { default: 12, assets: { USDC: { amounts: [{ from: "1000.50", confirmations: "finalized" }] } } },
    "putConfirmations",
    [
      "local",
      { default: 12, assets: { USDC: { default: null, amounts: [{ from: "1000.50", confirmations: "finalized" }] } } },
    ],
    200,
  ],
];

describe.each(table)("%s %s %j", (method, path, body, call, args, status) => {
  test(`is ${call} and ${status}`, async () => {
    const value = { id: "the object", next_cursor: null };
    const answer = given(status === 204 ? null : value, { created: true });
    const { app, calls } = fakeApp({ tenant: { [call]: async () => answer } });
    const response = await app.request(path, keyed(method, body));
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(status === 204 ? "" : JSON.stringify(value));
    expect(calls).toEqual([{ to: "tenant", id: TENANT_ID, method: call, args: [CALLER, ...args] }]);
    expect(response.headers.get("ratelimit-policy")).toBe(`"default";q=${RATE.limit};w=${RATE.windowS}`);
    expect(response.headers.get("ratelimit")).toBe(`"default";r=${RATE.remaining};t=${RATE.resetS}`);
    expect(response.headers.get("idempotent-replayed")).toBeNull();
  });
});

describe("201 or 200", () => {
  const body = { network: "local", address: "0xab", contract: "0xab" };
  test.each([
    ["/v1/addresses", "createAddress", { network: body.network, address: body.address }],
    ["/v1/assets", "createAsset", { network: body.network, contract: body.contract }],
  ])("%s: what was there already is 200", async (path, call, input) => {
    for (const [marks, status] of [
      [{ created: true }, 201],
      [{ created: false }, 200],
      [{ created: true, replayed: true }, 201],
    ] as const) {
      const { app } = fakeApp({ tenant: { [call]: async () => given({}, marks) } });
      expect((await app.request(path, keyed("POST", input))).status).toBe(status);
    }
  });
});

test("a replay says so", async () => {
  const { app } = fakeApp({ tenant: { createBackfill: async () => given({ id: "bf" }, { replayed: true }) } });
  const body = { network: "local", from_height: 1, to_height: 2 };
  const response = await app.request("/v1/backfills", keyed("POST", body, { "Idempotency-Key": "k" }));
  expect(response.status).toBe(202);
  expect(response.headers.get("idempotent-replayed")).toBe("true");
});

describe("what the object refuses", () => {
  const codes = Object.keys(REFUSALS) as RefusalCode[];
  test.each(codes)("%s becomes a problem of its status", async (code) => {
    const errors = [{ path: "a.b", message: "m" }];
    const refusal = { code, detail: "why", errors, retryAfterS: 9 };
    const { app } = fakeApp({ tenant: { getTenant: async () => ({ ok: false, refusal, rate: RATE }) } });
    const response = await app.request("/v1/tenant", keyed("GET"));
    const problem = await problemOf(response);
    expect(response.status).toBe(REFUSALS[code]);
    expect(problem).toMatchObject({ code, status: REFUSALS[code], type: `/docs#problem-${code}` });
    expect(problem.retryable).toBe([429, 500, 503].includes(response.status));
    expect(response.headers.get("retry-after")).toBe([429, 503].includes(response.status) ? "9" : null);
    expect(response.headers.get("ratelimit")).toBe('"default";r=41;t=17');
    // What must not tell callers apart has one fixed text, and nothing beside it.
    const fixed = code === "unauthorized" || code === "not_found";
    expect(problem.detail === "why").toBe(!fixed);
    expect(problem.errors).toEqual(fixed ? undefined : errors);
  });

  test("Retry-After falls back to the window of the rate, then to a little", async () => {
    const refused = (code: string, rate: object | null) =>
      fakeApp({ tenant: { getTenant: async () => ({ ok: false, refusal: { code, detail: "d" }, rate }) } });
    const limited = await refused("rate_limited", RATE).app.request("/v1/tenant", keyed("GET"));
    expect(limited.headers.get("retry-after")).toBe("17");
    const unavailable = await refused("store_unavailable", null).app.request("/v1/tenant", keyed("GET"));
    expect(unavailable.headers.get("retry-after")).toBe("2");
    expect(unavailable.headers.get("ratelimit")).toBeNull();
  });

  test("B130: unknown and another tenant's are one answer, at the edge and from the object", async () => {
    const tenant = {
      getDeposit: async () => ({ ok: false, refusal: { code: "not_found", detail: "belongs to ten_x" }, rate: RATE }),
    };
    const { app } = fakeApp({ tenant });
    const bodies = await Promise.all(
      [`/v1/deposits/dep_${ID}`, "/v1/deposits/dep_1", "/v1/nothing"].map(async (path) => {
        const { request_id: _, ...rest } = await problemOf(await app.request(path, keyed("GET")));
        return rest;
      }),
    );
    expect(bodies[1]).toEqual(bodies[0]);
    expect(bodies[2]).toEqual(bodies[0]);
  });
});
