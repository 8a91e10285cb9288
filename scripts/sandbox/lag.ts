/**
 * A node that is some blocks behind, and says so in everything: heads and tags, blocks, logs, receipts, states and
 * traces are those of the chain as it was then. What is above the shown head does not exist.
 */

import { type Call, isRecord, quantity, type Reply } from "./rpc.ts";

export const LAG_BLOCKS = 6;
/** As far as anvil's own tags are behind its head. */
const BEHIND_HEAD: Readonly<Record<string, number>> = { latest: 0, pending: 0, safe: 32, finalized: 64 };
const HASH = /^0x[0-9a-fA-F]{64}$/;

/** Where each method names a block. */
const BLOCK_AT: Readonly<Record<string, number>> = {
  eth_getBlockByNumber: 0,
  eth_getBlockReceipts: 0,
  trace_block: 0,
  debug_traceBlockByNumber: 0,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getTransactionCount: 1,
  eth_call: 1,
  eth_estimateGas: 1,
  eth_feeHistory: 1,
  eth_getStorageAt: 2,
};
const BY_HASH: ReadonlySet<string> = new Set(["eth_getBlockByHash", "eth_getBlockReceipts", "debug_traceBlockByHash"]);
/** What these do not know, they answer with null; others with an error. */
const SAYS_NULL: ReadonlySet<string> = new Set(["eth_getBlockByNumber", "eth_getBlockByHash", "eth_getBlockReceipts"]);

/** The hash of the block that a call is about; null when it names none. */
export function hashIn({ method, params }: Call): string | null {
  const [first] = params;
  if (method === "eth_getLogs" && isRecord(first)) return text(first.blockHash);
  if (BY_HASH.has(method) && typeof first === "string" && HASH.test(first)) return first;
  const block = params[BLOCK_AT[method] ?? -1];
  return isRecord(block) ? text(block.blockHash) : null;
}

/**
 * What the node is to be asked, or what is answered without it.
 * @param head the highest block that is shown
 * @param named height of the block whose hash the call names; null: none, or unknown
 */
export function asked(call: Call, head: number, named: number | null): Call | Reply {
  const { method, params } = call;
  if (method === "eth_blockNumber") return { result: quantity(head) };
  if (named !== null && named > head) return unknownBlock(method);
  if (method === "eth_getLogs") return logsAsked(call, head);
  const at = BLOCK_AT[method];
  if (at === undefined) return call;
  const block = params[at] ?? "latest";
  if (isRecord(block) || (typeof block === "string" && HASH.test(block))) return call;
  const height = heightOf(block, head);
  if (height > head) return unknownBlock(method);
  return { method, params: [...params.slice(0, at), quantity(height), ...params.slice(at + 1)] };
}

/** What of the reply is shown. */
export function shown(call: Call, reply: Reply, head: number): Reply {
  if ("error" in reply || !isRecord(reply.result)) return reply;
  const isOfTransaction = /^eth_getTransaction(Receipt|ByHash)$/.test(call.method);
  return isOfTransaction && Number(reply.result.blockNumber) > head ? { result: null } : reply;
}

function logsAsked(call: Call, head: number): Call | Reply {
  const [filter] = call.params;
  if (!isRecord(filter) || filter.blockHash !== undefined) return call;
  const from = heightOf(filter.fromBlock ?? "latest", head);
  const to = Math.min(head, heightOf(filter.toBlock ?? "latest", head));
  if (from > to) return { result: [] };
  return { method: call.method, params: [{ ...filter, fromBlock: quantity(from), toBlock: quantity(to) }] };
}

function heightOf(block: unknown, head: number): number {
  const behind = BEHIND_HEAD[String(block)];
  if (behind !== undefined) return Math.max(0, head - behind);
  return block === "earliest" ? 0 : Number(block);
}

function unknownBlock(method: string): Reply {
  return SAYS_NULL.has(method) ? { result: null } : { error: { code: -32_000, message: "unknown block" } };
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
