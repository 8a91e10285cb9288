/** The limits of each field: what is just inside passes to the object, what is just outside is 422. */

import { describe, expect, test } from "vitest";
import { fakeApp, given, keyed, problemOf } from "../support/http-app.ts";

const WE = "/v1/webhook-endpoints/we_01h455vb4pex5vsknk084sn02q";
const KEY = "/v1/api-keys/key_01h455vb4pex5vsknk084sn02q";
const anything = new Proxy({}, { get: () => async () => given({ id: "x", data: [] }) });

const { app, calls } = fakeApp({ tenant: anything });

async function send(method: string, path: string, body?: unknown) {
  calls.length = 0;
  const once = path === "/v1/withdrawals" && method === "POST" ? { "Idempotency-Key": "k" } : {};
  const response = await app.request(path, keyed(method, body, once));
  return { response, calls: [...calls] };
}

async function expectFits(method: string, path: string, body?: unknown) {
  const { response, calls } = await send(method, path, body);
  expect(response.status, await response.text()).toBeLessThan(300);
  expect(calls).toHaveLength(1);
}

async function expectRefused(method: string, path: string, body: unknown, at: string, code = "invalid_fields") {
  const { response, calls } = await send(method, path, body);
  const problem = await problemOf(response);
  expect(problem.code).toBe(code);
  if (code === "invalid_fields") expect(problem.errors?.map(({ path }) => path)).toContain(at);
  expect(calls).toEqual([]);
}

describe("POST /v1/addresses", () => {
  const base = { network: "local", address: "0xab" };
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));

  test.each([
    ["account", "x".repeat(64)],
    ["account", "客户 17"],
    ["label", "x".repeat(200)],
    ["label", null],
    ["metadata", keys(20)],
    ["metadata", { ["k".repeat(40)]: "v".repeat(500) }],
    ["metadata", { a: "" }],
    ["start_height", 0],
    ["start_height", Number.MAX_SAFE_INTEGER],
    ["start_height", null],
    ["address", "x".repeat(128)],
  ])("%s fits: %j", async (field, value) => {
    await expectFits("POST", "/v1/addresses", { ...base, [field]: value });
  });

  test.each([
    ["network", "Local", "network"],
    ["network", "", "network"],
    ["network", "a/b", "network"],
    ["network", 1, "network"],
    ["network", null, "network"],
    ["address", "", "address"],
    ["address", "x".repeat(129), "address"],
    ["address", "0xab\u0000", "address"],
    ["address", ["0xab"], "address"],
    ["account", "", "account"],
    ["account", " a", "account"],
    ["account", "a\u00a0", "account"],
    ["account", "a\u2028b", "account"],
    ["account", "a\nb", "account"],
    ["account", "a\u0085b", "account"],
    ["account", "x".repeat(65), "account"],
    ["account", 17, "account"],
    ["account", null, "account"],
    ["label", "", "label"],
    ["label", "x".repeat(201), "label"],
    ["label", "a\tb", "label"],
    ["metadata", keys(21), "metadata"],
    ["metadata", { ["k".repeat(41)]: "v" }, `metadata.${"k".repeat(41)}`],
    ["metadata", { "": "v" }, "metadata."],
    ["metadata", { a: "v".repeat(501) }, "metadata.a"],
    ["metadata", { a: 1 }, "metadata.a"],
    ["metadata", { a: null }, "metadata.a"],
    ["metadata", [], "metadata"],
    ["metadata", "a", "metadata"],
    ["start_height", -1, "start_height"],
    ["start_height", 1.5, "start_height"],
    ["start_height", Number.MAX_SAFE_INTEGER + 1, "start_height"],
    ["start_height", "1", "start_height"],
    ["start_height", true, "start_height"],
  ])("%s does not fit: %j", async (field, value, at) => {
    await expectRefused("POST", "/v1/addresses", { ...base, [field]: value }, at);
  });

  test("an infinite height from a number too large for a double", async () => {
    await expectRefused(
      "POST",
      "/v1/addresses",
      '{"network":"local","address":"a","start_height":1e400}',
      "start_height",
    );
  });
});

