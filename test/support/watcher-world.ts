/** A watcher over a model chain, and the simplest store there can be: books and state, taken over together. */

import { keyText } from "../../src/core/transfer.ts";
import type { DepositSource, PollResult, WatchedDeposit, WatcherState } from "../../src/watcher/index.ts";
import { evmSource } from "../../src/watcher/index.ts";
import type { ModelChain, ModelNode } from "./model-chain.ts";

export const TOKEN = `0x${"70".repeat(20)}`;

export function modelSource(nodes: readonly ModelNode[], more: { internal?: boolean } = {}): DepositSource {
  const urls = nodes.map((_, i) => `http://node-${i}.test`);
  const send: typeof fetch = async (input, init) => {
    const node = nodes[urls.indexOf(String(input).replace(/\/$/, ""))];
    if (node === undefined || node.down) throw new TypeError("fetch failed");
    return node.answer(String(init?.body));
  };
  for (const node of nodes) node.tokens.set(TOKEN, { symbol: "COIN", decimals: 6 });
  const tokens = [{ symbol: "COIN", contract: TOKEN, decimals: 6 }];
  return evmSource({ urls, network: { id: "model", chainId: 31_337 }, tokens, fetch: send, ...more });
}

/** What a payment is booked as. */
const lineOf = (d: Pick<WatchedDeposit, "address" | "contract" | "amountUnits">) =>
  `${d.address} ${d.contract ?? "coin"} ${d.amountUnits}`;

export class Store {
  /** By key: what was credited and not taken back. */
  readonly books = new Map<string, string>();
  state: WatcherState | null = null;
  /** All money events by key, in order. */
  readonly stories = new Map<string, string[]>();

  /** One transaction. @throws Error when anything in it cannot be */
  commit({ reverted, confirmed, state, baseRevision }: PollResult): void {
    const revision = this.state?.revision ?? 0;
    if (revision !== baseRevision) throw new Error(`the state is of revision ${revision}, not ${baseRevision}`);
    for (const deposit of reverted) {
      const key = keyText(deposit);
      if (this.books.get(key) !== lineOf(deposit))
        throw new Error(`${key} is reverted as ${lineOf(deposit)}, and was ${this.books.get(key) ?? "never credited"}`);
      this.books.delete(key);
      this.#tell(key, `reverted ${deposit.epoch}`);
    }
    for (const deposit of confirmed) {
      const key = keyText(deposit);
      if (this.books.has(key)) throw new Error(`${key} is credited twice`);
      this.books.set(key, lineOf(deposit));
      this.#tell(key, `confirmed ${deposit.epoch}`);
    }
    this.state = JSON.parse(JSON.stringify(state)) as WatcherState;
  }

  #tell(key: string, what: string): void {
    this.stories.set(key, [...(this.stories.get(key) ?? []), what]);
  }
}

export interface Paid {
  readonly height: number;
  readonly address: string;
  readonly line: string;
}

/** What the chain pays, worked out in the plainest way, by key. */
export function paymentsOn(chain: ModelChain): Map<string, Paid> {
  const found = new Map<string, Paid>();
  for (let height = 0; height <= chain.head; height++) {
    for (const tx of chain.at(height)?.txs ?? []) {
      if (tx.status === 0) continue;
      const add = (index: string, address: string, contract: string | null, amountUnits: bigint) => {
        if (amountUnits === 0n) return;
        const line = lineOf({ address, contract, amountUnits });
        found.set(keyText({ txId: tx.hash, transferIndex: index }), { height, address, line });
      };
      add("value", tx.to, null, tx.value);
      for (const [i, call] of tx.calls.entries()) add(`call:${i}`, call.to, null, call.value);
      for (const [n, log] of tx.logs.entries())
        add(`log:${n}`, `0x${log.topics[2]?.slice(26)}`, log.address, BigInt(log.data));
    }
  }
  return found;
}
