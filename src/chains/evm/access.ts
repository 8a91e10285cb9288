/**
 * What one node has taught us about itself, kept as long as the node object lives. None of it decides what is
 * true: it only spares requests that were refused before.
 */

import { MAX_BLOCKS_PER_RANGE } from "../port.ts";
import type { RpcClient } from "./rpc.ts";
import { Span } from "./span.ts";

export const TRACE_STYLES = ["debug_traceBlockByHash", "trace_block"] as const;
export type TraceStyle = (typeof TRACE_STYLES)[number];

export interface NodeAccess {
  readonly rpc: RpcClient;
  /** Blocks per batch of headers, with transaction hashes alone and with whole transactions. */
  readonly headerSpan: { readonly hashes: Span; readonly full: Span };
  /** Blocks per `eth_getLogs`. */
  readonly logSpan: Span;
  /** null: not tried yet. */
  offersBlockReceipts: boolean | null;
  /** Trace methods that this node turned out not to have. */
  readonly lacksTraces: Set<TraceStyle>;
  /** How often each block could not be traced, by hash. Few: forgotten when they become many. */
  readonly failedTraces: Map<string, number>;
}

/** Requests of one reading that are under way at a time. */
export const PARALLEL_REQUESTS = 4;

const HEADER_AIM_BYTES = 1_000_000;
/** Between 60 and 600 KB: below, round trips cost more than bytes; above, vendors begin to refuse. */
const LOG_AIM_BYTES = 400_000;

export function newAccess(rpc: RpcClient): NodeAccess {
  return {
    rpc,
    headerSpan: {
      hashes: new Span({ start: 64, max: 100, aimBytes: HEADER_AIM_BYTES }),
      full: new Span({ start: 32, max: 100, aimBytes: HEADER_AIM_BYTES }),
    },
    logSpan: new Span({ start: 64, max: MAX_BLOCKS_PER_RANGE, aimBytes: LOG_AIM_BYTES }),
    offersBlockReceipts: null,
    lacksTraces: new Set(),
    failedTraces: new Map(),
  };
}