describe("POST /v1/addresses with an extended public key", () => {
  const base = { network: "local", xpub_id: "xpub_01h455vb4pex5vsknk084sn02q" };

  test.each([
    ["account", "order-1042"],
    ["label", "x"],
    ["metadata", { order: "1042" }],
    ["start_height", null],
  ])("%s fits: %j", async (field, value) => {
    await expectFits("POST", "/v1/addresses", { ...base, [field]: value });
  });

  test.each([
    ["xpub_id", "xpub_1", "xpub_id"],
    ["xpub_id", "addr_01h455vb4pex5vsknk084sn02q", "xpub_id"],
    ["xpub_id", null, "xpub_id"],
    ["xpub_id", undefined, "address"],
    ["address", "0xab", "xpub_id"],
    ["start_height", 0, "start_height"],
    ["account", "sluice:fees", "account"],
    ["xpub", "xpub6", "xpub"],
  ])("%s does not fit: %j", async (field, value, at) => {
    await expectRefused("POST", "/v1/addresses", { ...base, [field]: value }, at);
  });
});

describe("POST /v1/xpubs", () => {
  const xpub =
    "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs";
  const base = { network: "bitcoin", xpub };

  test.each([
    ["type", "p2wpkh"],
    ["type", "evm"],
    ["label", "x".repeat(200)],
    ["label", null],
    ["next_index", 0],
    ["next_index", 2_147_483_647],
  ])("%s fits: %j", async (field, value) => {
    await expectFits("POST", "/v1/xpubs", { ...base, [field]: value });
  });

  test.each([
    ["network", "Bitcoin", "network"],
    ["xpub", undefined, "xpub"],
    ["xpub", null, "xpub"],
    ["xpub", "", "xpub"],
    ["xpub", xpub.slice(1), "xpub"],
    ["xpub", `${xpub} `, "xpub"],
    ["xpub", xpub.replace("zpub", "xpub"), "xpub"],
    ["xpub", "x".repeat(60_000), "xpub"],
    ["type", "p2wsh", "type"],
    ["type", null, "type"],
    ["label", "", "label"],
    ["next_index", -1, "next_index"],
    ["next_index", 1.5, "next_index"],
    ["next_index", 2_147_483_648, "next_index"],
    ["next_index", "7", "next_index"],
    ["xprv", "x", "xprv"],
  ])("%s does not fit: %j", async (field, value, at) => {
    await expectRefused("POST", "/v1/xpubs", { ...base, [field]: value }, at);
  });
});

