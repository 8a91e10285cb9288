/**
 * The withdrawal line in tests: merchants with money in an account and in a hot wallet, driven look by look, and
 * what must hold whenever everything has come to rest: the chain, the books and the feed say the same.
 */

import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { deriveSigner } from "../../src/chains/evm/derived-signer.ts";
import type { Page, WalletView, WithdrawalView } from "../../src/core/views.ts";
import { isOpen, mayBecome, type WithdrawalState } from "../../src/core/withdrawal.ts";
import { type Env, readSettings } from "../../src/env.ts";
import { ChainScanner } from "../../src/index.ts";
import type { TenantContext } from "../../src/objects/tenant/context.ts";
import { newAddress, pay, payTokens } from "../support/model-chain.ts";
import { decodeSigned, type Signed, WalletChain, WalletNode } from "../support/wallet-chain.ts";
import { call, chain, checkBooks, DB, local, Merchant, poll, serveFrom, startLine, time } from "./line.ts";

export const ETH = 10n ** 18n;
/** Small, so that finality is near. */
export const FINAL_BLOCKS = 6;
const MAX_ROUNDS = 60;

export let wallets: WalletChain;
export let nodes: WalletNode[];

/** A new chain with so many providers, and a scanner that reads it. */
export async function startPayouts(providers = 1): Promise<void> {
  await startLine();
  local.reorgWindow = FINAL_BLOCKS;
  wallets = new WalletChain(chain);
  nodes = Array.from({ length: providers }, () => new WalletNode(wallets));
  await serveFrom(...nodes);
}

/** The first provider, which most tests have alone. */
export function provider(): WalletNode {
  const [first] = nodes;
  if (first === undefined) throw new Error("the chain has no provider");
  return first;
}

export interface Wanted {
  readonly amount?: string;
  readonly destination?: string;
  readonly asset?: string;
  readonly account?: string;
  readonly network?: string;
  readonly external_id?: string;
  readonly metadata?: Record<string, string>;
}

let keys = 0;

/** A merchant with coins, and tokens if wanted, in the account `default` and as many in the hot wallet. */
export class PayingMerchant extends Merchant {
  wallet = "";

  static async start({ coins = 10n * ETH, token = null as string | null, inWallet = 100n * ETH } = {}) {
    const { id, keyId, key } = await Merchant.signUp();
    const merchant = new PayingMerchant(id, keyId, key);
    await merchant.useNodes();
    merchant.wallet = (await merchant.hotWallet()).address;
    if (token !== null) {
      for (const node of nodes) node.tokens.set(token, { symbol: "TOK", decimals: 6 });
      await merchant.call("POST", "/v1/assets", { body: { network: "local", contract: token } });
    }
    const deposit = newAddress();
    await merchant.watch(deposit);
    chain.mine([pay(deposit, coins), ...(inWallet > 0n ? [pay(merchant.wallet, inWallet)] : [])]);
    if (token !== null) chain.mine([payTokens(token, [deposit, 1_000_000_000n], [merchant.wallet, 1_000_000_000n])]);
    chain.grow(3);
    await poll(2);
    return merchant;
  }

  useNodes(): Promise<void> {
    return this.inside((object) => {
      const { networks } = readSettings((object as unknown as { env: Env }).env);
      Object.assign(networks.get("local") ?? {}, { urls: nodes.map((_, i) => `http://node-${i}.test`) });
    });
  }

  async hotWallet(): Promise<WalletView> {
    const [wallet] = (await this.get<Page<WalletView>>("/v1/wallets")).data.filter(
      ({ network }) => network === "local",
    );
    if (wallet === undefined) throw new Error("the local network has no wallet");
    return wallet;
  }

