/** Every call that the API describes is in the SDK, and gets through the real routes. */

import { afterEach, describe, expect, test, vi } from "vitest";
import type { Sluice } from "../../src/sdk/index.ts";
import { API_KEY, BY_SESSION, given, LOCAL } from "../support/http-app.ts";
import { BASE, overRoutes } from "../support/sdk.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

const ID = "01h455vb4pex5vsknk084sn02q";
const KEY = { idempotencyKey: "payout-1" };
const PAYOUT = {
  network: "local",
  asset: "ETH",
  destination: "0x00000000000000000000000000000000000a11ce",
  amount: "1.5",
};
const ZPUB =
  "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs";
const PAGE = { data: [{ id: "one" }], next_cursor: null };

interface Row {
  readonly call: string;
  readonly run: (sluice: Sluice) => PromiseLike<unknown>;
  /** The object's method that must be reached. */
  readonly reaches: string;
  readonly gives?: unknown;
}

const first = async (list: AsyncIterable<unknown>) => {
  for await (const row of list) return row;
  return undefined;
};

const ROWS: readonly Row[] = [
  {
    call: "POST /v1/tenants",
    run: (s) => s.tenants.create({ name: "Acme" }),
    reaches: "signUp",
    gives: { tenant: { id: "ten" }, key: { id: "key" } },
  },
  { call: "GET /v1/tenant", run: (s) => s.tenant.get(), reaches: "getTenant" },
  { call: "POST /v1/api-keys", run: (s) => s.apiKeys.create({ name: "a", scopes: ["read"] }), reaches: "createApiKey" },
  { call: "GET /v1/api-keys", run: (s) => first(s.apiKeys.list()), reaches: "listApiKeys", gives: PAGE },
  { call: "DELETE /v1/api-keys/{id}", run: (s) => s.apiKeys.revoke(`key_${ID}`), reaches: "revokeApiKey", gives: null },
  {
    call: "POST /v1/api-keys/{id}/rotate",
    run: (s) => s.apiKeys.rotate(`key_${ID}`, { overlap_seconds: 60 }),
    reaches: "rotateApiKey",
  },
  { call: "POST /v1/session", run: (s) => s.session.create(), reaches: "createSession" },
  { call: "GET /v1/session", run: (s) => s.session.get(), reaches: "getSession" },
  { call: "DELETE /v1/session", run: (s) => s.session.end(), reaches: "endSession", gives: null },
  {
    call: "GET /v1/networks",
    run: (s) => first(s.networks.list({ limit: 10 })),
    reaches: "networkFacts",
    gives: { assets: [], duplicatesMet: {} },
  },
  {
    call: "POST /v1/assets",
    run: (s) => s.assets.create({ network: "local", contract: PAYOUT.destination }),
    reaches: "createAsset",
  },
  {
    call: "GET /v1/assets",
    run: (s) => first(s.assets.list({ network: "local" })),
    reaches: "listAssets",
    gives: { data: [{ caip19: "a" }], next_cursor: null },
  },
  {
    call: "POST /v1/addresses",
    run: (s) => s.addresses.create({ network: "local", address: PAYOUT.destination, label: undefined }),
    reaches: "createAddress",
  },
  {
    call: "POST /v1/xpubs",
    run: (s) => s.xpubs.create({ network: "bitcoin", xpub: ZPUB, label: undefined }),
    reaches: "createXpub",
  },
  { call: "GET /v1/xpubs", run: (s) => first(s.xpubs.list({ limit: 7 })), reaches: "listXpubs", gives: PAGE },
  { call: "GET /v1/xpubs/{id}", run: (s) => s.xpubs.get(`xpub_${ID}`), reaches: "getXpub" },
  {
    call: "GET /v1/addresses",
    run: (s) => first(s.addresses.list({ account: "a b&c" })),
    reaches: "listAddresses",
    gives: PAGE,
  },
  { call: "GET /v1/addresses/{id}", run: (s) => s.addresses.get(`addr_${ID}`), reaches: "getAddress" },
  {
    call: "DELETE /v1/addresses/{id}",
    run: (s) => s.addresses.delete(`addr_${ID}`),
    reaches: "deleteAddress",
    gives: null,
  },
  {
    call: "GET /v1/deposits",
    run: (s) => first(s.deposits.list({ status: "confirmed", limit: 200 })),
    reaches: "listDeposits",
    gives: PAGE,
  },
  { call: "GET /v1/deposits/{id}", run: (s) => s.deposits.get(`dep_${ID}`), reaches: "getDeposit" },
  {
    call: "GET /v1/balances",
    run: (s) => first(s.balances.list({ account: "a" })),
    reaches: "listBalances",
    gives: PAGE,
  },
  {
    call: "GET /v1/ledger/entries",
    run: (s) => first(s.ledgerEntries.list({ asset: "ETH" })),
    reaches: "listLedgerEntries",
    gives: PAGE,
  },
  { call: "POST /v1/withdrawals", run: (s) => s.withdrawals.create(PAYOUT, KEY), reaches: "createWithdrawal" },
  { call: "POST /v1/withdrawals/estimate", run: (s) => s.withdrawals.estimate(PAYOUT), reaches: "estimateWithdrawal" },
  {
    call: "GET /v1/withdrawals",
    run: (s) => first(s.withdrawals.list({ idempotency_key: "payout-1", state: "confirmed" })),
    reaches: "listWithdrawals",
    gives: PAGE,
  },
  { call: "GET /v1/withdrawals/{id}", run: (s) => s.withdrawals.get(`wd_${ID}`), reaches: "getWithdrawal" },
  {
    call: "POST /v1/withdrawals/{id}/cancel",
    run: (s) => s.withdrawals.cancel(`wd_${ID}`),
    reaches: "cancelWithdrawal",
  },
  {
    call: "POST /v1/withdrawals/{id}/approve",
    run: (s) => s.withdrawals.approve(`wd_${ID}`),
    reaches: "approveWithdrawal",
  },
  {
    call: "POST /v1/withdrawals/{id}/reject",
    run: (s) => s.withdrawals.reject(`wd_${ID}`, { reason: "no" }),
    reaches: "rejectWithdrawal",
  },
  {
    call: "POST /v1/withdrawals/{id}/speed-up",
    run: (s) => s.withdrawals.speedUp(`wd_${ID}`),
    reaches: "speedUpWithdrawal",
  },
  {
    call: "POST /v1/withdrawals/{id}/resolve",
    run: (s) => s.withdrawals.resolve(`wd_${ID}`, { outcome: "failed", evidence: "looked" }),
    reaches: "resolveWithdrawal",
  },
  {
    call: "GET /v1/wallets",
    run: (s) => first(s.wallets.list()),
    reaches: "listWallets",
    gives: { data: [{ network: "local" }], next_cursor: null },
  },
  {
    call: "PUT /v1/wallets/{network}/signer",
    run: (s) => s.wallets.chooseSigner("local", { type: "derived" }),
    reaches: "chooseSigner",
  },
  { call: "POST /v1/wallets/{network}/resume", run: (s) => s.wallets.resume("local"), reaches: "resumeWallet" },
  { call: "GET /v1/policies", run: (s) => s.policies.get(), reaches: "getPolicies" },
  {
    call: "PUT /v1/policies/confirmations/{network}",
    run: (s) => s.policies.setConfirmations("local", { default: 5 }),
    reaches: "putConfirmations",
  },
  {
    call: "PUT /v1/policies/withdrawals",
    run: (s) => s.policies.setWithdrawals({ allow_list: [] }),
    reaches: "putWithdrawalRules",
  },
  {
    call: "POST /v1/webhook-endpoints",
    run: (s) => s.webhookEndpoints.create({ url: "https://a.example/" }),
    reaches: "createEndpoint",
  },
  {
    call: "GET /v1/webhook-endpoints",
    run: (s) => first(s.webhookEndpoints.list()),
    reaches: "listEndpoints",
    gives: PAGE,
  },
  { call: "GET /v1/webhook-endpoints/{id}", run: (s) => s.webhookEndpoints.get(`we_${ID}`), reaches: "getEndpoint" },
  {
    call: "PATCH /v1/webhook-endpoints/{id}",
    run: (s) => s.webhookEndpoints.update(`we_${ID}`, { description: null }),
    reaches: "updateEndpoint",
  },
  {
    call: "DELETE /v1/webhook-endpoints/{id}",
    run: (s) => s.webhookEndpoints.delete(`we_${ID}`),
    reaches: "deleteEndpoint",
    gives: null,
  },
  {
    call: "POST /v1/webhook-endpoints/{id}/rotate-secret",
    run: (s) => s.webhookEndpoints.rotateSecret(`we_${ID}`),
    reaches: "rotateEndpointSecret",
  },
  {
    call: "POST /v1/webhook-endpoints/{id}/test",
    run: (s) => s.webhookEndpoints.test(`we_${ID}`),
    reaches: "testEndpoint",
  },
  {
    call: "POST /v1/webhook-endpoints/{id}/enable",
    run: (s) => s.webhookEndpoints.enable(`we_${ID}`),
    reaches: "enableEndpoint",
  },
  {
    call: "POST /v1/webhook-endpoints/{id}/disable",
    run: (s) => s.webhookEndpoints.disable(`we_${ID}`),
    reaches: "disableEndpoint",
  },
  {
    call: "POST /v1/webhook-endpoints/{id}/deliveries/{delivery_id}/resend",
    run: (s) => s.webhookEndpoints.resend(`we_${ID}`, `del_${ID}`),
    reaches: "resendDelivery",
  },
  {
    call: "POST /v1/webhook-endpoints/{id}/replay",
    run: (s) => s.webhookEndpoints.replay(`we_${ID}`, { after_sequence: 0 }),
    reaches: "replayEvents",
  },
  {
    call: "GET /v1/webhook-endpoints/{id}/deliveries",
    run: (s) => first(s.webhookEndpoints.deliveries(`we_${ID}`, { status: "pending" })),
    reaches: "listDeliveries",
    gives: PAGE,
  },
  {
    call: "GET /v1/audit-log",
    run: (s) => first(s.auditLog.list({ after: 3, call: "revokeApiKey", api_key_id: `key_${ID}` })),
    reaches: "listAuditLog",
    gives: PAGE,
  },
  {
    call: "GET /v1/events",
    run: (s) => first(s.events.list({ after: 3, types: ["deposit.confirmed", "deposit.reverted"] })),
    reaches: "listEvents",
    gives: PAGE,
  },
  { call: "GET /v1/events/{id}", run: (s) => s.events.get(`evt_${ID}`), reaches: "getEvent" },
  {
    call: "GET /v1/incidents",
    run: (s) => first(s.incidents.list({ status: "open", kind: "wallet_short", network: "local" })),
    reaches: "listIncidents",
    gives: PAGE,
  },
  { call: "GET /v1/incidents/{id}", run: (s) => s.incidents.get(`inc_${ID}`), reaches: "getIncident" },
  {
    call: "POST /v1/backfills",
    run: (s) => s.backfills.create({ network: "local", from_height: 1, to_height: 2 }),
    reaches: "createBackfill",
  },
  { call: "GET /v1/backfills/{id}", run: (s) => s.backfills.get(`bf_${ID}`), reaches: "getBackfill" },
  { call: "GET /v1/reconciliation", run: (s) => s.reconciliation.get(), reaches: "getReconciliation" },
  { call: "POST /v1/reconciliation", run: (s) => s.reconciliation.run(), reaches: "runReconciliation" },
];