describe("POST /v1/withdrawals", () => {
  const base = { network: "local", asset: "ETH", destination: "0xab", amount: "1.5" };
  // The same body asks for an estimate, without a key.
  const paths = ["/v1/withdrawals", "/v1/withdrawals/estimate"];
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));

  test.each<[string, unknown]>([
    ["amount", "0.000000000000000001"],
    ["amount", "10"],
    ["amount", "10.0"],
    ["amount", "630.0056882018259"],
    ["amount", `${(1n << 256n) - 1n}`],
    ["account", "x".repeat(64)],
    ["account", "sluice"],
    ["account", "my sluice:fees"],
    ["account", "SLUICE:fees"],
    ["external_id", "x".repeat(128)],
    ["external_id", null],
    ["metadata", keys(20)],
    ["asset", "USD₮0"],
    ["destination", "x".repeat(128)],
  ])("%s fits: %j", async (field, value) => {
    for (const path of paths) await expectFits("POST", path, { ...base, [field]: value });
  });

  // B121, B124. How many decimals fit (B122) depends on the asset, which its object knows.
  test.each([
    ...["4.5e-7", 9.955189695275411e-7, 10, 1.5, "1e18", "1E+2", ".", "-", "-.", "", "5.", ".5", "1,5", "1 000"],
    ...["+1", "-1", "-0", "00012", "1_000", "0x10", "１２", "١٢", "12abc", "12\n", " 12", "NaN", "Infinity"],
    ...[null, true, [1], { a: 1 }, "9".repeat(161), `${1n << 256n}`],
    ...["0", "0.0", "0.000000000000000000"],
  ])("amount %j is refused", async (amount) => {
    for (const path of paths) await expectRefused("POST", path, { ...base, amount }, "amount");
  });

  test.each<[string, unknown]>([
    ["network", "Local"],
    ["network", null],
    ["asset", ""],
    ["asset", "a\tb"],
    ["asset", "x".repeat(101)],
    ["destination", ""],
    ["destination", "x".repeat(129)],
    ["destination", "0xab\u0000"],
    ["destination", null],
    ["account", ""],
    ["account", " a"],
    ["account", null],
    ["account", "x".repeat(65)],
    ["account", "sluice:"],
    ["account", "sluice:fees"],
    ["external_id", ""],
    ["external_id", "x".repeat(129)],
    ["external_id", "a\nb"],
    ["external_id", 7],
    ["metadata", keys(21)],
    ["metadata", Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`k${i}`, "x".repeat(500)]))],
    ["metadata", null],
    ["fee", "1"],
    ["idempotency_key", "k"],
    ["state", "confirmed"],
  ])("%s does not fit: %j", async (field, value) => {
    for (const path of paths) await expectRefused("POST", path, { ...base, [field]: value }, field);
  });

  test.each(Object.keys(base))("%s is required", async (field) => {
    for (const path of paths) await expectRefused("POST", path, { ...base, [field]: undefined }, field);
  });
});

test("an account that is the service's own cannot be taken with an address, and can be looked at", async () => {
  await expectRefused("POST", "/v1/addresses", { network: "local", address: "0xab", account: "sluice:x" }, "account");
  for (const path of ["withdrawals", "addresses", "deposits", "balances", "ledger/entries"])
    await expectFits("GET", `/v1/${path}?account=sluice:x`);
});

describe("what moves a withdrawal", () => {
  const WD = "/v1/withdrawals/wd_01h455vb4pex5vsknk084sn02q";
  test.each(["cancel", "approve", "speed-up"])("%s takes no field", async (action) => {
    await expectFits("POST", `${WD}/${action}`, {});
    await expectFits("POST", `${WD}/${action}`);
    await expectRefused("POST", `${WD}/${action}`, { reason: "x" }, "reason");
  });

  test("a rejection's reason is one line", async () => {
    for (const reason of [null, "x".repeat(500)]) await expectFits("POST", `${WD}/reject`, { reason });
    for (const reason of ["", "x".repeat(501), "a\nb", 1])
      await expectRefused("POST", `${WD}/reject`, { reason }, "reason");
  });

  test.each(["a", "x".repeat(1_000), "0xab\n\nseen by two nodes\n", "証拠"])("evidence %j fits", async (evidence) => {
    await expectFits("POST", `${WD}/resolve`, { outcome: "confirmed", evidence });
  });
  test.each(["", " \n ", "x".repeat(1_001), "a\tb", "a\r\nb", "a\u0000", "a\u2028b", "a\u0085b", 1, null, undefined])(
    "evidence %j does not fit",
    async (evidence) => {
      await expectRefused("POST", `${WD}/resolve`, { outcome: "failed", evidence }, "evidence");
    },
  );
  test.each(["cancelled", "CONFIRMED", null, undefined])("no outcome %j", async (outcome) => {
    await expectRefused("POST", `${WD}/resolve`, { outcome, evidence: "e" }, "outcome");
  });

  test.each([
    ["state", "done"],
    ["external_id", ""],
    ["external_id", "x".repeat(129)],
    ["idempotency_key", ""],
    ["idempotency_key", "x".repeat(256)],
    ["idempotency_key", "ключ"],
    ["idempotency_key", " a"],
    ["tx_id", "x".repeat(129)],
    ["status", "confirmed"],
  ])("no list of %s=%j", async (name, value) => {
    await expectRefused("GET", `/v1/withdrawals?${name}=${encodeURIComponent(value)}`, undefined, name);
  });
});