  /** A request as it is sent; the key is a new one unless given. */
  ask(wanted: Wanted = {}, key = `key-${++keys}`, apiKey = this.key): Promise<Response> {
    const body = { network: "local", asset: "ETH", amount: "1", destination: newAddress(), ...wanted };
    return call("POST", "/v1/withdrawals", { key: apiKey, body, headers: { "Idempotency-Key": key } });
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
      (object as unknown as { c: TenantContext }).c.turns.take("wallet/local", async () => {}),
    );
  }

  withdrawal(id: string): Promise<WithdrawalView> {
    return this.get(`/v1/withdrawals/${id}`);
  }

  async state(id: string): Promise<WithdrawalState> {
    return (await this.withdrawal(id)).state;
  }

  /** The reasons of its steps so far, from the reservation on. */
  async steps(id: string): Promise<string> {
    return (await this.withdrawal(id)).transitions
      .slice(2)
      .map(({ reason }) => reason)
      .join(" ");
  }

  withdrawals(): Promise<WithdrawalView[]> {
    return this.all("/v1/withdrawals");
  }

  /** What a person does with one. */
  async act(id: string, action: string, body?: unknown, apiKey = this.key): Promise<string> {
    const response = await call("POST", `/v1/withdrawals/${id}/${action}`, { key: apiKey, body });
    await this.settle();
    return statusAndCode(response);
  }

  /** Another API key of the merchant's. */
  async newKey(...scopes: string[]): Promise<string> {
    const response = await this.call("POST", "/v1/api-keys", { body: { name: "another", scopes } });
    if (response.status !== 201) throw new Error(`key: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { secret: string }).secret;
  }

  /** A payment that somebody else makes with the wallet's key. */
  async foreign(nonce: number, feeGwei = 50n): Promise<Signed> {
    const signer = deriveSigner((env as unknown as Env).WALLET_SEED, this.id, { id: "local" });
    const fee = feeGwei * 10n ** 9n;
    const raw = await signer.sign({
      chainId: 31_337,
      sender: signer.address,
      nonce,
      to: newAddress(),
      valueUnits: 0n,
      data: "0x",
      gasLimit: 21_000n,
      fees: { kind: "eip1559", maxFeePerGas: fee, maxPriorityFeePerGas: fee },
    });
    return decodeSigned(raw);
  }

  /** The bytes signed so far, oldest first, decoded. */
  async signed(): Promise<Signed[]> {
    const rows = await this.inside((_, sql) =>
      sql.exec<{ raw: string }>("SELECT raw FROM attempts ORDER BY nonce, number").toArray(),
    );
    return Promise.all(rows.map(({ raw }) => decodeSigned(raw)));
  }

  /** Fires the alarm so many times, `stepMs` apart, as the platform would. */
  async drive(times = 1, stepMs = 1_000): Promise<void> {
    for (let i = 0; i < times; i++) {
      time.now += stepMs;
      await runDurableObjectAlarm(this.stub);
    }
  }

  /** A block of what is in the pool, so many times, and a look after each. */
  async mineAndDrive(times = 1): Promise<void> {
    for (let i = 0; i < times; i++) {
      wallets.mine();
      await this.drive(1, 5_000);
    }
  }

  /** Until nothing is under way any more. */
  async rest(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const left = await this.inside((_, sql) =>
        sql
          .exec<{ n: number }>(
            `SELECT (SELECT count(*) FROM slots WHERE status = 'open') + (SELECT count(*) FROM withdrawals
             WHERE state IN ('funds_reserved', 'broadcast_pending', 'confirmation_tracking')) AS n`,
          )
          .one(),
      );
      if (left.n === 0) return;
      wallets.mine();
      // Longer than a pause after a round that broke off.
      await this.drive(1, 16_000);
    }
    throw new Error(`nothing came to rest in ${MAX_ROUNDS} rounds: ${JSON.stringify(await this.withdrawals())}`);
  }

  async funds(asset = "ETH"): Promise<string> {
    const balance = (await this.balances()).find((b) => b.account === "default" && b.asset === asset);
    return `${balance?.available} ${balance?.reserved} ${balance?.settled}`;
  }
}

const database = Object.getPrototypeOf(DB) as D1Database;
const { batch } = database;

/** Breaks D1's `number`-th batch from now, before it is applied or after. */
export function breakBatch(number: number, applies: boolean): void {
  let left = number;
  vi.spyOn(database, "batch").mockImplementation(async function (this: D1Database, statements) {
    const breaks = --left === 0;
    if (!breaks || applies) {
      const results = await batch.call(this, statements);
      if (!breaks) return results as never;
    }
    throw new Error("Network connection lost.");
  });
}

/** How many rows of a D1 table are a tenant's. */
export async function claimsOf(merchant: Merchant, table: "withdrawal_keys" | "wallet_nonces"): Promise<number> {
  const row = await DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE tenant_id = ?1`)
    .bind(merchant.id)
    .first<{ n: number }>();
  return row?.n ?? -1;
}

export const statusAndCode = async (response: Response): Promise<string> => {
  const { status } = response;
  const { code } = (await response.json()) as { code?: string };
  return code === undefined ? String(status) : `${status} ${code}`;
};

/**
 * I2 I3 I6 I7 I11 I12 and what the money says. A withdrawal that a person settled follows the chain no more, so
 * its payments are not counted.
 */
