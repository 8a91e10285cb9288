/**
 * A real node that judges the Bitcoin double: it is given every block and transaction of the chain in memory, so that
 * both hold the same, and both are asked the same. Whoever mines on the chain calls `give` before the next question.
 */

import { expect } from "vitest";
import { blockHex } from "./bitcoin-block.ts";
import { BitcoinChain } from "./bitcoin-chain.ts";
import { BitcoinNodeDouble } from "./bitcoin-double.ts";
import { type KeyedCoin, testKey } from "./bitcoin-faucet.ts";
import type { BitcoinTx } from "./bitcoin-tx.ts";
import { type Bitcoind, startBitcoind } from "./bitcoind.ts";

/** Never compared: a node's own accounts, its clock, and what only Knots says. */
const OWN =
  /^(asm|desc|size_on_disk|usage|maxmempool|uptime|subversion|version|connections.*|networks|local.*|timeoffset|txcount|header_version|dust.*|rbf_policy|truc_policy|fullrbf|currentpriority|startingpriority|unbroadcast(count)?|verificationprogress|warnings)$/;
/** Of a pool's entry also the moment when it came; `hash` is another name for the same in Knots. */
const OWN_OF_ENTRY = new Set(["time", "hash"]);

export interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

export const payee = testKey("payee");

/** So many blocks, the last of them of now: a node whose last block is a day old counts as not caught up. */
export function recentChain(blocks: number): BitcoinChain {
  const start = Math.floor(Date.now() / 1_000) - 20_000;
  return BitcoinChain.grown(blocks, { time: (height) => start + 60 * height });
}

export class BitcoinJudge {
  readonly chain = recentChain(115);
  readonly double = new BitcoinNodeDouble(this.chain);
  readonly real: Bitcoind;
  readonly #given = new Set<string>();
  readonly #taken = new Set<string>();

  private constructor(real: Bitcoind) {
    this.real = real;
  }

  static async start(): Promise<BitcoinJudge> {
    const judge = new BitcoinJudge(await startBitcoind());
    await judge.give();
    return judge;
  }

  stop(): Promise<void> {
    return this.real.stop();
  }

  /** Gives it all blocks it has not got. */
  async give(): Promise<void> {
    for (let height = 1; height <= this.chain.head; height++) {
      const block = this.chain.at(height);
      if (block === undefined || this.#given.has(block.hash)) continue;
      expect([null, "inconclusive"]).toContain(await this.real.rpc("submitblock", blockHex(block)));
      this.#given.add(block.hash);
    }
    expect(await this.real.tip()).toBe(this.chain.tip.hash);
  }

  async mine(count = 1): Promise<void> {
    this.chain.mine(count);
    await this.give();
  }

  /** @param authorization the node's own unless given */
  async askReal(body: unknown, authorization = this.#authorization) {
    const { origin } = new URL(this.real.url);
    return read(await fetch(origin, { method: "POST", headers: { authorization }, body: JSON.stringify(body) }));
  }

  async askDouble(body: unknown, authorization = "") {
    return read(await this.double.answer(JSON.stringify(body), { authorization }));
  }

  /** Asks both, and holds the double's answer against the node's. */
  async both(method: string, ...params: unknown[]): Promise<Answer> {
    const body = call(method, params);
    const [expected, answered] = [await this.askReal(body), await this.askDouble(body)];
    const isEntry = method === "getmempoolentry";
    const label = `${method} ${JSON.stringify(params).slice(0, 80)}`;
    expect({ label, status: answered.status, body: compared(answered.body, isEntry) }).toEqual({
      label,
      status: expected.status,
      body: compared(expected.body, isEntry),
    });
    return answered.body as Answer;
  }

  /** Sends it to both. @returns the txid, or what both said against it */
  async send(tx: BitcoinTx): Promise<string> {
    const { result, error } = await this.both("sendrawtransaction", tx.raw);
    return error === undefined ? String(result) : `${error.code} ${error.message}`;
  }

  /** What both said, with ids left out. */
  async sendAll(...txs: BitcoinTx[]): Promise<string[]> {
    const said: string[] = [];
    for (const tx of txs) said.push((await this.send(tx)).replace(/[0-9a-f]{64}/g, "..."));
    return said;
  }

  /** What waits in both. */
  async pool(): Promise<string[]> {
    const held = (await this.real.rpc<string[]>("getrawmempool")).sort();
    expect(this.chain.pool.txs.map(({ txid }) => txid).sort()).toEqual(held);
    return held;
  }

  /** A coin of the faucet that nobody else in this test takes. */
  coin(legacy = false): KeyedCoin {
    const coin = this.chain.faucetCoins(legacy).find(({ txid }) => !this.#taken.has(txid));
    if (coin === undefined) throw new Error("the faucet is empty");
    this.#taken.add(coin.txid);
    return coin;
  }

  /** A payment to the payee from a coin of its own, not sent. */
  payment(amount: bigint, { legacy = false, feeRate = 5n } = {}): BitcoinTx {
    return this.chain.pay(payee.address, amount, { keepBack: true, coins: [this.coin(legacy)], feeRate });
  }

  get #authorization(): string {
    const { username, password } = new URL(this.real.url);
    return `Basic ${btoa(`${username}:${password}`)}`;
  }
}

export const call = (method: string, params: readonly unknown[]) => ({ jsonrpc: "2.0", id: 1, method, params });

async function read(response: Response) {
  const text = await response.text();
  return { status: response.status, text, body: text === "" ? null : (JSON.parse(text) as unknown) };
}

function compared(value: unknown, isEntry: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => compared(item, isEntry));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !OWN.test(key) && !(isEntry && OWN_OF_ENTRY.has(key)))
      .map(([key, item]) => [key, compared(item, isEntry)]),
  );
}