describe("signers", () => {
  const path = "/v1/wallets/local/signer";
  const remote = { type: "remote", url: "https://s.example/", address: "0xab" };
  test.each<[unknown, string]>([
    [{}, "type"],
    [{ type: "ledger" }, "type"],
    [{ type: "remote", address: "0xab" }, "url"],
    [{ type: "remote", url: "https://s.example/" }, "address"],
    [{ type: "derived", url: "https://s.example/" }, "url"],
    [{ type: "derived", address: "0xab" }, "address"],
    [{ type: "derived", token: "t" }, "token"],
    [{ ...remote, url: "ftp://s.example/" }, "url"],
    [{ ...remote, url: "s.example" }, "url"],
    [{ ...remote, url: "https://user:pw@s.example/" }, "url"],
    [{ ...remote, url: "https://user@s.example/" }, "url"],
    [{ ...remote, url: "https://s.example/#a" }, "url"],
    [{ ...remote, url: `https://s.example/${"x".repeat(2_048)}` }, "url"],
    [{ ...remote, url: null }, "url"],
    [{ ...remote, address: "" }, "address"],
    [{ ...remote, token: "" }, "token"],
    [{ ...remote, token: "a b" }, "token"],
    [{ ...remote, token: "a\n" }, "token"],
    [{ ...remote, token: "x".repeat(1_025) }, "token"],
    [{ ...remote, key: "0x1" }, "key"],
  ])("%j", async (body, at) => {
    await expectRefused("PUT", path, body, at);
  });
  test("limits that fit", async () => {
    await expectFits("PUT", path, { ...remote, token: "x".repeat(1_024) });
    await expectFits("PUT", path, { ...remote, url: `https://s.example/${"x".repeat(2_030)}` });
  });
  test("a token that does not fit is not echoed", async () => {
    const { response } = await send("PUT", path, { ...remote, token: "hunter2 hunter3" });
    expect(await response.text()).not.toContain("hunter");
  });
  test.each(["signer", "resume"])("a network that cannot be one is unknown: %s", async (action) => {
    const method = action === "signer" ? "PUT" : "POST";
    await expectRefused(method, `/v1/wallets/Not%20One/${action}`, { type: "derived" }, "", "not_found");
  });
});

