/** One tenant's object in workerd: keys, repeated requests, foreign ids, pages, policies, and what it makes of observations. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MAX_MEMO_BYTES, UNMINED } from "../../src/core/transfer.ts";
import type { ApiKeyView, DepositView, Page, Scope } from "../../src/core/views.ts";
import { type Tenant, WebhookEndpoint } from "../../src/index.ts";
import type { Observation, Observed, SeenTransfer } from "../../src/objects/api.ts";
import { EventAppender } from "../../src/store/tenant/event-store.ts";
import { EVENT_LOG } from "../support/event-log.ts";
import { newAddress, pay } from "../support/model-chain.ts";
import { call, checkBooks, DAY_MS, DB, Merchant, node, quiet, startLine, time } from "./line.ts";

beforeEach(() => startLine());
afterEach(() => {
  vi.restoreAllMocks();
});

const codeOf = async (response: Response) => `${response.status} ${((await response.json()) as { code: string }).code}`;

async function makeKey(
  merchant: Merchant,
  scopes: Scope[],
  more: object = {},
): Promise<ApiKeyView & { secret: string }> {
  const response = await merchant.call("POST", "/v1/api-keys", { body: { name: "a key", scopes, ...more } });
  expect(response.status).toBe(201);
  return response.json();
}

const tenantStatus = async (key: string) => (await call("GET", "/v1/tenant", { key })).status;

describe("keys", () => {
  let merchant: Merchant;
  beforeEach(async () => {
    merchant = await Merchant.signUp();
    // Keys are compared with the clock of the day.
    await merchant.inside((object) => {
      object.clock = () => Date.now();
    });
  });

  it("each scope opens its own calls, and admin all of them", async () => {
    const calls: [Scope, string, string, object | undefined][] = [
      ["read", "GET", "/v1/deposits", undefined],
      ["addresses:write", "POST", "/v1/backfills", { network: "local", from_height: 1, to_height: 2 }],
      ["addresses:write", "POST", "/v1/addresses", { network: "local", address: "0x" }],
      ["addresses:write", "POST", "/v1/assets", { network: "local", contract: "0x" }],
      ["webhooks:write", "POST", "/v1/webhook-endpoints", { url: "https://" }],
      ["admin", "POST", "/v1/api-keys", { name: "x", scopes: ["read"] }],
      ["admin", "PUT", "/v1/policies/confirmations/nowhere", {}],
    ];
    const held = ["read", "addresses:write", "webhooks:write", "withdrawals:write", "withdrawals:approve"] as const;
    const keys = await Promise.all(
      held.map(async (scope) => ({ scope, key: (await makeKey(merchant, [scope])).secret })),
    );
    for (const [needed, method, path, body] of calls) {
      for (const { scope, key } of [...keys, { scope: "admin", key: merchant.key }]) {
        const { status } = await call(method, path, { key, body });
        expect([path, scope, status === 403]).toEqual([path, scope, scope !== needed && scope !== "admin"]);
      }
    }
  });

  it("a key ends when it was to end, to the millisecond", async () => {
    const endsAt = Date.now() + DAY_MS;
    const { secret } = await makeKey(merchant, ["read"], { expires_at: new Date(endsAt).toISOString() });
    const at = async (now: number) => {
      await merchant.inside((object) => {
        object.clock = () => now;
      });
      return tenantStatus(secret);
    };
    expect(await at(endsAt - 1)).toBe(200);
    expect(await at(endsAt)).toBe(401);
  });

  it("rotation: both open during the overlap, the new one alone after it", async () => {
    const old = await makeKey(merchant, ["read"]);
    const rotated = await merchant.call("POST", `/v1/api-keys/${old.id}/rotate`, { body: { overlap_seconds: 60 } });
    const fresh = (await rotated.json()) as ApiKeyView & { secret: string };
    expect(fresh.scopes).toEqual(["read"]);
    expect([await tenantStatus(old.secret), await tenantStatus(fresh.secret)]).toEqual([200, 200]);
    await merchant.inside((object) => {
      object.clock = () => Date.now() + 61_000;
    });
    expect([await tenantStatus(old.secret), await tenantStatus(fresh.secret)]).toEqual([401, 200]);
    expect(await codeOf(await merchant.call("POST", `/v1/api-keys/${old.id}/rotate`))).toBe("409 state_conflict");
  });

  it("a revoked key is refused from that commit on, also after a restart and with D1 away", async () => {
    quiet("error");
    const { id, secret } = await makeKey(merchant, ["read"]);
    vi.spyOn(Object.getPrototypeOf(DB.prepare("SELECT 1")), "run").mockRejectedValue(new Error("away"));
    expect(await codeOf(await merchant.call("DELETE", `/v1/api-keys/${id}`))).toBe("503 store_unavailable");
    expect(await tenantStatus(secret)).toBe(401);
    await merchant.evict();
    expect(await tenantStatus(secret)).toBe(401);
    vi.restoreAllMocks();
    expect((await merchant.call("DELETE", `/v1/api-keys/${id}`)).status).toBe(204);
    expect(
      await DB.prepare("SELECT revoked_at FROM api_keys WHERE id = ?").bind(id).first("revoked_at"),
    ).not.toBeNull();
  });

  it("the last key of all is rotated with D1 away: its secret is shown all the same", async () => {
    quiet("warn", "error");
    const prototype = Object.getPrototypeOf(DB.prepare("SELECT 1")) as D1PreparedStatement;
    const honest = prototype.run;
    let calls = 0;
    vi.spyOn(prototype, "run").mockImplementation(async function (this: D1PreparedStatement) {
      if (++calls > 1) throw new Error("away");
      return honest.call(this);
    } as typeof honest);
    const rotated = await merchant.call("POST", `/v1/api-keys/${merchant.keyId}/rotate`, {
      body: { overlap_seconds: 0 },
    });
    expect(rotated.status).toBe(201);
    const { secret } = (await rotated.json()) as { secret: string };
    expect([await tenantStatus(merchant.key), await tenantStatus(secret)]).toEqual([401, 200]);
  });
});

describe("I10 a repeated request", () => {
  let merchant: Merchant;
  let endpoint: string;
  beforeEach(async () => {
    merchant = await Merchant.signUp();
    await merchant.watch(newAddress());
    const made = await merchant.call("POST", "/v1/webhook-endpoints", { body: { url: "https://hook.example/a" } });
    endpoint = ((await made.json()) as { id: string }).id;
  });

  const token = newAddress();
  const posts: Record<string, () => readonly [path: string, body: object, other: object]> = {
    "a key": () => ["/v1/api-keys", { name: "a", scopes: ["read"] }, { name: "b", scopes: ["read"] }],
    "a rotation": () => [`/v1/api-keys/${merchant.keyId}/rotate`, { overlap_seconds: 60 }, { overlap_seconds: 61 }],
    "an address": () => {
      const address = newAddress();
      return ["/v1/addresses", { network: "local", address }, { network: "local", address, account: "b" }];
    },
    "an asset": () => [
      "/v1/assets",
      { network: "local", contract: token },
      { network: "local", contract: newAddress() },
    ],
    "an endpoint": () => [
      "/v1/webhook-endpoints",
      { url: "https://hook.example/b" },
      { url: "https://hook.example/c" },
    ],
    "a secret's rotation": () => [
      `/v1/webhook-endpoints/${endpoint}/rotate-secret`,
      { overlap_seconds: 60 },
      { overlap_seconds: 61 },
    ],
    "a replay of events": () => [
      `/v1/webhook-endpoints/${endpoint}/replay`,
      { after_sequence: 0 },
      { after_sequence: 1 },
    ],
    "a backfill": () => [
      "/v1/backfills",
      { network: "local", from_height: 1, to_height: 2 },
      { network: "local", from_height: 1, to_height: 3 },
    ],
  };

  it.each(Object.keys(posts))(
    "for %s: the same object, marked as replayed; another request is refused",
    async (name) => {
      node.tokens.set(token, { symbol: "TOK", decimals: 6 });
      const [path, body, other] = posts[name]?.() ?? ["", {}, {}];
      const headers = { "Idempotency-Key": `key of ${name}` };
      const withoutSecret = async (response: Response) => {
        const { secret: _, ...rest } = (await response.json()) as Record<string, unknown>;
        return rest;
      };
      const first = await merchant.call("POST", path, { body, headers });
      expect([first.ok, first.headers.get("idempotent-replayed")]).toEqual([true, null]);
      const made = await withoutSecret(first);
      const again = await merchant.call("POST", path, { body, headers });
      expect([again.ok, again.headers.get("idempotent-replayed")]).toEqual([true, "true"]);
      expect(await withoutSecret(again)).toEqual(made);
      expect(await codeOf(await merchant.call("POST", path, { body: other, headers }))).toBe(
        "422 idempotency_key_reused",
      );
      const elsewhere = { body: { name: "x", scopes: ["read"] }, headers };
      expect(await codeOf(await merchant.call("POST", "/v1/api-keys", elsewhere))).toBe("422 idempotency_key_reused");
    },
  );

  it("sent five times at once, makes one of each", async () => {
    const address = newAddress();
    const twins = async (path: string, body: object) => {
      const headers = { "Idempotency-Key": `twins ${path}` };
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => merchant.call("POST", path, { body, headers })),
      );
      const made = (await Promise.all(answers.map((answer) => answer.json()))) as { id: string }[];
      expect(answers.filter((answer) => answer.headers.get("idempotent-replayed") === null)).toHaveLength(1);
      return new Set(made.map(({ id }) => id)).size;
    };
    expect(await twins("/v1/api-keys", { name: "a", scopes: ["read"] })).toBe(1);
    expect(await twins("/v1/addresses", { network: "local", address })).toBe(1);
    expect(await twins("/v1/backfills", { network: "local", from_height: 1, to_height: 2 })).toBe(1);
  });

  it("the endpoint whose object did not answer gets its secret from the repeated request", async () => {
    quiet("error");
    const request = { body: { url: "https://hook.example/d" }, headers: { "Idempotency-Key": "d" } };
    const configure = vi
      .spyOn(WebhookEndpoint.prototype, "configure")
      .mockRejectedValue(new Error("Network connection lost."));
    expect((await merchant.call("POST", "/v1/webhook-endpoints", request)).status).toBe(503);
    configure.mockRestore();
    const again = await merchant.call("POST", "/v1/webhook-endpoints", request);
    expect(((await again.json()) as { secret?: string }).secret).toMatch(/^whsec_/);
  });

  it("B133 an address whose claim was applied and whose answer was lost", async () => {
    quiet("error");
    const body = { network: "local", address: newAddress() };
    const prototype = Object.getPrototypeOf(DB) as D1Database;
    const honest = prototype.batch;
    vi.spyOn(prototype, "batch").mockImplementationOnce(async function (this: D1Database, list) {
      await honest.call(this, list);
      throw new Error("D1_ERROR: Network connection lost.");
    });
    expect(await codeOf(await merchant.call("POST", "/v1/addresses", { body }))).toBe("503 store_unavailable");
    expect((await merchant.get<Page<object>>("/v1/addresses")).data).toHaveLength(1);
    expect((await merchant.call("POST", "/v1/addresses", { body })).status).toBe(201);
    expect((await merchant.call("POST", "/v1/addresses", { body })).status).toBe(200);
  });
});

/** Observations as the scanner would make them. */
class Scans {
  version = 0;
  constructor(
    readonly merchant: Merchant,
    readonly address: string,
  ) {}

