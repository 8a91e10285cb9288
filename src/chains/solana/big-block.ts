/**
 * A block too large to be read in one answer. Anybody can make one for less than a cent: nodes write down every call
 * between programs, and a transaction may hold dozens with 10 KiB each. Nothing of it may be passed over, and it must
 * not keep the chain from being read on.
 *
 * So it is read in two steps: whom its transactions touch, which is told without instructions, and then those that touch a
 * watched address, whole, one by one.
 */

import type { Interest } from "../port.ts";
import type { RpcAnswer, RpcClient } from "../rpc/client.ts";
import { MalformedAnswer, parseList, parseObject } from "../rpc/malformed.ts";
import { inParallel } from "../rpc/parallel.ts";
import { isTooMuch } from "../rpc/rpc-failure.ts";
import { FINALIZED, faultOf, parseCount } from "./answers.ts";
import { accountsCall, blockCall, rawBytes } from "./block.ts";
import { failureOf } from "./status.ts";
import { readTransaction, transactionId } from "./transaction.ts";

const SIDE_BY_SIDE = 4;

/** The block; where it is too large, with those transactions alone that touch a watched address. @throws ChainFault, MalformedAnswer */
export async function askBlock(rpc: RpcClient, slot: number, interest: Interest): Promise<RpcAnswer> {
  const whole = await rpc.call("getBlock", blockCall(slot).params);
  if (whole.ok || !isTooMuch(whole.failure)) return whole;
  const listed = await rpc.call("getBlock", accountsCall(slot).params);
  if (!listed.ok || listed.result === null) return listed;
  const what = `accounts of slot ${slot}`;
  const block = parseObject(listed.result, what);
  const touched = parseList(block.transactions, what).flatMap((item) => touchedBy(item, interest, what));
  const watched = interest.watched(new Set(touched.flatMap(({ addresses }) => addresses)));
  const concerned = touched.filter(({ addresses }) => addresses.some((address) => watched.has(address)));
  const transactions = await inParallel(SIDE_BY_SIDE, concerned, ({ txId }) => askTransaction(rpc, txId, slot));
  // A transaction that is not given leaves the block as one that is not known yet.
  return { ok: true, result: transactions.includes(null) ? null : { ...block, transactions } };
}

interface Touched {
  readonly txId: string;
  /** All accounts, and all owners of listed tokens. */
  readonly addresses: readonly string[];
}

/** Nothing, of one that failed. */
function touchedBy(item: unknown, { contracts }: Interest, what: string): readonly Touched[] {
  const { transaction, meta } = parseObject(item, what);
  if (failureOf(meta) !== null) return [];
  const { signatures, accountKeys } = parseObject(transaction, what);
  const { preTokenBalances, postTokenBalances } = parseObject(meta, what);
  const keys = parseList(accountKeys, what).map((key) => text(parseObject(key, what).pubkey, what));
  const owners = [...parseList(preTokenBalances, what), ...parseList(postTokenBalances, what)].flatMap((balance) => {
    const { mint, owner } = parseObject(balance, what);
    return contracts.has(text(mint, what)) ? [text(owner, what)] : [];
  });
  return [{ txId: text(parseList(signatures, what)[0], what), addresses: [...keys, ...owners] }];
}

/** As a block would show it; null: not given. */
async function askTransaction(rpc: RpcClient, txId: string, slot: number): Promise<unknown> {
  const answer = await rpc.call("getTransaction", transactionParams(txId));
  if (!answer.ok) throw faultOf(rpc, `transaction ${txId}`, answer.failure);
  if (answer.result === null) return null;
  const { slot: inSlot, transaction, meta } = parseObject(answer.result, `transaction ${txId}`);
  const got = transactionId(readTransaction(rawBytes(transaction)));
  if (got !== txId) throw new MalformedAnswer("transaction", txId, got);
  if (parseCount(inSlot, `slot of ${txId}`) !== slot)
    throw new MalformedAnswer(`slot of ${txId}`, String(slot), inSlot);
  return { transaction, meta };
}

export function transactionParams(txId: string): readonly unknown[] {
  return [txId, { commitment: FINALIZED, encoding: "base64", maxSupportedTransactionVersion: 1 }];
}

function text(value: unknown, what: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new MalformedAnswer(what, "an address or a signature", value);
}
