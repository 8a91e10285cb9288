/**
 * The withdrawal line over a chain whose transactions expire, in tests: merchants with money in an account and in a hot
 * wallet, driven look by look, and what must hold whenever everything has come to rest.
 */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, vi } from "vitest";
import { depositConfirmed, post } from "../../src/core/ledger.ts";
import type { TronNetwork } from "../../src/core/network.ts";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";
import type { Page, WalletView, WithdrawalView } from "../../src/core/views.ts";
import { isOpen, mayBecome, type WithdrawalState } from "../../src/core/withdrawal.ts";
import { type Env, readSettings } from "../../src/env.ts";
import { ChainScanner, Tenant } from "../../src/index.ts";
import type { TenantContext } from "../../src/objects/tenant/context.ts";
import type { EnabledNetwork } from "../../src/settings.ts";
import { appendEntries, readBalance, writeBalances } from "../../src/store/tenant/ledger-store.ts";
import {
  ModelExpiringChain,
  ModelExpiringNode,
  modelExpiringChain,
  newTronAddress,
  txIdOf,
} from "../support/expiring-chain.ts";
import { call, checkBooks, DAY_MS, DB, Merchant, time } from "./line.ts";
import { statusAndCode, type Wanted } from "./payout-line.ts";

export const NETWORK = "tron";
export const TRX = 1_000_000n;
export const USDT = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
const MAX_ROUNDS = 80;

export const tron = BUILT_IN_NETWORKS.find(({ id }) => id === NETWORK) as TronNetwork;
export let chain: ModelExpiringChain;
export let nodes: ModelExpiringNode[] = [];

/** Of its providers, where its own adapter asks them. */
export const urls = ["http://tron.test"];

/** Networks beside it that are on in every object. */
export const others = new Map<string, EnabledNetwork>();

interface Inner {
  readonly c: TenantContext;
  readonly env: Env;
}

/** Off until a test begins with it: worlds of other kinds know nothing of it. */
let isServed = false;

/** Every object of a tenant finds the chain in memory in its providers' place, whenever it was started. */
function serveChain(): void {
  const before = (object: unknown) => {
    const { c, env } = object as Partial<Inner>;
    if (!isServed || c === undefined || env === undefined) return;
    const networks = readSettings(env).networks as Map<string, EnabledNetwork>;
    networks.set(NETWORK, { settings: tron, urls });
    for (const [id, enabled] of others) networks.set(id, enabled);
    if (nodes.length > 0) c.payers.expiringChains.set(NETWORK, modelExpiringChain(nodes));
  };
  for (let proto = Tenant.prototype; proto !== null; proto = Object.getPrototypeOf(proto)) {
    for (const [name, { value: method }] of Object.entries(Object.getOwnPropertyDescriptors(proto))) {
      if (typeof method !== "function" || name === "constructor") continue;
      const wrapped = function (this: unknown, ...args: unknown[]) {
        before(this);
        return method.apply(this, args);
      };
      Object.defineProperty(proto, name, { value: wrapped, configurable: true, writable: true });
    }
    if (isPlatform(Object.getPrototypeOf(proto))) break;
  }
}

function isPlatform(proto: object | null): boolean {
  return proto === null || proto === Object.prototype || proto.constructor.name === "DurableObject";
}

serveChain();

/** A new chain with so many providers, whose scanner sees nothing wrong with it. */
export function startExpiring(providers = 1): void {
  time.now = Date.now() + 365 * DAY_MS;
  chain = new ModelExpiringChain();
  nodes = Array.from({ length: providers }, (_, i) => new ModelExpiringNode(chain, `model-${i}`));
  watched();
}

/** Objects begun from now on find the adapters of their networks, and no chain in memory. */
export function startAdapters(): void {
  time.now = Date.now() + 365 * DAY_MS;
  nodes = [];
  watched();
}

/** What the scanner says is not looked at here. */
export function watched(status = "live"): void {
  isServed = true;
  vi.spyOn(ChainScanner.prototype, "status").mockImplementation((async () => ({ status, head: null })) as never);
}

export function firstNode(): ModelExpiringNode {
  const [first] = nodes;
  if (first === undefined) throw new Error("the chain has no provider");
  return first;
}

let keys = 0;

interface Funding {
  /** In the account, and in the wallet, base units. */
  readonly funds?: bigint;
  readonly inWallet?: bigint;
  readonly asset?: string;
}

export class ExpiringMerchant extends Merchant {
  wallet = "";
  payoutNetwork = NETWORK;
  coin = "TRX";
  newReceiver = newTronAddress;