  static async of(merchant: Merchant): Promise<Scans> {
    const address = newAddress();
    await merchant.watch(address);
    return new Scans(merchant, address);
  }

  transfer(height: number, amountUnits: bigint, more: Partial<SeenTransfer> = {}): SeenTransfer {
    const at = { height, blockHash: `0x${height}`, timestamp: height };
    return {
      txId: pay(this.address, 0n).hash,
      transferIndex: "value",
      address: this.address,
      asset: "native",
      amountUnits,
      ...at,
      ...more,
    };
  }

  async observe(head: number, more: Partial<Observation> = {}): Promise<Observed> {
    const base = this.version === 0 ? null : this.version;
    const observation: Observation = {
      network: "local",
      version: ++this.version,
      base,
      head,
      headTimestamp: head,
      finalized: -1,
      windowFrom: Math.max(0, head - 19),
      added: [],
      removed: [],
      reopenedFrom: null,
      ...more,
    };
    return (await this.merchant.stub.observe(observation)) as Observed;
  }
}

describe("observations", () => {
  let merchant: Merchant;
  let scans: Scans;
  beforeEach(async () => {
    merchant = await Merchant.signUp();
    scans = await Scans.of(merchant);
  });
  afterEach(() => checkBooks(merchant));

  it("an older one, and the same one again, change nothing", async () => {
    const added = [scans.transfer(100, 5n)];
    expect(await scans.observe(100, { added })).toMatchObject({ kind: "acknowledged", version: 1, nextHeight: 102 });
    await scans.observe(102);
    scans.version = 0;
    const again = { kind: "acknowledged", version: 2, head: 102, nextHeight: 120, nextFinalized: null };
    expect(await scans.observe(100, { added })).toEqual(again);
    expect(await scans.observe(100, { added: [], removed: added })).toEqual(again);
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("a difference against another version is not taken: the whole is asked for", async () => {
    expect(await scans.observe(100, { base: 7 })).toEqual({ kind: "whole_needed", version: 0 });
    await scans.observe(100, { base: null });
    expect(await scans.observe(101, { base: 9, added: [scans.transfer(101, 1n)] })).toMatchObject({
      kind: "whole_needed",
      version: 2,
    });
    expect(await merchant.told()).toBe("");
  });

  it("the whole: what it does not name is gone at or above its window, and set aside below it", async () => {
    quiet("warn");
    const [old, recent] = [scans.transfer(100, 5n), scans.transfer(110, 7n)];
    await scans.observe(112, { added: [old, recent] });
    expect(await scans.observe(125, { base: null, added: [] })).toMatchObject({
      nextHeight: null,
      nextFinalized: null,
    });
    expect(await merchant.told()).toBe("pending confirmed pending confirmed reverted");
    expect((await merchant.deposits()).map((d) => `${d.block_height} ${d.status}`)).toEqual([
      "110 reverted",
      "100 confirmed",
    ]);
    await scans.observe(200);
    expect((await merchant.deposits()).map((d) => d.status)).toEqual(["reverted", "confirmed"]);
  });

  describe("of a pool", () => {
    const waiting = { height: UNMINED, blockHash: "", timestamp: 0 };

    it("say nothing against what stands in a block below the window, and nothing that a removal there would undo", async () => {
      const paid = scans.transfer(100, 5n);
      await scans.observe(102, { added: [paid] });
      const before = await merchant.deposit();
      // Not settled yet as far as this tenant has heard, and settled already.
      for (const says of ["pending confirmed settled", "pending confirmed settled"]) {
        await scans.observe(125, { added: [{ ...paid, ...waiting }] });
        await scans.observe(125, { removed: [{ ...paid, wasUnmined: true }] });
        expect(await merchant.told()).toBe(says);
      }
      expect(await merchant.deposit()).toMatchObject({ id: before.id, block_height: 100, epoch: 1 });
    });

    it("count again once a reorganisation took the payment out, however far the window has moved", async () => {
      const paid = scans.transfer(100, 5n);
      await scans.observe(102, { added: [paid] });
      await scans.observe(125, { added: [{ ...paid, ...waiting }], removed: [paid] });
      expect(await merchant.told()).toBe("pending confirmed reverted pending");
      await scans.observe(126, { removed: [{ ...paid, wasUnmined: true }] });
      expect(await merchant.told()).toBe("pending confirmed reverted pending dropped");
    });

    it("a removal of what waited does not undo what was mined, one of what was mined does", async () => {
      const paid = scans.transfer(100, 5n);
      await scans.observe(99, { added: [{ ...paid, ...waiting }] });
      await scans.observe(100, { added: [paid], removed: [{ ...paid, wasUnmined: true }] });
      await scans.observe(102, { removed: [{ ...paid, wasUnmined: true }] });
      expect(await merchant.told()).toBe("pending confirmed");
      await scans.observe(103, { removed: [{ ...paid, wasUnmined: true }, paid] });
      expect(await merchant.told()).toBe("pending confirmed reverted");
    });

    it("the whole that does not name what waits drops it", async () => {
      const [a, b] = [scans.transfer(0, 1n, waiting), scans.transfer(0, 2n, waiting)];
      expect(await scans.observe(100, { added: [a, b] })).toMatchObject({ nextHeight: null, nextFinalized: null });
      await scans.observe(100, { base: null, added: [b] });
      expect((await merchant.deposits()).map((d) => `${d.amount_units} ${d.status}`)).toEqual([
        "2 pending",
        "1 dropped",
      ]);
    });
  });

  it("B132 a commit that breaks off in the middle leaves nothing of itself", async () => {
    quiet("error", "warn");
    const tables = ["transfers", "deposits", "ledger_entries", "balances", "events", "deposit_events", "networks"];
    const rows = () =>
      merchant.inside((_, sql) => tables.map((table) => JSON.stringify(sql.exec(`SELECT * FROM ${table}`).toArray())));
    await scans.observe(100, { added: [scans.transfer(100, 5n)] });
    const before = await rows();
    const honest = EventAppender.prototype.appendToDeposit;
    let appended = 0;
    const append = vi.spyOn(EventAppender.prototype, "appendToDeposit").mockImplementation(function (
      this: EventAppender,
      ...args
    ) {
      if (++appended === 3) throw new Error("the third event cannot be written");
      return honest.apply(this, args);
    });
    const added = [scans.transfer(101, 1n), scans.transfer(102, 2n), scans.transfer(103, 3n)];
    await expect(async () => scans.observe(103, { added })).rejects.toThrow("third event");
    expect(appended).toBe(3);
    expect(await rows()).toEqual(before);
    append.mockRestore();
    scans.version = 1;
    await scans.observe(103, { added });
    expect(await merchant.told()).toBe("pending pending confirmed pending pending confirmed");
  });

  it("a slice of a backfill that comes after the reorganisation it did not see is counted, not told", async () => {
    const gone = scans.transfer(95, 5n);
    await scans.observe(100, { added: [gone] });
    await scans.observe(101, { removed: [gone] });
    const body = { network: "local", from_height: 10, to_height: 40 };
    const { id } = (await (await merchant.call("POST", "/v1/backfills", { body })).json()) as { id: string };
    const slice = { backfillId: id, network: "local", head: 100, headTimestamp: 100, finalized: -1, windowFrom: 81 };
    const numbers = { transfers: [gone, scans.transfer(20, 7n)], conflicts: 0, last: true };
    const told = await merchant.stub.backfillSlice({ ...slice, ...numbers, fromHeight: 10, toHeight: 100 });
    expect(told).toEqual({ nextHeight: 101 });
    expect(await merchant.told()).toBe("pending confirmed reverted pending confirmed settled");
    expect(await merchant.get(`/v1/backfills/${id}`)).toMatchObject({ status: "done", found: 2, added: 2 });
    expect((await merchant.balances())[0]).toMatchObject({ available: "0.000000000000000007" });
  });

  it("an event and what it tells of are one commit, whatever its size", async () => {
    const added = Array.from({ length: 300 }, (_, i) => scans.transfer(100 + (i % 10), 1n));
    await scans.observe(111, { added });
    const events = await merchant.events();
    expect(events).toHaveLength(600);
    expect(Math.max(...events.map((event) => JSON.stringify(event).length))).toBeLessThan(20_000);
  });

  it("a memo is kept as it was written, shown and told, and does not tell payments apart", async () => {
    const memo = "\u0001".repeat(MAX_MEMO_BYTES);
    const [noted, plain] = [{ ...scans.transfer(100, 5n), memo }, scans.transfer(100, 6n)];
    await scans.observe(102, { added: [noted, plain] });
    const { data } = await merchant.get<Page<DepositView>>("/v1/deposits");
    expect(data.map((deposit) => [deposit.tx_id, deposit.memo])).toEqual([
      [plain.txId, null],
      [noted.txId, memo],
    ]);
    // Read again without it, as by an older copy of the scanner: the same payment.
    const { memo: _, ...bare } = noted;
    await scans.observe(103, { added: [bare] });
    expect(await merchant.told()).toBe("pending confirmed pending confirmed");
    const told = (await merchant.events()).map(({ data }) => data as DepositView);
    expect(told.map((deposit) => deposit.memo)).toEqual([memo, memo, null, null]);
    const bodies = await merchant.inside((_, sql) => sql.exec(`SELECT body FROM ${EVENT_LOG}`).toArray());
    expect(bodies.filter(({ body }) => String(body).includes("\\u0001".repeat(MAX_MEMO_BYTES)))).toHaveLength(2);
    expect(Math.max(...bodies.map(({ body }) => new TextEncoder().encode(String(body)).length))).toBeLessThan(5_000);
  });

  it("the account of an address that was deleted and taken again is the new one, for what comes then", async () => {
    const { data } = await merchant.get<Page<{ id: string; address: string }>>("/v1/addresses");
    const first = scans.transfer(100, 5n);
    await scans.observe(102, { added: [first] });
    await merchant.call("DELETE", `/v1/addresses/${data[0]?.id}`);
    await merchant.watch(scans.address, { account: "bob" });
    await scans.observe(105, { added: [scans.transfer(103, 7n)] });
    await scans.observe(106, { removed: [first] });
    const balances = (await merchant.balances()).map((b) => `${b.account} ${b.available} ${b.debt}`);
    expect(balances).toEqual(["bob 0.000000000000000007 0", "default 0 0"]);
  });
});

describe("policies", () => {
  let merchant: Merchant;
  let scans: Scans;
  beforeEach(async () => {
    merchant = await Merchant.signUp();
    scans = await Scans.of(merchant);
  });
  const put = (body: object) => merchant.call("PUT", "/v1/policies/confirmations/local", { body });
  const required = async () => (await merchant.deposits()).map((d) => d.confirmations_required);

  it("by network, by asset, by amount: the most specific decides, and stays with the payment", async () => {
    const wei = 10n ** 18n;
    await scans.observe(100, { added: [scans.transfer(100, wei)] });
    const amounts = [
      { from: "1", confirmations: 5 },
      { from: "10", confirmations: 12 },
    ];
    expect((await put({ default: 2, assets: { ETH: { default: 4, amounts } } })).status).toBe(200);
    const units = [wei - 1n, wei, 10n * wei - 1n, 10n * wei];
    await scans.observe(101, { added: units.map((amount) => scans.transfer(101, amount)) });
    expect(await required()).toEqual([12, 5, 5, 4, 3]);
    await scans.observe(102);
    await scans.observe(104);
    await scans.observe(105);
    expect((await merchant.deposits()).map((d) => d.status)).toEqual([
      "pending",
      "confirmed",
      "confirmed",
      "confirmed",
      "confirmed",
    ]);
    expect((await put({})).status).toBe(200);
    await scans.observe(106);
    expect((await merchant.deposits())[0]?.status).toBe("pending");
    await checkBooks(merchant);
  });

  it("the chain's own tag as a rule", async () => {
    await put({ default: "finalized" });
    await scans.observe(100, { added: [scans.transfer(100, 1n)] });
    expect(await scans.observe(105, { finalized: 99 })).toMatchObject({ nextHeight: 120, nextFinalized: 100 });
    expect(await merchant.told()).toBe("pending");
    expect(await required()).toEqual([null]);
    await scans.observe(106, { finalized: 100 });
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it.each([
    ["a depth beyond the window", { default: 21 }, "default"],
    ["an asset that is not listed", { assets: { XYZ: {} } }, "assets.XYZ"],
    [
      "an amount named twice",
      {
        assets: {
          ETH: {
            amounts: [
              { from: "1", confirmations: 1 },
              { from: "1.0", confirmations: 2 },
            ],
          },
        },
      },
      "assets.ETH.amounts.1.from",
    ],
    [
      "too many decimals",
      { assets: { ETH: { amounts: [{ from: `0.${"0".repeat(18)}1`, confirmations: 1 }] } } },
      "assets.ETH.amounts.0.from",
    ],
  ])("%s is refused, and what was set stays", async (_, body, path) => {
    await put({ default: 7 });
    const refused = await put(body);
    expect(refused.status).toBe(422);
    expect(((await refused.json()) as { errors: { path: string }[] }).errors.map((e) => e.path)).toEqual([path]);
    const { confirmations } = (await merchant.get("/v1/policies")) as { confirmations: unknown };
    expect(confirmations).toEqual({ local: { default: 7, assets: {} } });
  });
});

describe("lists", () => {
  it("B128 201 deposits of one moment, page by page, while others come in: every one exactly once", async () => {
    const merchant = await Merchant.signUp();
    const scans = await Scans.of(merchant);
    await scans.observe(100, { added: Array.from({ length: 201 }, () => scans.transfer(100, 1n)) });
    const all = await merchant.inside((_, sql) => sql.exec("SELECT id FROM deposits ORDER BY seq DESC").toArray());
    for (const limit of [200, 50, 7]) {
      const seen: string[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const query = cursor === "" ? "" : `&cursor=${cursor}`;
        const page: Page<DepositView> = await merchant.get(`/v1/deposits?status=pending&limit=${limit}${query}`);
        seen.push(...page.data.map((d) => d.id));
        cursor = page.next_cursor;
        await scans.observe(101, { added: [scans.transfer(101, 2n, { address: scans.address })] });
      }
      const known = new Set(all.map((row) => row.id));
      expect(seen.filter((id) => known.has(id))).toEqual(all.map((row) => row.id));
    }
    expect(new Set((await merchant.deposits()).map((d) => d.created_at)).size).toBe(1);
  });

  it("each filter finds its own, and nothing is a filter that finds all", async () => {
    const merchant = await Merchant.signUp();
    const scans = await Scans.of(merchant);
    const [a, b] = [scans.transfer(100, 1n), scans.transfer(104, 2n)];
    await scans.observe(104, { added: [a, b] });
    const found = async (query: string) =>
      (await merchant.get<Page<DepositView>>(`/v1/deposits?${query}`)).data.map((d) => d.amount_units).join();
    expect(await found("")).toBe("2,1");
    expect(await found("status=confirmed")).toBe("1");
    expect(await found(`tx_id=${b.txId}`)).toBe("2");
    expect(await found(`address=0x${scans.address.slice(2).toUpperCase()}`)).toBe("2,1");
    expect(await found(`address=${newAddress()}`)).toBe("");
    expect(await found("asset=ETH")).toBe("2,1");
    expect(await found("asset=XYZ")).toBe("");
    expect(await found("network=ethereum")).toBe("");
    expect(await found("account=default")).toBe("2,1");
    expect(await found("account=alice")).toBe("");
  });
});

describe("B130 I14 another tenant's things", () => {
  it("are unknown, with the same body as what never was, and unharmed", async () => {
    const [ours, theirs] = [await Merchant.signUp(), await Merchant.signUp()];
    const scans = await Scans.of(theirs);
    await scans.observe(100, { added: [scans.transfer(100, 1n)] });
    const post = async (path: string, body: object) =>
      ((await (await theirs.call("POST", path, { body })).json()) as { id: string }).id;
    const ids = {
      addr: (await theirs.get<Page<{ id: string }>>("/v1/addresses")).data[0]?.id ?? "",
      dep: (await theirs.deposit()).id,
      evt: (await theirs.events())[0]?.id ?? "",
      bf: await post("/v1/backfills", { network: "local", from_height: 1, to_height: 2 }),
      we: await post("/v1/webhook-endpoints", { url: "https://hook.example/a" }),
      key: theirs.keyId,
    };
    const calls: [string, keyof typeof ids, string, object?][] = [
      ["GET", "addr", "/v1/addresses/:id"],
      ["DELETE", "addr", "/v1/addresses/:id"],
      ["GET", "dep", "/v1/deposits/:id"],
      ["GET", "evt", "/v1/events/:id"],
      ["GET", "bf", "/v1/backfills/:id"],
      ["GET", "we", "/v1/webhook-endpoints/:id"],
      ["PATCH", "we", "/v1/webhook-endpoints/:id", { description: "x" }],
      ["DELETE", "we", "/v1/webhook-endpoints/:id"],
      ["POST", "we", "/v1/webhook-endpoints/:id/rotate-secret"],
      ["POST", "we", "/v1/webhook-endpoints/:id/test"],
      ["POST", "we", "/v1/webhook-endpoints/:id/enable"],
      ["POST", "we", "/v1/webhook-endpoints/:id/disable"],
      ["POST", "we", `/v1/webhook-endpoints/:id/deliveries/del_${"0".repeat(26)}/resend`],
      ["POST", "we", "/v1/webhook-endpoints/:id/replay", { after_sequence: 0 }],
      ["GET", "we", "/v1/webhook-endpoints/:id/deliveries"],
      ["DELETE", "key", "/v1/api-keys/:id"],
      ["POST", "key", "/v1/api-keys/:id/rotate"],
    ];
    const before = await theirs.events();
    for (const [method, kind, path, body] of calls) {
      const answers = await Promise.all(
        [ids[kind], `${kind}_${"0".repeat(26)}`].map(async (id) => {
          const response = await ours.call(method, path.replace(":id", id), { body });
          const { request_id: _, ...rest } = (await response.json()) as Record<string, unknown>;
          return rest;
        }),
      );
      expect([method, path, answers[0]?.status]).toEqual([method, path, 404]);
      expect(answers[0]).toEqual(answers[1]);
    }
    expect(await theirs.events()).toEqual(before);
    for (const list of ["addresses", "deposits", "balances", "events", "webhook-endpoints"]) {
      expect((await ours.get<Page<object>>(`/v1/${list}`)).data).toEqual([]);
    }
    expect((await theirs.get<Page<object>>("/v1/addresses")).data).toHaveLength(1);
    expect((await theirs.get<Page<object>>("/v1/webhook-endpoints")).data).toHaveLength(1);
  });

  it("a caller that reached another tenant's object is not served", async () => {
    const [ours, theirs] = [await Merchant.signUp(), await Merchant.signUp()];
    const hash = await ours.inside((_, sql) => sql.exec<{ hash: string }>("SELECT hash FROM api_keys").one().hash);
    const answer = (await theirs.stub.getTenant({ tenantId: ours.id, keyHash: hash, requestId: "req_1" })) as {
      ok: boolean;
    };
    expect(answer.ok).toBe(false);
  });
});

describe("the tenant's alarm", () => {
  it("gives back what a delete could not, when D1 and the scanner are there again", async () => {
    quiet("warn", "error");
    const merchant = await Merchant.signUp();
    const address = newAddress();
    const { id } = await merchant.watch(address);
    vi.spyOn(Object.getPrototypeOf(DB.prepare("SELECT 1")), "run").mockRejectedValue(new Error("away"));
    expect((await merchant.call("DELETE", `/v1/addresses/${id}`)).status).toBe(503);
    expect((await merchant.call("GET", `/v1/addresses/${id}`)).status).toBe(404);
    const alarm = () => merchant.inside((object: Tenant) => object.alarm());
    await alarm();
    const claimed = () => DB.prepare("SELECT count(*) AS n FROM addresses WHERE address = ?").bind(address).first("n");
    vi.restoreAllMocks();
    expect(await claimed()).toBe(1);
    time.now += 20_000;
    await alarm();
    expect(await claimed()).toBe(0);
  });
});
