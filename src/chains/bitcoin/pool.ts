/**
 * What waits in one node's pool. Each transaction is fetched once, proven by its id, and remembered by what it pays to
 * whom until it leaves the pool.
 *
 * Whoever is watched may change meanwhile. So each look asks again about transactions that were found to pay
 * somebody, and about some thousands of the others in turn: an address that is watched later than its payment came is found
 * at once in a small pool, and within size / `ASKED_AGAIN` looks in a large one.
 *
 * Memory is bounded: beyond `MAX_REMEMBERED` transactions or `MAX_CHARS` the rest of the pool is not looked at.
 */

import { addressOfScript } from "../../core/bitcoin-address.ts";
import type { BitcoinAddressForm } from "../../core/network.ts";
import { NATIVE } from "../../core/transfer.ts";
import type { Interest, PoolReading, PoolTransfer } from "../port.ts";
import type { RpcAnswer, RpcClient } from "../rpc/client.ts";
import { MalformedAnswer, parseList, parseObject } from "../rpc/malformed.ts";
import { chunked, inParallel } from "../rpc/parallel.ts";
import { faultOf, isUnknownTransaction, parseHash } from "./answers.ts";
import { type BitcoinTransaction, readRawTransaction } from "./transaction.ts";

export interface PoolBounds {
  /** Transactions fetched in one look. */
  readonly fetched: number;
  /** Remembered transactions that are asked about again in one look. */
  readonly askedAgain: number;
  readonly remembered: number;
  /** Length of all that is remembered. */
  readonly chars: number;
}

export const POOL_BOUNDS: PoolBounds = {
  fetched: 2_000,
  askedAgain: 5_000,
  remembered: 100_000,
  chars: 24_000_000,
};
/** Most are below a kilobyte; a hundred of the largest would be tens of megabytes. */
const PER_REQUEST = 50;
const PARALLEL_REQUESTS = 2;

export class Pool {
  readonly #rpc: RpcClient;
  readonly #form: BitcoinAddressForm;
  readonly #bounds: PoolBounds;
  /** By txid, those longest unasked about first: lines of output number, satoshi and address. */
  readonly #known = new Map<string, string>();
  #chars = 0;
  /** Fetched, and not asked about yet. */
  readonly #unasked = new Set<string>();
  /** Pays somebody who was watched at some time. */
  readonly #hits = new Set<string>();

  constructor(rpc: RpcClient, form: BitcoinAddressForm, bounds: PoolBounds = POOL_BOUNDS) {
    this.#rpc = rpc;
    this.#form = form;
    this.#bounds = bounds;
  }