/** Also of a client that has a key: they are not about it. */
const WITHOUT_KEY = ["POST /v1/tenants", "GET /v1/session", "DELETE /v1/session"];

/** `/v1/addresses/addr_01..` as the description writes it. */
function pattern(path: string): string {
  return path
    .replace(/\/del_[0-9a-z]{26}/, "/{delivery_id}")
    .replace(/\/[a-z]+_[0-9a-z]{26}/, "/{id}")
    .replace(/(wallets|confirmations)\/local/, "$1/{network}");
}

describe("every call", () => {
  test.each(ROWS)("$call", async ({ call, run, reaches, gives }) => {
    const made = gives === undefined ? { id: "made" } : gives;
    // A sign-up with a key asks whether the API key that it made is the one that opens.
    const opens = { getTenant: async () => given(made) };
    const tenant = { ...opens, [reaches]: async () => (reaches === "signUp" ? made : given(made)) };
    const { sluice, sent, calls } = overRoutes(
      { tenant, scanner: { status: async () => null } },
      API_KEY,
      call.endsWith("/v1/session") ? { ...BY_SESSION, Origin: BASE } : {},
    );
    const answer = await run(sluice);

    expect(sent.map(({ method, path }) => `${method} ${pattern(path)}`)).toEqual([call]);
    expect(calls.filter(({ to }) => to === "tenant").map(({ method }) => method)[0]).toBe(reaches);
    const headers = sent[0]?.headers ?? {};
    expect(headers.Authorization).toBe(WITHOUT_KEY.includes(call) ? undefined : `Bearer ${API_KEY}`);
    expect(headers["User-Agent"]).toMatch(/^sluice-js\/\d/);
    if (call.startsWith("POST")) expect(headers["Idempotency-Key"]).toMatch(/^(sdk_[0-9a-f-]{36}|payout-1)$/);
    else expect(headers).not.toHaveProperty("Idempotency-Key");
    if (gives === undefined) expect(answer).toEqual(made);
    if (gives === null) expect(answer).toBeUndefined();
    if (call.startsWith("GET /v1/networks")) expect(answer).toMatchObject({ id: LOCAL.id });
    else if (gives !== undefined && gives !== null && reaches !== "signUp")
      expect(answer).toEqual((made as typeof PAGE).data[0]);
  });

  test("is one of those that the API describes, and all of them are here", async () => {
    const { app } = overRoutes();
    const { paths } = (await (await app.request("/openapi.json")).json()) as { paths: Record<string, object> };
    const described = Object.entries(paths)
      .flatMap(([path, item]) => Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`))
      .filter((call) => !/ \/(healthz|metrics|v1\/operator\/.*)$/.test(call));
    expect(ROWS.map(({ call }) => call).sort()).toEqual(described.sort());
  });
});

describe("what is handed over", () => {
  test("a withdrawal with the caller's key, byte for byte", async () => {
    const { sluice, calls } = overRoutes({ tenant: { createWithdrawal: async () => given({ id: "wd" }) } });
    await sluice.withdrawals.create({ ...PAYOUT, external_id: "x-1" }, { idempotencyKey: "~ payout/1, of June" });
    const [input, key] = calls[0]?.args.slice(1) ?? [];
    expect(key).toBe("~ payout/1, of June");
    expect(input).toMatchObject({ ...PAYOUT, account: "default", externalId: "x-1", metadata: {} });
  });

  test("an order's next address, under the order's own key", async () => {
    const { sluice, sent, calls } = overRoutes({ tenant: { deriveAddress: async () => given({ id: "addr" }) } });
    const wanted = { network: "bitcoin", xpub_id: `xpub_${ID}`, account: "order-1042" };
    await sluice.addresses.create(wanted, { idempotencyKey: "order-1042" });
    expect(sent[0]?.headers["Idempotency-Key"]).toBe("order-1042");
    expect(calls.map(({ method, args }) => [method, args[1]])).toEqual([
      ["deriveAddress", { network: "bitcoin", xpubId: `xpub_${ID}`, account: "order-1042", label: null, metadata: {} }],
    ]);
  });

  test("filters, with what a query must escape", async () => {
    const { sluice, calls } = overRoutes({
      tenant: { listDeposits: async () => given({ data: [], next_cursor: null }) },
    });
    await sluice.deposits.list({ account: "a&b=c d/é?", status: undefined, asset: "100%", limit: 7 }).page();
    expect(calls[0]?.args.slice(1)).toEqual([
      { account: "a&b=c d/é?", asset: "100%" },
      { limit: 7, cursor: null },
    ]);
  });

  test("types of events, and the sequence of the next page in the place of the first", async () => {
    const pages = [
      { data: [{ sequence: 4 }, { sequence: 6 }], next_cursor: "6" },
      { data: [{ sequence: 9 }], next_cursor: null },
    ];
    const { sluice, calls } = overRoutes({ tenant: { listEvents: async () => given(pages.shift()) } });
    const events = await sluice.events
      .list({ after: 3, types: ["deposit.confirmed", "withdrawal.updated"], subject: "dep_1" })
      .toArray(10);
    expect(events.map(({ sequence }) => sequence)).toEqual([4, 6, 9]);
    const types = ["deposit.confirmed", "withdrawal.updated"];
    expect(calls.map(({ args }) => args[1])).toEqual([
      { after: 3, types, subject: "dep_1" },
      { after: 6, types, subject: "dep_1" },
    ]);
  });

  test("no answer's secret is lost: a made key comes with its secret", async () => {
    const createApiKey = async (_caller: unknown, { id }: { id: string }) => given({ id, name: "a" });
    const { sluice } = overRoutes({ tenant: { createApiKey } });
    expect((await sluice.apiKeys.create({ name: "a", scopes: ["read"] })).secret).toMatch(/^sk_/);
  });

  test("what the answer said beside the object", async () => {
    const { sluice } = overRoutes({
      tenant: { createWithdrawal: async () => given({ id: "wd" }, { replayed: true }) },
    });
    const { data, answer } = await sluice.withdrawals.create(PAYOUT, KEY).withAnswer();
    expect(data).toEqual({ id: "wd" });
    expect(answer).toMatchObject({
      status: 200,
      replayed: true,
      attempts: 1,
      rateLimit: { remaining: 41, resetS: 17 },
    });
    expect(answer.requestId).toMatch(/^req_/);
  });

  test("a client without a key signs up, and nothing else", async () => {
    const signUp = async () => ({ tenant: { id: "ten" }, key: { id: "key" } });
    const { sluice, calls } = overRoutes({ tenant: { signUp, getTenant: async () => given({ id: "ten" }) } }, null);
    expect((await sluice.tenants.create({ name: "Acme" })).api_key.secret).toMatch(/^sk_/);
    const reached = calls.length;
    await expect(sluice.tenant.get()).rejects.toMatchObject({ name: "AuthenticationError", status: null });
    expect(calls).toHaveLength(reached);
  });

  test("in a browser a client without a key calls, for the session's cookie may open it", async () => {
    vi.stubGlobal("document", {});
    const tenant = { getTenant: async () => given({ id: "ten" }), createBackfill: async () => given({ id: "bf" }) };
    const { sluice, sent, calls } = overRoutes({ tenant }, null, { ...BY_SESSION, Origin: BASE });
    expect(await sluice.tenant.get()).toEqual({ id: "ten" });
    expect(await sluice.backfills.create({ network: "local", from_height: 1, to_height: 2 })).toEqual({ id: "bf" });
    for (const { headers } of sent) expect(headers).not.toHaveProperty("Authorization");
    for (const { args } of calls) expect(args[0]).toHaveProperty("sessionHash");
    // Without the cookie it is the service that says so.
    const out = overRoutes({}, null).sluice.tenant.get();
    await expect(out).rejects.toMatchObject({ name: "AuthenticationError", status: 401 });
  });

  test("an id that names something else is never sent", () => {
    const { sluice, sent } = overRoutes();
    for (const id of ["", "..", "a/b", "a?b", "a b", "é"]) {
      expect(() => sluice.deposits.get(id)).toThrow(TypeError);
      expect(() => sluice.withdrawals.cancel(id)).toThrow(TypeError);
    }
    expect(sent).toEqual([]);
  });

  test("a withdrawal without a key is never sent, whatever the types were told", () => {
    const { sluice, sent } = overRoutes();
    for (const options of [undefined, {}, { idempotencyKey: "" }, { idempotencyKey: undefined }]) {
      expect(() => sluice.withdrawals.create(PAYOUT, options as typeof KEY)).toThrow("could be paid twice");
    }
    expect(sent).toEqual([]);
  });
});
