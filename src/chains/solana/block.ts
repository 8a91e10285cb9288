/**
 * A block as a node gives it. Its height counts blocks, its slot counts the turns at making one, of which some stay
 * without; heights have no gaps. A block names its parent by slot and by hash, and that links them.
 *
 * A block's hash cannot be made from what a node gives: links and several providers are all there is.
 */

import { fromBase64 } from "../../core/base64.ts";
import { MalformedAnswer, parseList, parseObject } from "../rpc/malformed.ts";
import { FINALIZED, parseCount, parseHash } from "./answers.ts";
import { type ExecutedTransaction, failureOf, readExecuted } from "./status.ts";
import { readTransaction } from "./transaction.ts";

export interface BlockHead {
  readonly slot: number;
  /** Null: a node that has forgotten it. */
  readonly height: number | null;
  readonly hash: string;
  readonly parentSlot: number;
  readonly parentHash: string;
  /** Unix seconds; null: forgotten, or the first block. */
  readonly timestamp: number | null;
}

const READABLE = { commitment: FINALIZED, encoding: "base64", maxSupportedTransactionVersion: 1, rewards: false };

export function headCall(slot: number) {
  return { method: "getBlock", params: [slot, { ...READABLE, transactionDetails: "none" }] };
}

export function blockCall(slot: number) {
  return { method: "getBlock", params: [slot, { ...READABLE, transactionDetails: "full" }] };
}

/** Accounts and balances of each transaction, without instructions. */
export function accountsCall(slot: number) {
  return { method: "getBlock", params: [slot, { ...READABLE, transactionDetails: "accounts" }] };
}

/** @throws MalformedAnswer */
export function readHead(answer: unknown, slot: number): BlockHead {
  const what = `block of slot ${slot}`;
  const { blockHeight, blockhash, parentSlot, previousBlockhash, blockTime } = parseObject(answer, what);
  return {
    slot,
    height: blockHeight === null || blockHeight === undefined ? null : parseCount(blockHeight, `${what}: height`),
    hash: parseHash(blockhash, `${what}: hash`),
    parentSlot: parseCount(parentSlot, `${what}: parent's slot`),
    parentHash: parseHash(previousBlockhash, `${what}: parent's hash`),
    timestamp: blockTime === null || blockTime === undefined ? null : parseCount(blockTime, `${what}: time`),
  };
}

/** Those that succeeded, in the block's order. @throws MalformedAnswer */
export function* executedIn(answer: unknown, slot: number): Generator<ExecutedTransaction> {
  const { transactions } = parseObject(answer, `block of slot ${slot}`);
  for (const [i, item] of parseList(transactions, `transactions of slot ${slot}`).entries()) {
    const what = `transaction ${i} of slot ${slot}`;
    const { transaction, meta } = parseObject(item, what);
    if (failureOf(meta) === null) yield readExecuted(readTransaction(rawBytes(transaction)), meta, what);
  }
}

/** `[bytes, "base64"]`. @throws MalformedAnswer */
export function rawBytes(value: unknown): Uint8Array {
  const [text, encoding] = parseList(value, "bytes of a transaction");
  if (typeof text !== "string" || encoding !== "base64") throw new MalformedAnswer("transaction", "base64", encoding);
  try {
    return fromBase64(text);
  } catch {
    throw new MalformedAnswer("transaction", "base64", text);
  }
}
