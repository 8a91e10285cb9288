/** Good input: what each route hands to the tenant's object, and what becomes of the object's answer. */

import { describe, expect, test } from "vitest";
import { REFUSALS, type RefusalCode } from "../../src/core/refusal.ts";
import { fakeApp, given, keyed, problemOf, RATE, TENANT_ID } from "../support/http-app.ts";

const ID = "01h455vb4pex5vsknk084sn02q";
const ZPUB =
  "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs";
const MAX = Number.MAX_SAFE_INTEGER;
const CALLER = {
  tenantId: TENANT_ID,
  keyHash: expect.stringMatching(/^[0-9a-f]{64}$/),
  requestId: expect.stringMatching(/^req_/),
  client: { address: null, userAgent: null },
};
const FIRST_PAGE = { limit: 50, cursor: null };
const RULES = { default: null, assets: {} };
const NO_LIMITS = { cool_down_seconds: 86_400, allow_list: null, limits: [], approvals: [] };
const SIGNER = "/v1/wallets/local/signer";
const WANTED = { network: "local", asset: "ETH", destination: "0xab", amount: "1.50" };
const WANTED_IN_FULL = { ...WANTED, account: "default", externalId: null, metadata: {} };

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
    "POST",
    "/v1/addresses",
    { network: "local", xpub_id: `xpub_${ID}`, account: "order-1042" },
    "deriveAddress",
    [{ network: "local", xpubId: `xpub_${ID}`, account: "order-1042", label: null, metadata: {} }, null],
    201,
  ],
  [
    "POST",
    "/v1/xpubs",
    { network: "bitcoin", xpub: ZPUB },
    "createXpub",
    [{ network: "bitcoin", xpub: ZPUB, type: null, label: null, nextIndex: 0 }, null],
    201,
  ],
  [
    "POST",
    "/v1/xpubs",
    { network: "bitcoin", xpub: ZPUB, type: "p2wpkh", label: "shop", next_index: 7 },
    "createXpub",
    [{ network: "bitcoin", xpub: ZPUB, type: "p2wpkh", label: "shop", nextIndex: 7 }, null],
    201,
  ],
  ["GET", "/v1/xpubs?limit=7", undefined, "listXpubs", [{ limit: 7, cursor: null }], 200],
  ["GET", `/v1/xpubs/xpub_${ID}`, undefined, "getXpub", [`xpub_${ID}`], 200],
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
  ["GET", "/v1/audit-log", undefined, "listAuditLog", [{ after: 0, call: null, keyId: null }, 50], 200],
  [
    "GET",
    `/v1/audit-log?cursor=7&limit=9&call=createWithdrawal&api_key_id=key_${ID}`,
    undefined,
    "listAuditLog",
    [{ after: 7, call: "createWithdrawal", keyId: `key_${ID}` }, 9],
    200,
  ],
  ["GET", "/v1/events", undefined, "listEvents", [{ after: 0, types: null, subject: null }, 50, 0], 200],
  [
    "GET",
    "/v1/events?after=17&limit=7&wait=25&types=deposit.confirmed,deposit.reverted&subject=dep_1",
    undefined,
    "listEvents",
    [{ after: 17, types: ["deposit.confirmed", "deposit.reverted"], subject: "dep_1" }, 7, 25_000],
    200,
  ],
  [
    "GET",
    `/v1/events?cursor=${MAX}`,
    undefined,
    "listEvents",
    [{ after: MAX, types: null, subject: null }, 50, 0],
    200,
  ],
  ["GET", `/v1/events/evt_${ID}`, undefined, "getEvent", [`evt_${ID}`], 200],
  ["GET", "/v1/incidents", undefined, "listIncidents", [{}, FIRST_PAGE], 200],
  [
    "GET",
    "/v1/incidents?status=open&kind=endpoint_dead&network=local&limit=7",
    undefined,
    "listIncidents",
    [
      { status: "open", kind: "endpoint_dead", network: "local" },
      { limit: 7, cursor: null },
    ],
    200,
  ],
  ["GET", `/v1/incidents/inc_${ID}`, undefined, "getIncident", [`inc_${ID}`], 200],
  [
    "POST",
    "/v1/webhook-endpoints",
    { url: "https://a.example/" },
    "createEndpoint",
    [{ url: "https://a.example/", events: null, description: null, signature: "v1" }, null],
    201,
  ],
  [
    "POST",
    "/v1/webhook-endpoints",
    { url: "https://a.example/", events: ["endpoint.disabled"], description: "d", signature: "v1a" },
    "createEndpoint",
    [{ url: "https://a.example/", events: ["endpoint.disabled"], description: "d", signature: "v1a" }, null],
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
  ["POST", `/v1/webhook-endpoints/we_${ID}/enable`, undefined, "enableEndpoint", [`we_${ID}`, null], 200],
  ["POST", `/v1/webhook-endpoints/we_${ID}/disable`, undefined, "disableEndpoint", [`we_${ID}`, null], 200],
  [
    "POST",
    `/v1/webhook-endpoints/we_${ID}/deliveries/del_${ID}/resend`,
    undefined,
    "resendDelivery",
    [`we_${ID}`, `del_${ID}`, null],
    202,
  ],
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
  ["PUT", "/v1/policies/withdrawals", {}, "putWithdrawalRules", [NO_LIMITS], 200],
  [
    "PUT",
    "/v1/policies/withdrawals",
    {
      cool_down_seconds: 0,
      allow_list: [],
      limits: [
        { network: "local", asset: "ETH", per_withdrawal: "0" },
        { network: "local", asset: "USDC", per_day: "10.50" },
      ],
      approvals: [{ network: "local", asset: "ETH", above: "0" }],
    },
    "putWithdrawalRules",
    [
      {
        cool_down_seconds: 0,
        allow_list: [],
        limits: [
          { network: "local", asset: "ETH", per_withdrawal: "0", per_day: null },
          { network: "local", asset: "USDC", per_withdrawal: null, per_day: "10.50" },
        ],
        approvals: [{ network: "local", asset: "ETH", above: "0" }],
      },
    ],
    200,
  ],
  ["POST", "/v1/withdrawals/estimate", WANTED, "estimateWithdrawal", [WANTED_IN_FULL], 200],
  [
    "POST",
    "/v1/withdrawals/estimate",
    { ...WANTED, account: "a", external_id: "order 7", metadata: { a: "b" } },
    "estimateWithdrawal",
    [{ ...WANTED, account: "a", externalId: "order 7", metadata: { a: "b" } }],
    200,
  ],
  ["GET", "/v1/withdrawals", undefined, "listWithdrawals", [{}, FIRST_PAGE], 200],
  [
    "GET",
    "/v1/withdrawals?network=local&account=sluice:fees&asset=ETH&state=manual_review&external_id=o%207&idempotency_key=a%20b&tx_id=0xf&limit=1",
    undefined,
    "listWithdrawals",
    [
      {
        network: "local",
        account: "sluice:fees",
        asset: "ETH",
        state: "manual_review",
        external_id: "o 7",
        idempotency_key: "a b",
        tx_id: "0xf",
      },
      { limit: 1, cursor: null },
    ],
    200,
  ],
  ["GET", `/v1/withdrawals/wd_${ID}`, undefined, "getWithdrawal", [`wd_${ID}`], 200],
  ["POST", `/v1/withdrawals/wd_${ID}/cancel`, undefined, "cancelWithdrawal", [`wd_${ID}`, null], 200],
  ["POST", `/v1/withdrawals/wd_${ID}/approve`, {}, "approveWithdrawal", [`wd_${ID}`, null], 200],
  ["POST", `/v1/withdrawals/wd_${ID}/reject`, undefined, "rejectWithdrawal", [`wd_${ID}`, null, null], 200],
  ["POST", `/v1/withdrawals/wd_${ID}/reject`, { reason: "no" }, "rejectWithdrawal", [`wd_${ID}`, "no", null], 200],
  ["POST", `/v1/withdrawals/wd_${ID}/speed-up`, undefined, "speedUpWithdrawal", [`wd_${ID}`, null], 200],
  ...(["confirmed", "failed"] as const).map((outcome): (typeof table)[number] => [
    "POST",
    `/v1/withdrawals/wd_${ID}/resolve`,
    { outcome, evidence: "0xab\nseen by two" },
    "resolveWithdrawal",
    [`wd_${ID}`, { outcome, evidence: "0xab\nseen by two" }, null],
    200,
  ]),
  ["PUT", SIGNER, { type: "derived" }, "chooseSigner", ["local", { type: "derived" }], 200],
  ["PUT", SIGNER, { type: "derived", token: null }, "chooseSigner", ["local", { type: "derived" }], 200],
  [
    "PUT",
    SIGNER,
    { type: "remote", url: "https://s.example:9000/a?b=c", address: "0xab" },
    "chooseSigner",
    ["local", { type: "remote", url: "https://s.example:9000/a?b=c", address: "0xab", token: null }],
    200,
  ],
  [
    "PUT",
    SIGNER,
    { type: "remote", url: "http://127.0.0.1:9000", address: "0xab", token: "t" },
    "chooseSigner",
    ["local", { type: "remote", url: "http://127.0.0.1:9000", address: "0xab", token: "t" }],
    200,
  ],
  ["POST", "/v1/wallets/local/resume", undefined, "resumeWallet", ["local", null], 200],
  ["GET", "/v1/reconciliation", undefined, "getReconciliation", [], 200],
  ["POST", "/v1/reconciliation", undefined, "runReconciliation", [null], 200],
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

describe("POST /v1/withdrawals", () => {
  const create = async (answer: unknown, body: unknown = WANTED) => {
    const { app, calls } = fakeApp({ tenant: { createWithdrawal: async () => answer } });
    const init = keyed("POST", body, { "Idempotency-Key": "order 17" });
    return { response: await app.request("/v1/withdrawals", init), calls };
  };

  test("hands the key on as it came, and the body with its defaults; what it made is 201", async () => {
    const { response, calls } = await create(given({ id: "wd" }, { created: true }));
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ id: "wd" });
    expect(response.headers.get("idempotent-replayed")).toBeNull();
    expect(calls).toEqual([
      {
        to: "tenant",
        id: TENANT_ID,
        method: "createWithdrawal",
        args: [CALLER, WANTED_IN_FULL, "order 17"],
      },
    ]);
  });

  test("B82: what the key named before is 200, and says so", async () => {
    const { response } = await create(given({ id: "wd" }, { created: false, replayed: true }));
    expect(response.status).toBe(200);
    expect(response.headers.get("idempotent-replayed")).toBe("true");
    expect(response.headers.get("ratelimit")).not.toBeNull();
  });

  test.each([
    ["insufficient_funds", 422],
    ["invalid_destination", 422],
    ["destination_not_allowed", 422],
    ["limit_exceeded", 422],
    ["account_frozen", 422],
    ["idempotency_key_reused", 422],
    ["forbidden", 403],
    ["store_unavailable", 503],
    ["chain_unavailable", 503],
  ] as const)("%s is %i", async (code, status) => {
    const { response } = await create({ ok: false, refusal: { code, detail: "why" }, rate: RATE });
    expect(response.status).toBe(status);
    expect(await problemOf(response)).toMatchObject({ code, detail: "why" });
  });

  test("an illegal transition is 409", async () => {
    const refusal = { code: "illegal_transition", detail: "it is confirmed" };
    const { app } = fakeApp({ tenant: { cancelWithdrawal: async () => ({ ok: false, refusal, rate: RATE }) } });
    const response = await app.request(`/v1/withdrawals/wd_${ID}/cancel`, keyed("POST"));
    expect(response.status).toBe(409);
    expect((await problemOf(response)).title).toBe("The withdrawal's state does not allow this");
  });
});

test("wallets are one page or several", async () => {
  const data = ["base", "ethereum", "local"].map((network) => ({ network }));
  const { app, calls } = fakeApp({ tenant: { listWallets: async () => given({ data, next_cursor: null }) } });
  type Wallets = { data: { network: string }[]; next_cursor: string | null };
  const all = (await (await app.request("/v1/wallets", keyed("GET"))).json()) as Wallets;
  expect(all).toEqual({ data, next_cursor: null });
  expect(calls[0]?.args).toEqual([CALLER]);
  const first = (await (await app.request("/v1/wallets?limit=2", keyed("GET"))).json()) as Wallets;
  const second = await app.request(`/v1/wallets?limit=2&cursor=${first.next_cursor}`, keyed("GET"));
  expect(await second.json()).toEqual({ data: data.slice(2), next_cursor: null });
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
