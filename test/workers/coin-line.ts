/**
 * The withdrawal line over Bitcoin in tests: merchants with money in an account and coins in a hot wallet, driven look
 * by look, and what must hold whenever everything has come to rest: the chain, the books and the feed say the same.
 */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { deriveCoinSigner } from "../../src/chains/bitcoin/coin-signer.ts";
import type { CoinSigner } from "../../src/chains/coin-payout.ts";
import type { Page, WalletView, WithdrawalView } from "../../src/core/views.ts";
import type { WithdrawalState } from "../../src/core/withdrawal.ts";
import { type Env, readSettings } from "../../src/env.ts";
import type { TenantContext } from "../../src/objects/tenant/context.ts";
import type { EnabledNetwork } from "../../src/settings.ts";
import { BitcoinNodeDouble } from "../support/bitcoin-double.ts";
import { testKey } from "../support/bitcoin-faucet.ts";
import { type BitcoinTx, parseTx } from "../support/bitcoin-tx.ts";
import { BitcoinMerchant, chain, NETWORK, node, poll, regtest, serveBitcoin, startBitcoin } from "./bitcoin-line.ts";
import { call, time } from "./line.ts";
import { statusAndCode, type Wanted } from "./payout-line.ts";

export const BTC = 100_000_000n;
/** Small, so that finality is near, and above the network's depth. */
export const WINDOW = 6;
const MAX_ROUNDS = 80;
const asShipped = { ...regtest };

export let nodes: BitcoinNodeDouble[] = [];

/** A new chain with so many providers, and a scanner that reads it. */
export async function startCoins(providers = 1): Promise<void> {
  Object.assign(regtest, asShipped, { reorgWindow: WINDOW });
  await startBitcoin();
  nodes = [node, ...Array.from({ length: providers - 1 }, () => new BitcoinNodeDouble(chain))];
  await serveBitcoin(...nodes);
}

let names = 0;

/** An address that nothing was ever paid to. */
export function newBitcoinAddress(): string {
  return testKey(`somebody ${++names}`).address;
}

interface Funding {
  /** In the account, satoshi. */
  readonly funds?: bigint;
  /** In the wallet: each a coin of its own. */
  readonly coins?: readonly bigint[];
}

let keys = 0;

export class CoinMerchant extends BitcoinMerchant {
  wallet = "";

  static async start({ funds = 10n * BTC, coins = [10n * BTC, 10n * BTC] }: Funding = {}): Promise<CoinMerchant> {
    const { id, keyId, key } = await BitcoinMerchant.signUp();
    const merchant = new CoinMerchant(id, keyId, key);
    await merchant.useNodes();
    merchant.wallet = (await merchant.hotWallet()).address;
    const deposit = newBitcoinAddress();
    await merchant.watch(deposit);
    const topUps = coins.map((amount) => ({ to: merchant.wallet, amount }));
    chain.pay(deposit, funds, { outputs: topUps });
    await merchant.mineAndPoll(3);
    return merchant;
  }

  async mineAndPoll(count = 1): Promise<void> {
    for (let i = 0; i < count; i++) {
      chain.mine();
      await poll(1);
    }
    await poll(1);
  }

  useNodes(): Promise<void> {
    return this.inside((object) => {
      const { networks } = readSettings((object as unknown as { env: Env }).env);
      const urls = nodes.map((_, i) => `http://user:pass@bitcoin-${i}.test`);
      (networks as Map<string, EnabledNetwork>).set(NETWORK, { settings: regtest, urls });
    });
  }

  async hotWallet(): Promise<WalletView> {
    const { data } = await this.get<Page<WalletView>>("/v1/wallets");
    const wallet = data.find(({ network }) => network === NETWORK);
    if (wallet === undefined) throw new Error("the network has no wallet");
    return wallet;
  }

  signer(): CoinSigner {
    return deriveCoinSigner((env as unknown as Env).WALLET_SEED, this.id, regtest);
  }

