/**
 * The deposit line in tests: a chain in memory, the scanner driven poll by poll, merchants who use the HTTP
 * API. Time is the test's, a year ahead and still, so that no alarm fires by itself.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";
import type { BalanceView, DepositView, EventView, LedgerEntryView, NetworkView, Page } from "../../src/core/views.ts";
import { type Env, readSettings } from "../../src/env.ts";
import type { ChainScanner, Tenant } from "../../src/index.ts";
import type { ScannerStatus } from "../../src/objects/api.ts";
import type { EnabledNetwork } from "../../src/settings.ts";
import { Gate, ModelChain, ModelNode, type Tx } from "../support/model-chain.ts";
import { serveNodes } from "./serve-nodes.ts";

const { default: worker } = exports as unknown as { default: Fetcher };
export const { DB, OPERATOR_TOKEN, CHAIN_SCANNER, TENANT } = env as unknown as Env;

/** Everything that may be set differently for one test: the same object that the service reads. */
export const local = BUILT_IN_NETWORKS.find((network) => network.id === "local") as {
  -readonly [K in
    | "confirmations"
    | "reorgWindow"
    | "finality"
    | "pollMs"
    | "pool"]: (typeof BUILT_IN_NETWORKS)[number][K];
};
const asShipped = { ...local };

export const DAY_MS = 86_400_000;
export const time = { now: 0 };
export let chain: ModelChain;
export let node: ModelNode;

/** A new chain of `length` blocks, one node, and a scanner that has read nothing. */
export async function startLine(length = 40): Promise<void> {
  Gate.openAll();
  Object.assign(local, asShipped);
  time.now = Date.now() + 365 * DAY_MS;
  chain = new ModelChain();
  chain.grow(length);
  node = new ModelNode(chain);
  await runInDurableObject(scanner(), (_, state) => state.storage.deleteAll());
  await serveFrom(node);
}

/** The network has these providers from now on, in this order. */
export async function serveFrom(...nodes: ModelNode[]): Promise<void> {
  const urls = nodes.map((_, i) => `http://node-${i}.test`);
  serveNodes(Object.fromEntries(nodes.map((one, i) => [urls[i], one])));
  await inScanner((object) => {
    const { networks } = readSettings((object as unknown as { env: Env }).env);
    Object.assign(networks.get("local") ?? {}, { urls });
  });
  await evictScanner();
}

/** The operator takes the network's URL away. @returns how to put it back */
export async function switchOff(): Promise<() => Promise<void>> {
  const networks = () =>
    inScanner(
      (object) => readSettings((object as unknown as { env: Env }).env).networks as Map<string, EnabledNetwork>,
    );
  const before = (await networks()).get("local");
  (await networks()).delete("local");
  await evictScanner();
  return async () => {
    if (before !== undefined) (await networks()).set("local", before);
    await evictScanner();
  };
}

export function scanner(): DurableObjectStub<ChainScanner> {
  return CHAIN_SCANNER.get(CHAIN_SCANNER.idFromName("local")) as unknown as DurableObjectStub<ChainScanner>;
}

export const inScanner = <T>(
  work: (object: ChainScanner, sql: SqlStorage, state: DurableObjectState) => T | Promise<T>,
) => runInDurableObject(scanner(), (object, state) => work(object, state.storage.sql, state));

/** Ends the instance: what was only in memory is gone. */
export async function evictScanner(): Promise<void> {
  await evictDurableObject(scanner());
  await inScanner((object) => {
    object.clock = () => time.now;
  });
}

/** Fires the scanner's alarm so many times, as the platform would. */
export async function poll(times = 1): Promise<void> {
  for (let i = 0; i < times; i++) {
    time.now += 1_000;
    expect(await runDurableObjectAlarm(scanner())).toBe(true);
  }
}

/** Mines these blocks and polls after each one. */
export async function mineAndPoll(...blocks: readonly (readonly Tx[])[]): Promise<void> {
  for (const block of blocks) {
    chain.mine(block);
    await poll();
  }
}

export const empty = (count: number) => Array.from({ length: count }, () => []);

export async function status(): Promise<ScannerStatus> {
  return (await scanner().status()) as unknown as ScannerStatus;
}

export interface Options {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export async function call(method: string, path: string, { key, body, headers = {} }: Options = {}): Promise<Response> {
  const all = new Headers(headers);
  if (key !== undefined) all.set("Authorization", `Bearer ${key}`);
  if (body !== undefined) all.set("Content-Type", "application/json");
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  return worker.fetch(new Request(`https://sluice.test${path}`, { method, headers: all, ...text }));
}

let merchants = 0;

export class Merchant {
  constructor(
    readonly id: string,
    readonly keyId: string,
    readonly key: string,
  ) {}

  static async signUp(): Promise<Merchant> {
    const headers = { "CF-Connecting-IP": `192.0.2.${++merchants % 250}` };
    const response = await call("POST", "/v1/tenants", { body: { name: `Merchant ${merchants}` }, headers });
    expect(response.status).toBe(201);
    const { tenant, api_key } = (await response.json()) as {
      tenant: { id: string };
      api_key: { id: string; secret: string };
    };
    const merchant = new Merchant(tenant.id, api_key.id, api_key.secret);
    await merchant.takeTime();
    return merchant;
  }

  takeTime(): Promise<void> {
    return this.inside((object) => {
      object.clock = () => time.now;
    });
  }

