/**
 * A node whose answers contradict each other. Each lie is one that the rest of what the node says gives away: the
 * header against its receipts, one block against the next, logs against receipts. None is told consistently, since
 * then nobody who has one provider alone could know.
 */

import { type Call, isRecord, type Reply } from "./rpc.ts";

type Told = Record<string, unknown>;
type Lie = (call: Call, result: unknown) => unknown;

export const LIES: Readonly<Record<string, Lie>> = {
  /** Payments are left out; the header's bloom and receipts root say otherwise. */
  "without logs": ({ method }, result) => {
    if (method === "eth_getLogs") return [];
    if (method === "eth_getBlockReceipts") return each(result, (receipt) => ({ ...receipt, logs: [] }));
    return result;
  },
  /** A block that stands on no block there is. */
  "of another parent": ({ method }, result) =>
    method === "eth_getBlockByNumber"
      ? one(result, (block) => ({ ...block, parentHash: other(block.parentHash) }))
      : result,
  /** The root in the header is that of others. */
  "with other receipts": ({ method }, result) => {
    if (method === "eth_getBlockReceipts")
      return each(result, (receipt) => ({ ...receipt, cumulativeGasUsed: `${receipt.cumulativeGasUsed}0` }));
    // The status stays: a wallet's own receipt is believed when its block is on the chain.
    if (method !== "eth_getTransactionReceipt") return result;
    return one(result, (receipt) => {
      const blockHash = other(receipt.blockHash);
      return { ...receipt, blockHash, logs: each(receipt.logs, (log) => ({ ...log, blockHash })) };
    });
  },
  /** Sixteen times what the receipts say. */
  "with larger payments": ({ method }, result) =>
    method === "eth_getLogs" ? each(result, (log) => ({ ...log, data: moreThan(log.data) })) : result,
  /** The first one stands in the place of all others. */
  "with receipts of one transaction": ({ method }, result) =>
    method === "eth_getBlockReceipts" && Array.isArray(result) ? result.map(() => result[0]) : result,
};

const ALL = Object.values(LIES);

/** @param turn counts requests, so that each lie has its turn where several would do */
export function lie(call: Call, reply: Reply, turn: number): Reply {
  if ("error" in reply) return reply;
  const honest = JSON.stringify(reply.result);
  const told = ALL.map((tell) => tell(call, reply.result)).filter((result) => JSON.stringify(result) !== honest);
  return told.length === 0 ? reply : { result: told[turn % told.length] };
}

function one(value: unknown, change: (told: Told) => Told): unknown {
  return isRecord(value) ? change(value) : value;
}

function each(value: unknown, change: (told: Told) => Told): unknown {
  return Array.isArray(value) ? value.map((item) => one(item, change)) : value;
}

function other(hash: unknown): unknown {
  return typeof hash === "string" ? `${hash.slice(0, -4)}${hash.endsWith("beef") ? "dead" : "beef"}` : hash;
}

/** A word of data with its digits one place to the left: sixteen times as much. */
function moreThan(data: unknown): unknown {
  return typeof data === "string" && data.length === 66 ? `0x${data.slice(3)}0` : data;
}