  /** With a wallet that has nothing yet. */
  static async opened<Own extends ExpiringMerchant>(
    this: new (
      id: string,
      keyId: string,
      key: string,
    ) => Own,
    payoutNetwork = NETWORK,
  ): Promise<Own> {
    const { id, keyId, key } = await Merchant.signUp();
    const merchant = new this(id, keyId, key);
    merchant.payoutNetwork = payoutNetwork;
    merchant.wallet = (await merchant.hotWallet()).address;
    return merchant;
  }

  static async start({ funds = 100n * TRX, inWallet = 1_000n * TRX, asset = "native" }: Funding = {}) {
    const merchant = await ExpiringMerchant.opened();
    chain.fund(merchant.wallet, "native", inWallet);
    if (asset !== "native") chain.fund(merchant.wallet, asset, inWallet);
    await merchant.credit(asset, funds);
    return merchant;
  }

  /** As a confirmed deposit does. */
  credit(asset: string, units: bigint): Promise<void> {
    return this.inside((object) => {
      const { db, storage } = (object as unknown as Inner).c;
      const key = { account: "default", network: this.payoutNetwork, asset };
      storage.transactionSync(() => {
        const before = readBalance(db, key);
        const lines = depositConfirmed(before, units);
        const journal = { id: `jrn_test_${++keys}`, causeType: "deposit.confirmed", causeId: "test", eventId: null };
        appendEntries(db, [{ journal: { ...key, ...journal, at: time.now }, postings: lines }]);
        writeBalances(db, [{ key: key, balance: post(before, lines) }]);
      });
    });
  }

  async hotWallet(): Promise<WalletView> {
    const { data } = await this.get<Page<WalletView>>("/v1/wallets");
    const wallet = data.find(({ network }) => network === this.payoutNetwork);
    if (wallet === undefined) throw new Error("the network has no wallet");
    return wallet;
  }

  /** A request as it is sent; the key is a new one unless given. */
  ask(wanted: Wanted = {}, key = `expiring-${++keys}`): Promise<Response> {
    const body = {
      network: this.payoutNetwork,
      asset: this.coin,
      amount: "1",
      destination: this.newReceiver(),
      ...wanted,
    };
    return call("POST", "/v1/withdrawals", { key: this.key, body, headers: { "Idempotency-Key": key } });
  }

  /** A withdrawal that is accepted, and the round it set off. */
  async withdraw(wanted: Wanted = {}, key?: string): Promise<WithdrawalView> {
    const response = await this.ask(wanted, key);
    if (response.status !== 201) throw new Error(`withdraw: ${response.status} ${await response.text()}`);
    await this.settle();
    return response.json();
  }

  /** Waits for the round under way. */
  settle(): Promise<void> {
    return this.inside((object) =>
      (object as unknown as Inner).c.turns.take(`wallet/${this.payoutNetwork}`, async () => {}),
    );
  }

  withdrawal(id: string): Promise<WithdrawalView> {
    return this.get(`/v1/withdrawals/${id}`);
  }

  withdrawals(): Promise<WithdrawalView[]> {
    return this.all("/v1/withdrawals");
  }

  async state(id: string): Promise<WithdrawalState> {
    return (await this.withdrawal(id)).state;
  }

  /** The reasons of its steps so far, from the reservation on. */
  async steps(id: string): Promise<string> {
    const { transitions } = await this.withdrawal(id);
    return transitions
      .slice(2)
      .map(({ reason }) => reason)
      .join(" ");
  }

  /** `void sent`: how its attempts stand, oldest first. */
  async attempts(id: string): Promise<string> {
    return (await this.withdrawal(id)).attempts.map(({ status }) => status).join(" ");
  }

  /** What a person does with one. */
  async act(id: string, action: string, body?: unknown): Promise<string> {
    const response = await call("POST", `/v1/withdrawals/${id}/${action}`, { key: this.key, body });
    await this.settle();
    return statusAndCode(response);
  }

  rows<T extends Record<string, SqlStorageValue>>(query: string): Promise<T[]> {
    return this.inside((_, sql) => sql.exec<T>(query).toArray());
  }

  /** The bytes signed so far, oldest first. */
  async signed(): Promise<string[]> {
    const rows = await this.rows<{ raw: string | null }>(
      "SELECT raw FROM expiring_attempts WHERE raw IS NOT NULL ORDER BY signed_at, number",
    );
    return rows.flatMap(({ raw }) => raw ?? []);
  }

  async lastSigned(): Promise<string> {
    const raw = (await this.signed()).at(-1);
    if (raw === undefined) throw new Error("nothing was signed");
    return raw;
  }