describe("withdrawal rules", () => {
  const path = "/v1/policies/withdrawals";
  const many = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));
  const destination = (i: number) => ({ network: "a", address: `${i}` });
  const limit = (i: number) => ({ network: "local", asset: `T${i}`, per_day: "1" });
  const approval = (i: number) => ({ network: "local", asset: `T${i}`, above: "1" });

  test.each<[object]>([
    [{ cool_down_seconds: 0 }],
    [{ cool_down_seconds: 2_592_000 }],
    [{ allow_list: null }],
    [{ allow_list: many(1_000, destination) }],
    [{ limits: many(200, limit) }],
    [{ approvals: many(200, approval) }],
    [{ limits: [limit(0), { ...limit(0), network: "base" }], approvals: [approval(0)] }],
    [{ allow_list: [destination(0), { ...destination(0), network: "b" }] }],
  ])("fit (%#)", async (rules) => {
    await expectFits("PUT", path, rules);
  });

  test.each<[object, string]>([
    [{ cool_down_seconds: -1 }, "cool_down_seconds"],
    [{ cool_down_seconds: 2_592_001 }, "cool_down_seconds"],
    [{ cool_down_seconds: 1.5 }, "cool_down_seconds"],
    [{ cool_down_seconds: null }, "cool_down_seconds"],
    [{ allow_list: many(1_001, destination) }, "allow_list"],
    [{ allow_list: [destination(0), destination(0)] }, "allow_list"],
    [{ allow_list: ["0xab"] }, "allow_list.0"],
    [{ allow_list: [{ ...destination(0), label: "x" }] }, "allow_list.0.label"],
    [{ limits: many(201, limit) }, "limits"],
    [{ limits: [limit(0), { ...limit(0), per_day: "2" }] }, "limits"],
    [{ limits: [{ network: "local", asset: "ETH" }] }, "limits.0"],
    [{ limits: [{ ...limit(0), per_day: "1e3" }] }, "limits.0.per_day"],
    [{ limits: [{ ...limit(0), per_withdrawal: 5 }] }, "limits.0.per_withdrawal"],
    [{ limits: null }, "limits"],
    [{ approvals: many(201, approval) }, "approvals"],
    [{ approvals: [approval(0), { ...approval(0), above: "2" }] }, "approvals"],
    [{ approvals: [{ network: "local", asset: "ETH" }] }, "approvals.0.above"],
    [{ approvals: [{ ...approval(0), above: "-1" }] }, "approvals.0.above"],
    [{ current: {} }, "current"],
  ])("do not fit (%#)", async (rules, at) => {
    await expectRefused("PUT", path, rules, at);
  });
});

describe("POST /v1/assets", () => {
  test.each(["", "x".repeat(21), "US DC", "US\u200bDC", "US\u202eDC", "a\u0000", 1])("symbol %j", async (symbol) => {
    await expectRefused("POST", "/v1/assets", { network: "local", contract: "0xab", symbol }, "symbol");
  });
  test.each(["x".repeat(20), "USDC.e", "USD₮0", "$", null])("symbol %j fits", async (symbol) => {
    await expectFits("POST", "/v1/assets", { network: "local", contract: "0xab", symbol });
  });
});

describe("API keys", () => {
  const base = { name: "ci", scopes: ["read"] };
  test.each([
    ["scopes", []],
    ["scopes", ["read", "read"]],
    ["scopes", "read"],
    ["name", ""],
    ["name", "x".repeat(101)],
    ["name", "a\u0007"],
    ["expires_at", "2026-06-01T00:00:00.000Z"],
    ["expires_at", "2020-01-01T00:00:00Z"],
    ["expires_at", "2027-01-01"],
    ["expires_at", "2027-02-30T00:00:00Z"],
    ["expires_at", "2027-01-01T00:00:00"],
    ["expires_at", 1800000000],
  ])("%s does not fit: %j", async (field, value) => {
    await expectRefused("POST", "/v1/api-keys", { ...base, [field]: value }, field);
  });
  test("a scope that is none", async () => {
    await expectRefused("POST", "/v1/api-keys", { ...base, scopes: ["root"] }, "scopes.0");
  });
  test.each(["2026-06-01T00:00:00.001Z", "2026-06-01T02:00:01+02:00", null])("expires_at fits: %j", async (value) => {
    await expectFits("POST", "/v1/api-keys", { ...base, expires_at: value });
  });

  test.each([0, 1, 604_800])("overlap of %i s", async (overlap_seconds) => {
    await expectFits("POST", `${KEY}/rotate`, { overlap_seconds });
    await expectFits("POST", `${WE}/rotate-secret`, { overlap_seconds });
  });
  test.each([-1, 604_801, 0.5, "60", null])("no overlap of %j", async (overlap_seconds) => {
    await expectRefused("POST", `${KEY}/rotate`, { overlap_seconds }, "overlap_seconds");
    await expectRefused("POST", `${WE}/rotate-secret`, { overlap_seconds }, "overlap_seconds");
  });
});

