/**
 * Coins sent by contracts, block by block, where the node offers traces: `debug_traceBlockByHash` first, then
 * `trace_block`. A node that has neither is asked now and then, and every reading says so. A block whose trace is
 * too much for one answer is traced by its transactions: nobody may stop the reading with a heavy block.
 */

import type { Cut } from "../cut.ts";
import type { BlockRef } from "../port.ts";
import type { RpcAnswer } from "../rpc/client.ts";
import { inParallel } from "../rpc/parallel.ts";
import { isMethodMissing, isStateGone, isTimeout, isUnknownBlock } from "../rpc/rpc-failure.ts";
import { lacksTraces, type NodeAccess, TRACE_STYLES, type TraceStyle } from "./access.ts";
import {
  type InternalPayment,
  readCallTracer,
  readTraceBlock,
  readTransactionTrace,
  type TraceReading,
} from "./call-traces.ts";
import { toQuantity } from "./parse.ts";

/** Traces at a time. They are the largest answers there are. */
const PARALLEL_TRACES = 2;
/** Near the head a trace that fails is tried so often, from poll to poll, before the block goes untraced. */
const MAX_TRACE_ATTEMPTS = 5;

export interface TracedBlock {
  readonly ref: BlockRef;
  readonly txHashes: readonly string[];
}

export interface InternalFindings {
  /** In chain order. */
  readonly payments: (InternalPayment & { readonly height: number })[];
  /** `untraced`: some block, at least, could not be traced here. */
  readonly traced: "traced" | "untraced";
}

/**
 * @param past whether the blocks may be older than the state that the node keeps. Then they go untraced, and the
 *   reading says so at once. Near the head they are not known for some attempts, and another node may be asked.
 * @throws ChainFault, MalformedAnswer
 */
export async function readInternal(
  access: NodeAccess,
  blocks: readonly TracedBlock[],
  past: boolean,
  cut: Cut,
): Promise<InternalFindings> {
  const eventful = blocks.filter((block) => block.txHashes.length > 0);
  let untraced = lacksTraces(access);
  const perBlock = await inParallel(PARALLEL_TRACES, eventful, async (block) => {
    if (!cut.keeps(block.ref.height) || lacksTraces(access)) return [];
    const { payments, whole } = await traceBlock(access, block, past, cut);
    if (!whole) untraced = true;
    return payments.map((payment) => ({ ...payment, height: block.ref.height }));
  });
  return { payments: perBlock.flat(), traced: untraced || lacksTraces(access) ? "untraced" : "traced" };
}

/** `slow`: some transaction, at least, takes longer than the node or we wait. */
type Traced = TraceReading | { readonly kind: "slow" };

/** Payments of one block; not `whole` when it goes untraced, or partly so. */
async function traceBlock(
  access: NodeAccess,
  block: TracedBlock,
  past: boolean,
  cut: Cut,
): Promise<{ readonly payments: readonly InternalPayment[]; readonly whole: boolean }> {
  let outcome: "missing" | "slow" | "failed" | null = null;
  for (const style of TRACE_STYLES) {
    if (access.missing.has(style)) continue;
    const reading = await askForTrace(access, style, block);
    if (reading === null) access.missing.add(style);
    else if ("payments" in reading) return { payments: reading.payments, whole: reading.kind === "whole" };
    // A tracer that had the block and failed knows more than one that had nothing.
    else if (outcome !== "failed" && !(outcome === "slow" && reading.kind === "missing")) outcome = reading.kind;
  }
  const { height, hash } = block.ref;
  const untraced = { payments: [], whole: false };
  if (outcome === null || (outcome === "failed" && past)) return untraced;
  // A block that stays untraceable must not hold up all other payments for ever.
  if (outcome !== "missing" && access.failedTraces.next(hash) >= MAX_TRACE_ATTEMPTS) return untraced;
  const what = outcome === "missing" ? "has no whole trace of" : "could not trace";
  cut.at("not_known", height, `${access.rpc.name} ${what} block ${hash}`);
  return { payments: [], whole: true };
}

/** Null when the node does not have the method. */
async function askForTrace(access: NodeAccess, style: TraceStyle, block: TracedBlock): Promise<Traced | null> {
  const { ref, txHashes } = block;
  const { rpc } = access;
  const answer: RpcAnswer =
    style === "trace_block"
      ? await rpc.call(style, [toQuantity(ref.height)])
      : await rpc.call(style, [ref.hash, { tracer: "callTracer" }]);
  if (answer.ok) {
    if (answer.result === null) return { kind: "missing" };
    return style === "trace_block"
      ? readTraceBlock(answer.result, ref.hash, txHashes)
      : readCallTracer(answer.result, txHashes);
  }
  const isSlow = isTimeout(answer.failure);
  if (style === "debug_traceBlockByHash" && (isSlow || answer.failure.kind === "too_large"))
    return traceSingly(access, block);
  if (isSlow) return { kind: "slow" };
  if (isMethodMissing(answer.failure)) return null;
  if (isStateGone(answer.failure)) return { kind: "failed" };
  if (isUnknownBlock(answer.failure)) return { kind: "missing" };
  throw rpc.fault(`trace of block ${ref.height}`, answer.failure);
}

/** Transaction by transaction, for a block that is too much at once. */
async function traceSingly(access: NodeAccess, { ref, txHashes }: TracedBlock): Promise<Traced> {
  const { rpc } = access;
  let whole = true;
  let missing = false;
  let slow = false;
  const perTx = await inParallel(PARALLEL_TRACES, txHashes, async (txHash) => {
    if (slow) return [];
    const answer = await rpc.call("debug_traceTransaction", [txHash, { tracer: "callTracer" }]);
    if (answer.ok && answer.result !== null) return readTransactionTrace(answer.result, txHash);
    // One transaction can outgrow every bound. It is left out, and the reading says so.
    if (!answer.ok && answer.failure.kind === "too_large") whole = false;
    else if (answer.ok || isUnknownBlock(answer.failure)) missing = true;
    else if (isTimeout(answer.failure) || isMethodMissing(answer.failure)) slow = true;
    else throw rpc.fault(`trace of transaction ${txHash} in block ${ref.height}`, answer.failure);
    return [];
  });
  if (slow) return { kind: "slow" };
  if (missing) return { kind: "missing" };
  return { kind: whole ? "whole" : "partial", payments: perTx.flat() };
}