  /** Fires the alarm so many times, `stepMs` apart, as the platform would. */
  async drive(times = 1, stepMs = 16_000): Promise<void> {
    for (let i = 0; i < times; i++) {
      time.now += stepMs;
      await runDurableObjectAlarm(this.stub);
    }
  }

  /** So many blocks, and a look after each. */
  async mineAndDrive(blocks = 1): Promise<void> {
    for (let i = 0; i < blocks; i++) {
      chain.mine();
      await this.drive();
    }
  }

  /** The object is gone without a word, and starts again. */
  async abort(): Promise<void> {
    await runInDurableObject(this.stub, (_, state) => state.abort("deployed")).catch(() => {});
    await vi.waitFor(() => this.takeTime(), { timeout: 10_000 });
  }

  /** Until nothing is under way any more. */
  async rest(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const [left] = await this.rows<{ n: number }>(
        `SELECT (SELECT count(*) FROM expiring_payments WHERE status = 'open') + (SELECT count(*) FROM withdrawals
           WHERE state IN ('funds_reserved', 'broadcast_pending', 'confirmation_tracking')) AS n`,
      );
      if (left?.n === 0) return;
      await this.mineAndDrive();
    }
    throw new Error(`nothing came to rest in ${MAX_ROUNDS} rounds: ${JSON.stringify(await this.withdrawals())}`);
  }

  /** Available, reserved and settled of the account. */
  async funds(asset = "TRX"): Promise<string> {
    const balance = (await this.balances()).find((one) => one.account === "default" && one.asset === asset);
    return `${balance?.available} ${balance?.reserved} ${balance?.settled}`;
  }
}

/** What a chain shows of the payments. */
export interface ShownPayments {
  /** Base units of each payment to an address. */
  paidTo(address: string): bigint[] | Promise<bigint[]>;
  /** Ids of everything that ever came to a node. */
  sentIds(): string[] | Promise<string[]>;
}

const inMemory: ShownPayments = {
  paidTo: (address) => chain.paidTo(address),
  sentIds: () => chain.sent.map(txIdOf),
};

/**
 * I3 I6 I8 I9 I11 I12 and what the money says: no withdrawal was paid twice, none was released and paid, nothing was
 * sent that is not stored and claimed, and one of each lived at a time.
 */
export async function checkExpiring(merchant: ExpiringMerchant, shown: ShownPayments = inMemory): Promise<void> {
  await checkBooks(merchant);
  const all = await merchant.withdrawals();
  for (const { id, transitions, state, destination, amount_units } of all) {
    const tos = transitions.map(({ to }) => to);
    expect([id, transitions.map(({ from }) => from)]).toEqual([id, [null, ...tos.slice(0, -1)]]);
    for (const { from, to } of transitions)
      if (from !== null) expect([from, to, mayBecome(from, to)]).toEqual([from, to, true]);
    expect(tos.at(-1)).toBe(state);
    if (transitions.some(({ reason, to }) => reason === "resolved_by_person" && to === "confirmed")) continue;
    const paid = await shown.paidTo(destination);
    if (state === "confirmed") expect([id, paid]).toEqual([id, [BigInt(amount_units)]]);
    else if (!isOpen(state)) expect([id, paid]).toEqual([id, []]);
    else expect(paid.length).toBeLessThan(2);
  }
  await checkAttempts(merchant, await shown.sentIds());
  const open = all.filter(({ state }) => isOpen(state));
  const held = await merchant.rows<{ reserved: string }>("SELECT reserved FROM balances");
  const reserved = held.reduce((sum, balance) => sum + BigInt(balance.reserved), 0n);
  expect(reserved).toBe(open.reduce((sum, { amount_units }) => sum + BigInt(amount_units), 0n));
}

async function checkAttempts(merchant: ExpiringMerchant, sentIds: readonly string[]): Promise<void> {
  const attempts = await merchant.rows<{ withdrawal_id: string; tx_id: string; status: string }>(
    "SELECT withdrawal_id, tx_id, status FROM expiring_attempts",
  );
  for (const [, own] of Map.groupBy(attempts, ({ withdrawal_id }) => withdrawal_id))
    expect(own.filter(({ status }) => status === "live" || status === "landed").length).toBeLessThan(2);
  const claims = await DB.prepare("SELECT tx_id FROM live_attempts WHERE tenant_id = ?1")
    .bind(merchant.id)
    .all<{ tx_id: string | null }>();
  const claimed = new Set(claims.results.map(({ tx_id }) => tx_id));
  const own = new Set(attempts.map(({ tx_id }) => tx_id));
  for (const txId of sentIds) if (own.has(txId)) expect(claimed).toContain(txId);
}