describe("webhook endpoints", () => {
  test.each([
    [{ url: "" }, "url"],
    [{ url: "x".repeat(2049) }, "url"],
    [{ url: "https://a.example/\n" }, "url"],
    [{}, "url"],
    [{ url: "u", events: [] }, "events"],
    [{ url: "u", events: ["deposit.confirmed", "deposit.confirmed"] }, "events"],
    [{ url: "u", events: ["deposit.*"] }, "events.0"],
    [{ url: "u", description: "x".repeat(201) }, "description"],
    [{ url: "u", secret: "whsec_x" }, "secret"],
    [{ url: "u", signature: "v2" }, "signature"],
    [{ url: "u", signature: null }, "signature"],
    [{ url: "u", api_version: "2026-11-01" }, "api_version"],
  ])("%j", async (body, at) => {
    await expectRefused("POST", "/v1/webhook-endpoints", body, at);
  });
  test("a patch changes something", async () => {
    await expectRefused("PATCH", WE, {}, "");
    await expectRefused("PATCH", WE, { url: null }, "url");
    await expectRefused("PATCH", WE, { signature: "v1a" }, "signature");
    await expectRefused("PATCH", WE, { status: "enabled" }, "status");
  });
  test.each([
    [{}, ""],
    [{ after_sequence: 1, since: "2026-01-01T00:00:00Z" }, ""],
    [{ after_sequence: -1 }, "after_sequence"],
    [{ after_sequence: "1" }, "after_sequence"],
    [{ since: "yesterday" }, "since"],
  ])("a replay from %j", async (body, at) => {
    await expectRefused("POST", `${WE}/replay`, body, at);
  });
});

describe("lists", () => {
  test.each(["0", "201", "-1", "1.5", "1e2", "0x10", " 5", "5 ", "", "050", "all", "５", "9".repeat(40)])(
    "limit=%j",
    async (limit) => {
      await expectRefused("GET", `/v1/deposits?limit=${encodeURIComponent(limit)}`, undefined, "limit");
    },
  );
  test.each(["1", "200"])("limit=%s fits", async (limit) => {
    await expectFits("GET", `/v1/deposits?limit=${limit}`);
  });
  test("a parameter twice", async () => {
    await expectRefused("GET", "/v1/deposits?limit=1&limit=2", undefined, "limit");
    await expectRefused("GET", "/v1/deposits?network=a&network=b", undefined, "network");
  });
  test.each([
    ["status", "done"],
    ["network", ""],
    ["account", ""],
    ["asset", "a\tb"],
    ["tx_id", "x".repeat(129)],
  ])("%s=%j", async (name, value) => {
    await expectRefused("GET", `/v1/deposits?${name}=${encodeURIComponent(value)}`, undefined, name);
  });

  test.each([
    "/v1/deposits",
    "/v1/addresses",
    "/v1/api-keys",
    "/v1/balances",
    "/v1/ledger/entries",
    "/v1/webhook-endpoints",
    `${WE}/deliveries`,
    "/v1/assets",
    "/v1/networks",
    "/v1/withdrawals",
    "/v1/wallets",
  ])("B128: a cursor that cannot be one is 400: %s", async (path) => {
    for (const cursor of ["", "a b", "\u0000", "é", "x".repeat(513)]) {
      await expectRefused("GET", `${path}?cursor=${encodeURIComponent(cursor)}`, undefined, "cursor", "invalid_cursor");
    }
  });
});