export async function checkPayouts(merchant: PayingMerchant): Promise<void> {
  await checkBooks(merchant);
  const all = await merchant.withdrawals();
  for (const withdrawal of all) checkSteps(withdrawal);
  checkPayments(merchant, all);
  await checkNonces(merchant, all);
  await checkFeed(merchant, all);

  const open = all.filter(({ state }) => isOpen(state));
  const held = await merchant.inside((_, sql) => sql.exec<{ reserved: string }>("SELECT * FROM balances").toArray());
  const reserved = held.reduce((sum, balance) => sum + BigInt(balance.reserved), 0n);
  expect(reserved).toBe(open.reduce((sum, { amount_units }) => sum + BigInt(amount_units), 0n));
}

function checkSteps({ id, state, transitions }: WithdrawalView): void {
  const froms = transitions.map(({ from }) => from);
  const tos = transitions.map(({ to }) => to);
  expect([id, froms]).toEqual([id, [null, ...tos.slice(0, -1)]]);
  for (const { from, to } of transitions) {
    if (from !== null) expect([id, from, to, mayBecome(from, to)]).toEqual([id, from, to, true]);
  }
  expect(tos.at(-1)).toBe(state);
}

/** Everything that left the wallet belongs to one withdrawal, does what it says, and nothing was paid twice. */
function checkPayments(merchant: PayingMerchant, all: readonly WithdrawalView[]): void {
  const left = wallets.paidBy(merchant.wallet).filter(({ success, units }) => success && units > 0n);
  for (const withdrawal of all) {
    const { id, state, destination, amount_units, attempts, transitions } = withdrawal;
    if (transitions.some(({ reason }) => reason === "resolved_by_person")) continue;
    const hashes = attempts.map(({ tx_id }) => tx_id);
    const own = left.filter(({ hash }) => hashes.includes(hash));
    for (const { to, units } of own) expect([id, to, units]).toEqual([id, destination, BigInt(amount_units)]);
    if (state === "confirmed") expect([id, own.length]).toEqual([id, 1]);
    else if (!isOpen(state)) expect([id, own.length]).toEqual([id, 0]);
    else expect(own.length).toBeLessThan(2);
  }
  const known = new Set(all.flatMap(({ attempts }) => attempts.map(({ tx_id }) => tx_id)));
  expect(left.filter(({ hash }) => !known.has(hash))).toEqual([]);
}

/** One nonce carries one withdrawal, here and in D1, and no withdrawal has two. */
async function checkNonces(merchant: PayingMerchant, all: readonly WithdrawalView[]): Promise<void> {
  const used = all.flatMap(({ id, attempts }) => {
    const own = new Set(attempts.map(({ nonce }) => nonce));
    expect([id, own.size <= 1]).toEqual([id, true]);
    return [...own];
  });
  expect(new Set(used).size).toBe(used.length);
  const claims = await DB.prepare("SELECT nonce, subject FROM wallet_nonces WHERE sender = ?1 AND tenant_id = ?2")
    .bind(merchant.wallet, merchant.id)
    .all<{ nonce: number; subject: string }>();
  for (const { id, attempts } of all) {
    for (const { nonce } of attempts) {
      expect(claims.results.find((claim) => claim.nonce === nonce)?.subject).toBe(id);
    }
  }
}

/** The feed tells each state of each withdrawal once, in order. */
async function checkFeed(merchant: PayingMerchant, all: readonly WithdrawalView[]): Promise<void> {
  const events = (await merchant.events()).filter(({ type }) => type === "withdrawal.updated");
  for (const { id, transitions } of all) {
    const told = events.filter(({ subject }) => subject === id).map(({ data }) => (data as WithdrawalView).state);
    const first = transitions.findLastIndex(
      ({ at }, i) => i < 3 && at === transitions[0]?.at && isFirst(transitions[i]),
    );
    expect([id, told]).toEqual([id, transitions.slice(first).map(({ to }) => to)]);
  }
}

/** Steps of the request itself: one event tells of all of them. */
function isFirst(step: WithdrawalView["transitions"][number] | undefined): boolean {
  return step !== undefined && ["requested", "reserved", "above_approval_limit"].includes(step.reason);
}

/** Payments to a receiver on the best chain: `units` each. */
export function received(merchant: PayingMerchant, to: string): bigint[] {
  return wallets.paidBy(merchant.wallet).flatMap((paid) => (paid.to === to && paid.success ? [paid.units] : []));
}

/** The scanner says that the network is halted, until it is restored. */
export function halt() {
  return vi.spyOn(ChainScanner.prototype, "status").mockImplementation((async () => ({ status: "halted" })) as never);
}