  /** @throws ChainFault, MalformedAnswer */
  async read(interest: Interest): Promise<PoolReading> {
    const { head, isLoaded, txIds } = await this.#look();
    this.#forget(txIds);
    const fresh = [...txIds].filter((txId) => !this.#known.has(txId));
    const left = Math.max(0, this.#bounds.remembered - this.#known.size);
    const wanted = fresh.slice(0, Math.min(this.#bounds.fetched, left));
    const fetched = await this.#learn(wanted);
    const after = await this.#rpc.call("getbestblockhash", []);
    const transfers = this.#transfers(interest);
    if (parseHash(this.#result(after, "best block's hash"), "best block's hash") !== head) {
      return { head: null, transfers: [], isWhole: false, txIds: null };
    }
    return { head, transfers, isWhole: isLoaded && fetched === fresh.length, txIds: isLoaded ? txIds : null };
  }

  async #look(): Promise<{ head: string; isLoaded: boolean; txIds: ReadonlySet<string> }> {
    const { answers } = await this.#rpc.together([
      { method: "getbestblockhash", params: [] },
      { method: "getmempoolinfo", params: [] },
      { method: "getrawmempool", params: [] },
    ]);
    const [head, info, list] = answers;
    if (head === undefined || info === undefined || list === undefined)
      throw new Error("three calls have three answers");
    return {
      head: parseHash(this.#result(head, "best block's hash"), "best block's hash"),
      // After its start a node still reads the pool of its last run; old versions do not tell.
      isLoaded: parseObject(this.#result(info, "pool's state"), "pool's state").loaded !== false,
      txIds: new Set(
        parseList(this.#result(list, "pool"), "pool").map((txId) => parseHash(txId, "transaction id in the pool")),
      ),
    };
  }

  /** @returns how many of them are known now */
  async #learn(txIds: readonly string[]): Promise<number> {
    let fetched = 0;
    await inParallel(PARALLEL_REQUESTS, chunked(txIds, PER_REQUEST), async (group) => {
      if (this.#chars >= this.#bounds.chars) return;
      const calls = group.map((txId) => ({ method: "getrawtransaction", params: [txId] }));
      const { answers } = await this.#rpc.together(calls);
      for (const [i, answer] of answers.entries()) {
        const txId = group[i] ?? "";
        // Gone since the list was made; or another of the provider's nodes answers, and it may wait all the same.
        if (!answer.ok && isUnknownTransaction(answer.failure)) continue;
        const transaction = readRawTransaction(this.#result(answer, `transaction ${txId}`));
        if (transaction.txId !== txId)
          throw new MalformedAnswer("transaction", `the bytes of ${txId}`, transaction.txId);
        this.#remember(transaction);
        fetched += 1;
      }
    });
    return fetched;
  }

  #remember({ txId, outputs }: BitcoinTransaction): void {
    const lines = outputs.flatMap(({ amountUnits, script }, vout) => {
      const address = amountUnits > 0n ? addressOfScript(this.#form, script) : null;
      return address === null ? [] : [`${vout} ${amountUnits} ${address}`];
    });
    const text = lines.join("\n");
    this.#known.set(txId, text);
    this.#unasked.add(txId);
    this.#chars += text.length;
  }

  #forget(waiting: ReadonlySet<string>): void {
    for (const [txId, text] of this.#known) {
      if (waiting.has(txId)) continue;
      this.#known.delete(txId);
      this.#unasked.delete(txId);
      this.#hits.delete(txId);
      this.#chars -= text.length;
    }
  }

  /** Payments to whoever is watched now, among those that are asked about in this look. */
  #transfers(interest: Interest): PoolTransfer[] {
    const asked = [...new Set([...this.#hits, ...this.#unasked, ...this.#nextInTurn()])];
    const payments = asked.flatMap((txId) => paymentsOf(txId, this.#known.get(txId) ?? ""));
    const receivers = new Set(payments.map(({ address }) => address));
    const watched = receivers.size === 0 ? receivers : interest.watched(receivers);
    this.#unasked.clear();
    const found = payments.filter(({ address }) => watched.has(address));
    for (const { txId } of found) this.#hits.add(txId);
    return found;
  }

  #nextInTurn(): string[] {
    const turn: string[] = [];
    for (const txId of this.#known.keys()) {
      if (turn.length >= this.#bounds.askedAgain) break;
      turn.push(txId);
    }
    for (const txId of turn) {
      const text = this.#known.get(txId) ?? "";
      this.#known.delete(txId);
      this.#known.set(txId, text);
    }
    return turn;
  }

  #result(answer: RpcAnswer, what: string): unknown {
    if (!answer.ok) throw faultOf(this.#rpc, what, answer.failure);
    return answer.result;
  }
}

function paymentsOf(txId: string, text: string): PoolTransfer[] {
  if (text === "") return [];
  return text.split("\n").map((line) => {
    const [vout, amount, address] = line.split(" ");
    if (vout === undefined || amount === undefined || address === undefined)
      throw new Error(`a payment is three words`);
    return { txId, transferIndex: `out:${vout}`, address, asset: NATIVE, amountUnits: BigInt(amount) };
  });
}