describe("events", () => {
  test.each(["-1", "1.0", "01", "1e3", "", "9007199254740992", "a"])("after=%j", async (after) => {
    await expectRefused("GET", `/v1/events?after=${after}`, undefined, "after");
    await expectRefused("GET", `/v1/events?cursor=${after}`, undefined, "cursor", "invalid_cursor");
  });
  test.each(["-1", "26", "1.5", "01", "", "1e1", "a", " 1"])("wait=%j", async (wait) => {
    await expectRefused("GET", `/v1/events?wait=${encodeURIComponent(wait)}`, undefined, "wait");
  });
  test("after and cursor", async () => {
    await expectRefused("GET", "/v1/events?after=1&cursor=2", undefined, "after");
  });
  test.each(["", ",", "deposit.confirmed,", "deposit", "deposit.confirmed, deposit.reverted"])(
    "types=%j",
    async (types) => {
      const { response, calls } = await send("GET", `/v1/events?types=${encodeURIComponent(types)}`);
      const problem = await problemOf(response);
      expect(problem.code).toBe("invalid_fields");
      expect(problem.errors?.every(({ path }) => path.startsWith("types"))).toBe(true);
      expect(calls).toEqual([]);
    },
  );
});

describe("backfills", () => {
  const base = { network: "local", from_height: 5, to_height: 9 };
  test("a range upside down", async () => {
    await expectRefused("POST", "/v1/backfills", { ...base, to_height: 4 }, "", "invalid_range");
  });
  test.each([-1, 1.5, "5", null, 2 ** 53])("no height %j", async (height) => {
    await expectRefused("POST", "/v1/backfills", { ...base, from_height: height }, "from_height");
  });
});

describe("confirmation policies", () => {
  const path = "/v1/policies/confirmations/local";
  const withFrom = (from: unknown) => ({ assets: { USDC: { amounts: [{ from, confirmations: 3 }] } } });
  const at = "assets.USDC.amounts.0.from";

  // B121, B124. How many decimals fit (B122) depends on the asset, which its object knows.
  test.each([
    "4.5e-7",
    9.955189695275411e-7,
    10,
    "1e18",
    "1E+2",
    ".",
    "-",
    "-.",
    "",
    "5.",
    ".5",
    "1,5",
    "1 000",
    "+1",
    "-1",
    "-0",
    "00012",
    "1_000",
    "0x10",
    "１２",
    "١٢",
    "12abc",
    "12\n",
    " 12",
    "NaN",
    "Infinity",
    null,
    true,
    [1],
    { a: 1 },
    "9".repeat(161),
    `${1n << 256n}`,
  ])("from %j is no amount", async (from) => {
    await expectRefused("PUT", path, withFrom(from), at);
  });
  test.each(["0", "10", "10.0", "0.000001", "630.0056882018259", `${(1n << 256n) - 1n}`])(
    "from %j may be one",
    async (from) => {
      await expectFits("PUT", path, withFrom(from));
    },
  );

  test.each([0, -1, 1.5, "3", "safe", null, true, {}])("no rule %j", async (confirmations) => {
    await expectRefused(
      "PUT",
      path,
      { assets: { USDC: { amounts: [{ from: "1", confirmations }] } } },
      "assets.USDC.amounts.0.confirmations",
    );
  });
  test("bounds and unknown fields inside", async () => {
    const amounts = Array.from({ length: 51 }, (_, i) => ({ from: `${i}`, confirmations: 1 }));
    await expectRefused("PUT", path, { assets: { A: { amounts } } }, "assets.A.amounts");
    const assets = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`T${i}`, {}]));
    await expectRefused("PUT", path, { assets }, "assets");
    await expectRefused(
      "PUT",
      path,
      { assets: { A: { amounts: [{ from: "1", confirmations: 1, x: 1 }] } } },
      "assets.A.amounts.0.x",
    );
    await expectRefused("PUT", path, { assets: { "a\nb": {} } }, "assets.a\nb");
  });
  test("a network that cannot be one is unknown", async () => {
    await expectRefused("PUT", "/v1/policies/confirmations/Not%20One", {}, "", "not_found");
  });
});

test("many errors are cut off, and long names with them", async () => {
  const body = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${i}${"x".repeat(200)}`, 1]));
  const { response } = await send("POST", "/v1/addresses", body);
  const problem = await problemOf(response);
  expect(problem.errors).toHaveLength(20);
  for (const { path } of problem.errors ?? []) expect(path.length).toBeLessThanOrEqual(100);
});
