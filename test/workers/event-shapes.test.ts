/**
 * The shape of every event, as merchants' programs rely on it: which keys there are and what kind of value each has,
 * in files of their own. The events are real ones. A file that does not fit any more is a change of the contract:
 * a field that was added belongs into it; anything else needs a new API version (src/core/api-version.ts).
 */

import { afterAll, describe, expect, it, vi } from "vitest";
import { API_VERSION } from "../../src/core/api-version.ts";
import { EVENT_TYPES, type EventType, type EventView } from "../../src/core/views.ts";
import { newAddress, pay, payTokens } from "../support/model-chain.ts";
import {
  call,
  chain,
  empty,
  local,
  Merchant,
  mineAndPoll,
  node,
  OPERATOR_TOKEN,
  poll,
  quiet,
  startLine,
} from "./line.ts";
import { ETH, PayingMerchant, startPayouts } from "./payout-line.ts";
import { Pool, servePools } from "./pools.ts";

declare global {
  interface ImportMeta {
    /** Vite's: read when the test is built, since workerd has no files. */
    glob<T>(pattern: string, options: { readonly eager: true; readonly import: "default" }): Record<string, T>;
  }
}

const files = import.meta.glob<Shape>("./event-shapes/*.json", { eager: true, import: "default" });

/** A kind of value, several as `a | b`; or what is inside. */
type Shape = string | { [key: string]: Shape } | [Shape] | [];

const seen = new Map<EventType, Shape>();

function shapeOf(value: unknown): Shape {
  if (Array.isArray(value)) return value.length === 0 ? [] : [value.map(shapeOf).reduce(merge)];
  if (value === null) return "null";
  if (typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, shapeOf(v)]));
  if (typeof value === "number") return Number.isSafeInteger(value) ? "integer" : "number";
  if (typeof value !== "string") return typeof value;
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)) return "time";
  if (/^(0|[1-9]\d*)(\.\d+)?$/.test(value)) return "decimal";
  const id = /^([a-z]+)_[0-9a-hjkmnp-tv-z]{26}$/.exec(value);
  if (id !== null) return `${id[1]}_`;
  return /^0x[0-9a-f]+$/.test(value) ? "hex" : "string";
}

/** What fits both. A key that one of them lacks stays visible as one that may be missing. */
function merge(a: Shape, b: Shape): Shape {
  if (typeof a === "string" && typeof b === "string")
    return [...new Set([...a.split(" | "), ...b.split(" | ")])].sort().join(" | ");
  if (Array.isArray(a) && Array.isArray(b)) {
    const [[x], [y]] = [a, b];
    return x === undefined ? b : y === undefined ? a : [merge(x, y)];
  }
  if (typeof a === "string" || typeof b === "string" || Array.isArray(a) || Array.isArray(b))
    throw new Error(`no shape fits both ${JSON.stringify(a)} and ${JSON.stringify(b)}`);
  const [left, right] = [a, b];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return Object.fromEntries(keys.map((key) => [key, merge(left[key] ?? "missing", right[key] ?? "missing")]));
}

function collect(events: readonly EventView[]): void {
  for (const event of events) {
    expect(event.api_version).toBe(API_VERSION);
    const before = seen.get(event.type);
    const shape = shapeOf(event);
    seen.set(event.type, before === undefined ? shape : merge(before, shape));
  }
}

afterAll(() => vi.restoreAllMocks());

describe("events", () => {
  it("of deposits, debts and networks happen", async () => {
    quiet("error", "warn");
    await startLine();
    const token = newAddress();
    node.tokens.set(token, { symbol: "TOK", decimals: 6 });
    const merchant = await Merchant.signUp();
    await merchant.call("POST", "/v1/assets", { body: { network: "local", contract: token } });
    const address = newAddress();
    await merchant.watch(address);
    await mineAndPoll([pay(address, ETH)]);
    chain.reorg(1, ...empty(2));
    await poll();
    await mineAndPoll([payTokens(token, [address, 5_000_000n])], [], []);
    // A withdrawal of 3, as the ledger would know it.
    await merchant.inside((_, sql) => {
      sql.exec(
        `INSERT INTO ledger_entries (journal_id, line, account, network, asset, from_bucket, to_bucket,
        amount_units, cause_type, cause_id, created_at)
        VALUES ('jrn_w', 0, 'default', 'local', ?, 'available', 'settled', '3000000', 'withdrawal', 'wd_1', 0)`,
        token,
      );
      sql.exec("UPDATE balances SET available = '2000000', settled = '3000000' WHERE asset = ?", token);
    });
    chain.reorg(3, ...empty(4));
    await poll();
    await mineAndPoll([payTokens(token, [address, 4_000_000n])], [], []);
    chain.grow(30);
    await poll();
    chain.grow(8);
    await poll();
    chain.reorg(35, ...empty(36));
    await poll(3);
    expect((await call("POST", "/v1/operator/networks/local/resume", { key: OPERATOR_TOKEN })).status).toBe(202);
    await poll(3);
    collect(await merchant.events());
  });

  it("of payments that wait to be mined happen", async () => {
    await startLine();
    local.pool = true;
    const pool = new Pool(node);
    servePools(pool);
    const merchant = await Merchant.signUp();
    const address = newAddress();
    await merchant.watch(address);
    pool.txs = [pay(address, ETH)];
    await poll();
    pool.txs = [];
    await poll();
    expect(await merchant.told()).toBe("pending dropped");
    collect(await merchant.events());
    local.pool = false;
  });

  it("of withdrawals happen", async () => {
    await startPayouts();
    const merchant = await PayingMerchant.start();
    await merchant.withdraw({ external_id: "order-1", metadata: { order: "1" } });
    await merchant.rest();
    collect(await merchant.events());
  });

  it("of endpoints happen", async () => {
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("ok"));
    const merchant = await Merchant.signUp();
    for (const signature of ["v1", "v1a"]) {
      const body = { url: "https://hook.example/a", signature };
      const { id } = (await (await merchant.call("POST", "/v1/webhook-endpoints", { body })).json()) as { id: string };
      for (const action of ["test", "disable"])
        expect((await merchant.call("POST", `/v1/webhook-endpoints/${id}/${action}`)).ok).toBe(true);
    }
    collect(await merchant.events());
  });

  it("of incidents happen", async () => {
    await startPayouts();
    const merchant = await PayingMerchant.start({ inWallet: 0n });
    await merchant.withdraw();
    await merchant.drive(2, 120_000);
    chain.mine([pay(merchant.wallet, 10n * ETH)]);
    await merchant.drive(1, 16_000);
    await merchant.drive(1, 180_000);
    collect((await merchant.events()).filter(({ type }) => type.startsWith("incident.")));
  });

  it("of every type were seen, and every file is of a type", () => {
    expect([...seen.keys()].sort()).toEqual([...EVENT_TYPES].sort());
    expect(Object.keys(files).sort()).toEqual([...EVENT_TYPES].map((type) => `./event-shapes/${type}.json`).sort());
  });

  it.each(EVENT_TYPES)(`%s has the shape of version ${API_VERSION}`, (type) => {
    expect(seen.get(type)).toEqual(files[`./event-shapes/${type}.json`]);
  });
});