  /** A request as it is sent; the key is a new one unless given. Amounts in BTC. */
  ask(wanted: Wanted = {}, key = `coins-${++keys}`, apiKey = this.key): Promise<Response> {
    const body = { network: NETWORK, asset: "BTC", amount: "1", destination: newBitcoinAddress(), ...wanted };
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
      (object as unknown as { c: TenantContext }).c.turns.take(`wallet/${NETWORK}`, async () => {}),
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

  /** What a person does with one. */
  async act(id: string, action: string, body?: unknown): Promise<string> {
    const response = await call("POST", `/v1/withdrawals/${id}/${action}`, { key: this.key, body });
    await this.settle();
    return statusAndCode(response);
  }

  /** What was signed so far, oldest first. */
  async signed(): Promise<BitcoinTx[]> {
    const rows = await this.rows<{ raw: string }>("SELECT raw FROM spend_attempts ORDER BY number, attempt");
    return rows.map(({ raw }) => parseTx(raw));
  }

  /** The one that was signed last. */
  async last(): Promise<BitcoinTx> {
    const tx = (await this.signed()).at(-1);
    if (tx === undefined) throw new Error("nothing was signed");
    return tx;
  }

  rows<T extends Record<string, SqlStorageValue>>(query: string): Promise<T[]> {
    return this.inside((_, sql) => sql.exec<T>(query).toArray());
  }

  /** A transaction that somebody else makes with the wallet's keys, of these outputs of the wallet. */
  async foreign(outputs: readonly { txid: string; vout: number }[], amount: bigint): Promise<BitcoinTx> {
    const signer = this.signer();
    const rows = await this.rows<{ tx_id: string; vout: number; address: string; path: string; amount_units: string }>(
      "SELECT tx_id, vout, address, path, amount_units FROM coins UNION SELECT tx_id, vout, address, path, amount_units FROM spend_inputs",
    );
    const inputs = outputs.map(({ txid, vout }) => {
      const row = rows.find((one) => one.tx_id === txid && one.vout === vout);
      if (row === undefined) throw new Error(`${txid}:${vout} is not the wallet's`);
      return { txId: txid, vout, amountUnits: BigInt(row.amount_units), address: row.address, path: row.path };
    });
    const all = inputs.reduce((sum, { amountUnits }) => sum + amountUnits, 0n);
    const payments = [{ address: newBitcoinAddress(), amountUnits: amount }];
    const change = { address: signer.address, path: "0/0", amountUnits: all - amount - 100_000n };
    return parseTx(await signer.sign({ inputs, payments, change }));
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
      chain.mine();
      await poll(1);
      await this.drive(1, 16_000);
    }
  }

  /** The object is gone without a word, and starts again. */
  async abort(): Promise<void> {
    await runInDurableObject(this.stub, (_, state) => state.abort("deployed")).catch(() => {});
    await this.takeTime();
  }

  /** Until nothing is under way any more. */
  async rest(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const [left] = await this.rows<{ n: number }>(
        `SELECT (SELECT count(*) FROM spends WHERE status = 'open')
           + (SELECT count(*) FROM spend_inputs WHERE status = 'freed') + (SELECT count(*) FROM withdrawals
             WHERE state IN ('funds_reserved', 'broadcast_pending', 'confirmation_tracking')) AS n`,
      );
      if (left?.n === 0) return;
      await this.mineAndDrive();
    }
    throw new Error(`nothing came to rest in ${MAX_ROUNDS} rounds: ${JSON.stringify(await this.withdrawals())}`);
  }

  /** Available, reserved and settled of the account, in satoshi. */
  async funds(): Promise<string> {
    const balance = (await this.balances()).find(({ account }) => account === "default");
    const units = (text: string | undefined) => BigInt(Math.round(Number(text) * 1e8));
    return `${units(balance?.available)} ${units(balance?.reserved)} ${units(balance?.settled)}`;
  }
}
