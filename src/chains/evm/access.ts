/**
 * What one node has taught us about itself, kept as long as the node object lives. None of it decides what is
 * true: it only spares requests that were refused before.
 */

import { type Interest, MAX_BLOCKS_PER_RANGE } from "../port.ts";
import { MAX_BATCH, type RpcClient } from "../rpc/client.ts";
import { Span } from "../span.ts";
import { Attempts } from "./attempts.ts";
import { MissingMethods } from "./missing-methods.ts";
import { Pace } from "./pace.ts";

export const TRACE_STYLES = ["debug_traceBlockByHash", "trace_block"] as const;
export type TraceStyle = (typeof TRACE_STYLES)[number];

export interface NodeAccess {
  readonly rpc: RpcClient;
  /** Monotonic milliseconds, for the cost of readings alone. */
  readonly now: () => number;
  /** Blocks per batch of headers, with transaction hashes alone and with whole transactions. */
  readonly headerSpan: { readonly hashes: Span; readonly full: Span };
  /** Blocks per `eth_getLogs`. */
  readonly logSpan: Span;
  /** Blocks per reading of a range, by what is asked for. Whole transactions weigh more than hashes, traces most. */
  readonly pace: { readonly tokens: Pace; readonly native: Pace; readonly internal: Pace };
  readonly missing: MissingMethods;
  /** Readings in which a block could not be traced. */
  readonly failedTraces: Attempts;
  /** Readings in which balances of a block contradicted its logs. */
  readonly doubtedArrivals: Attempts;
  /** The block that came along with the latest tip: whoever reads it next takes it from here. */
  ahead: AheadBlock | null;
  /** Whether the node answers a block it does not have yet with null. One that calls it an error is not asked ahead. */
  takesAhead: boolean;
  /** Where such a contradiction ended the latest reading of a range; it is asked again by itself. */
  doubtedHeight: number | null;
}

export interface AheadBlock {
  readonly height: number;
  /** With whole transactions, not their hashes alone. */
  readonly full: boolean;
  /** As it came. */
  readonly block: unknown;
}

/** Requests of one reading that are under way at a time. */
export const PARALLEL_REQUESTS = 4;

const HEADER_AIM_BYTES = 1_000_000;
/** Some three thousand logs: below, round trips cost more than bytes; from ten thousand on vendors refuse. */
const LOG_AIM_BYTES = 2_000_000;

export function newAccess(rpc: RpcClient, now: () => number): NodeAccess {
  return {
    rpc,
    now,
    headerSpan: {
      hashes: new Span({ start: 100, max: MAX_BATCH, aimBytes: HEADER_AIM_BYTES }),
      full: new Span({ start: 32, max: MAX_BATCH, aimBytes: HEADER_AIM_BYTES }),
    },
    logSpan: new Span({ start: 64, max: MAX_BLOCKS_PER_RANGE, aimBytes: LOG_AIM_BYTES }),
    pace: {
      tokens: new Pace({ start: MAX_BLOCKS_PER_RANGE, max: MAX_BLOCKS_PER_RANGE }),
      native: new Pace({ start: 256, max: MAX_BLOCKS_PER_RANGE }),
      internal: new Pace({ start: 64, max: MAX_BLOCKS_PER_RANGE }),
    },
    missing: new MissingMethods(),
    failedTraces: new Attempts(),
    doubtedArrivals: new Attempts(),
    ahead: null,
    takesAhead: true,
    doubtedHeight: null,
  };
}

export function paceOf(access: NodeAccess, interest: Interest): Pace {
  if (interest.internal && !lacksTraces(access)) return access.pace.internal;
  return interest.native ? access.pace.native : access.pace.tokens;
}

/** Whether the node is known to offer traces in no form. */
export function lacksTraces(access: NodeAccess): boolean {
  return TRACE_STYLES.every((style) => access.missing.has(style));
}

/** The block that came along with the tip, if it is this one. It is given away once. */
export function takeAhead(access: NodeAccess, height: number, full: boolean): AheadBlock | null {
  const { ahead } = access;
  if (ahead === null || ahead.height !== height || ahead.full !== full) return null;
  access.ahead = null;
  return ahead;
}