  get stub(): DurableObjectStub<Tenant> {
    return TENANT.get(TENANT.idFromName(this.id)) as unknown as DurableObjectStub<Tenant>;
  }

  inside<T>(work: (object: Tenant, sql: SqlStorage) => T | Promise<T>): Promise<T> {
    return runInDurableObject(this.stub, (object, state) => work(object, state.storage.sql));
  }

  async evict(): Promise<void> {
    await evictDurableObject(this.stub);
    await this.takeTime();
  }

  call(method: string, path: string, options: Options = {}): Promise<Response> {
    return call(method, path, { key: this.key, ...options });
  }

  async get<T>(path: string): Promise<T> {
    const response = await this.call("GET", path);
    if (response.status !== 200) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  async watch(address: string, more: Record<string, unknown> = {}): Promise<{ id: string; watched_from: number }> {
    const response = await this.call("POST", "/v1/addresses", { body: { network: "local", address, ...more } });
    if (response.status !== 201) throw new Error(`watch: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** Every page of a list, as the API orders it. */
  async all<T>(path: string): Promise<T[]> {
    const rows: T[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: Page<T> = await this.get(`${path}?limit=200${cursor && `&cursor=${cursor}`}`);
      rows.push(...page.data);
      cursor = page.next_cursor;
    }
    return rows;
  }

  deposits(): Promise<DepositView[]> {
    return this.all("/v1/deposits");
  }

  /** The one deposit there is. */
  async deposit(): Promise<DepositView> {
    const [deposit, ...others] = await this.deposits();
    if (deposit === undefined || others.length > 0)
      throw new Error(`expected one deposit, got ${others.length + (deposit ? 1 : 0)}`);
    return deposit;
  }

  async events(): Promise<EventView[]> {
    const events: EventView[] = [];
    for (let after: string | null = "0"; after !== null; ) {
      const page: Page<EventView> = await this.get(`/v1/events?limit=200&after=${after}`);
      events.push(...page.data);
      after = page.next_cursor;
    }
    return events;
  }

  /** Types of the events so far, without their first word: `pending confirmed`. */
  async told(): Promise<string> {
    return (await this.events()).map((event) => event.type.replace(/^(deposit|account|network)\./, "")).join(" ");
  }

  balances(): Promise<BalanceView[]> {
    return this.all("/v1/balances");
  }

  /** Oldest first. */
  async entries(): Promise<LedgerEntryView[]> {
    return (await this.all<LedgerEntryView>("/v1/ledger/entries")).reverse();
  }

  async network(): Promise<NetworkView> {
    const page = await this.get<Page<NetworkView>>("/v1/networks");
    const own = page.data.find((network) => network.id === "local");
    if (own === undefined) throw new Error("the local network is not listed");
    return own;
  }
}

/**
 * What must hold whenever the books are opened: I1 (confirmed and reverted in turn), I2 (no gap), I3 (balances
 * are the fold of the entries).
 */
export async function checkBooks(merchant: Merchant): Promise<void> {
  const events = await merchant.events();
  expect(events.map((event) => event.sequence)).toEqual(events.map((_, i) => i + 1));
  for (const [, own] of Map.groupBy(events, (event) => event.subject)) {
    expect(own.map((event) => event.subject_sequence)).toEqual(own.map((_, i) => i + 1));
    const money = own.map((event) => event.type).filter((type) => /confirmed|reverted/.test(type));
    expect(money).toEqual(money.map((_, i) => (i % 2 === 0 ? "deposit.confirmed" : "deposit.reverted")));
  }

  const fold = new Map<string, Record<string, bigint>>();
  for (const { account, network, asset, from, to, amount_units: units } of await merchant.entries()) {
    const name = `${account}/${network}/${asset}`;
    const sums = fold.get(name) ?? { available: 0n, reserved: 0n, settled: 0n, debt: 0n };
    const move = (bucket: string, by: bigint) => {
      if (bucket !== "chain") sums[bucket] = (sums[bucket] ?? 0n) + (bucket === "debt" ? -by : by);
    };
    move(from, -BigInt(units));
    move(to, BigInt(units));
    fold.set(name, sums);
  }
  const held = await merchant.inside((_, sql) => sql.exec<Record<string, string>>("SELECT * FROM balances").toArray());
  const balances = (await merchant.balances()).map((b) => `${b.account}/${b.network}/${b.asset}`);
  expect([...fold.keys()].sort()).toEqual(balances.sort());
  const rows = held.map(({ available, reserved, settled, debt }) => [available, reserved, settled, debt].join());
  const sums = [...fold.values()].map((s) => [s.available, s.reserved, s.settled, s.debt].join());
  expect(sums.sort()).toEqual(rows.sort());
}

/** Every payment that was ever told holds its key in D1. */
export async function checkClaims(merchant: Merchant): Promise<void> {
  const keys = await DB.prepare("SELECT tx_id, transfer_index FROM deposit_keys WHERE tenant_id = ?1")
    .bind(merchant.id)
    .all<{ tx_id: string; transfer_index: string }>();
  const claimed = new Set(keys.results.map((key) => `${key.tx_id}/${key.transfer_index}`));
  for (const deposit of await merchant.deposits()) {
    expect(claimed).toContain(`${deposit.tx_id}/${deposit.transfer_index}`);
  }
}

/** Silences a log that a test provokes. */
export function quiet(...methods: ("warn" | "error")[]): void {
  for (const method of methods) vi.spyOn(console, method).mockImplementation(() => {});
}
