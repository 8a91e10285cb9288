/**
 * Who used up a nonce: the block in which the sender's count of transactions went past it, and in it the
 * transaction that has it. The search begins at the top, where a node still has state, and takes about
 * twice the binary logarithm of the range in requests.
 */

import type { RpcClient } from "../rpc/client.ts";
import { isMethodMissing, isStateGone, isUnknownBlock } from "../rpc/rpc-failure.ts";
import { parseAddressHex, parseHash, parseList, parseObject, parseQuantity, toQuantity } from "./parse.ts";

export interface ConsumerQuestion {
  readonly sender: string;
  readonly nonce: number;
  /** Final heights, both included. */
  readonly from: number;
  readonly to: number;
}

/**
 * Null when no transaction in the range has the nonce, or the node has not kept what would show it. A nonce can
 * also go without one (EIP-7702 authorizations count).
 * @throws ChainFault, MalformedAnswer
 */
export async function findConsumer(
  rpc: RpcClient,
  question: ConsumerQuestion,
): Promise<{ readonly txId: string; readonly height: number } | null> {
  const { from, to } = question;
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || to < from)
    throw new Error(`a consumer is looked for in a range of heights, asked for ${from}..${to}`);
  const height = await consumingHeight(rpc, question);
  return height === null ? null : transactionIn(rpc, question, height);
}

/** The lowest height whose state has the nonce used up, if it lies in the range. */
async function consumingHeight(rpc: RpcClient, { sender, nonce, from, to }: ConsumerQuestion): Promise<number | null> {
  const isUsedUp = async (height: number) => {
    const count = await countAt(rpc, sender, height);
    return count === null ? null : count > nonce;
  };
  if ((await isUsedUp(to)) !== true) return null;
  // Used up at `high`; `low` is below the range or still has it free.
  let high = to;
  let low = from - 1;
  for (let step = 1; high - step > low; step *= 2) {
    const used = await isUsedUp(high - step);
    if (used === null) return null;
    if (!used) {
      low = high - step;
      break;
    }
    high -= step;
  }
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2);
    const used = await isUsedUp(middle);
    if (used === null) return null;
    if (used) high = middle;
    else low = middle;
  }
  return high;
}

/** Transactions of the sender up to this height; null when the node cannot tell. */
async function countAt(rpc: RpcClient, sender: string, height: number): Promise<number | null> {
  const answer = await rpc.call("eth_getTransactionCount", [sender, toQuantity(height)]);
  if (answer.ok) return parseQuantity(answer.result, `nonce at ${height}`);
  const { failure } = answer;
  if (isStateGone(failure) || isUnknownBlock(failure) || isMethodMissing(failure)) return null;
  throw rpc.fault(`nonce at ${height}`, failure);
}

async function transactionIn(
  rpc: RpcClient,
  { sender, nonce }: ConsumerQuestion,
  height: number,
): Promise<{ readonly txId: string; readonly height: number } | null> {
  const answer = await rpc.call("eth_getBlockByNumber", [toQuantity(height), true]);
  if (!answer.ok && isUnknownBlock(answer.failure)) return null;
  if (!answer.ok) throw rpc.fault(`block ${height}`, answer.failure);
  if (answer.result === null) return null;
  for (const entry of parseList(parseObject(answer.result, `block ${height}`).transactions, "transactions")) {
    const tx = parseObject(entry, "transaction");
    if (parseAddressHex(tx.from, "transaction from") !== sender) continue;
    if (parseQuantity(tx.nonce, "transaction nonce") !== nonce) continue;
    return { txId: parseHash(tx.hash, "transaction hash"), height };
  }
  return null;
}
