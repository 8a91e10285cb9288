/**
 * Coins that contracts sent, from a block's call traces. A frame counts only if it and everything above it
 * succeeded; the outermost frame is the transaction's own value and is not told twice.
 *
 * The path that names a frame must not depend on who traced it. Clients disagree about two kinds of frames:
 * calls that failed before they ran (geth lists them, Erigon and older geth do not) and calls to precompiles
 * (trace_block leaves them out). So positions count only calls that succeeded and are not to a precompile:
 * otherwise one payment read from two clients would have two keys, and be credited twice.
 */

import {
  MalformedAnswer,
  parseAddressHex,
  parseAmountHex,
  parseHash,
  parseList,
  parseObject,
  parseQuantity,
} from "./parse.ts";
import { isZero } from "./records.ts";

export interface InternalPayment {
  readonly txHash: string;
  /** Positions below the outermost frame, joined with dots: `0`, `0.2`. */
  readonly path: string;
  readonly to: string;
  /** Hex, above zero. */
  readonly value: string;
}

export type TraceReading =
  /** Payments of each transaction, in execution order. */
  | { readonly kind: "whole"; readonly payments: InternalPayment[] }
  /** As `whole`, without transactions whose trace is more than can be read. */
  | { readonly kind: "partial"; readonly payments: InternalPayment[] }
  /** Traces of another block, or none of some transaction: the node does not have this block, or not yet. */
  | { readonly kind: "missing" }
  /** The node has the block and could not execute a transaction of it again. */
  | { readonly kind: "failed" };

/** Calls deeper than the EVM's own limit do not exist (yellow paper, 9.1). */
const MAX_DEPTH = 1_024;
const ZERO_ADDRESS = `0x${"0".repeat(40)}`;

interface Frame {
  readonly kind: "moves" | "runs";
  readonly from: string;
  readonly to: string;
  readonly value: string;
  readonly failed: boolean;
  readonly children: readonly Frame[];
}

/** geth's `debug_traceBlockByHash` with `callTracer`. */
export function readCallTracer(answer: unknown, txHashes: readonly string[]): TraceReading {
  const items = parseList(answer, "block trace").map((item) => parseObject(item, "transaction trace"));
  const roots = new Map<string, Frame>();
  for (const [index, item] of items.entries()) {
    // anvil answers so for blocks whose state it has dropped, geth for a transaction that takes too long.
    if (isMissing(item.result) && saysFailed(item.error)) return { kind: "failed" };
    // Older geth names no transaction: then all of them are there, in order, or the answer is of no use.
    const named = item.txHash === undefined && items.length === txHashes.length ? txHashes[index] : item.txHash;
    if (named === undefined || isMissing(item.result)) continue;
    roots.set(parseHash(named, "trace txHash"), readFrame(item.result, 0));
  }
  return paymentsOf(roots, txHashes);
}

/** One transaction's `debug_traceTransaction` with `callTracer`. */
export function readTransactionTrace(answer: unknown, txHash: string): InternalPayment[] {
  const root = readFrame(answer, 0);
  const payments: InternalPayment[] = [];
  if (!root.failed) collect(root, "", txHash, payments);
  return payments;
}

/** Parity-style `trace_block`, which takes a height: the caller says which hash it must be of. */
export function readTraceBlock(answer: unknown, blockHash: string, txHashes: readonly string[]): TraceReading {
  const byTx = new Map<string, ParityTrace[]>();
  for (const item of parseList(answer, "block trace")) {
    const trace = parseObject(item, "trace");
    if (parseHash(trace.blockHash, "trace blockHash") !== blockHash) return { kind: "missing" };
    // Block rewards belong to no transaction.
    if (isMissing(trace.transactionHash)) continue;
    const txHash = parseHash(trace.transactionHash, "trace transactionHash");
    const ofTx = byTx.get(txHash) ?? [];
    ofTx.push(readParityTrace(trace));
    byTx.set(txHash, ofTx);
  }
  const roots = new Map<string, Frame>();
  for (const [txHash, traces] of byTx) {
    const root = assemble(traces);
    if (root) roots.set(txHash, root);
  }
  return paymentsOf(roots, txHashes);
}

function paymentsOf(roots: ReadonlyMap<string, Frame>, txHashes: readonly string[]): TraceReading {
  const payments: InternalPayment[] = [];
  for (const txHash of txHashes) {
    const root = roots.get(txHash);
    if (root === undefined) return { kind: "missing" };
    if (!root.failed) collect(root, "", txHash, payments);
  }
  return { kind: "whole", payments };
}

function collect(parent: Frame, prefix: string, txHash: string, payments: InternalPayment[]): void {
  let position = 0;
  for (const frame of parent.children) {
    if (frame.failed || isPrecompile(frame.to)) continue;
    const path = `${prefix}${position}`;
    position += 1;
    if (frame.kind === "moves" && frame.from !== frame.to && !isZero(frame.value)) {
      payments.push({ txHash, path, to: frame.to, value: frame.value });
    }
    collect(frame, `${path}.`, txHash, payments);
  }
}

/** 0x1 to 0xfff: Ethereum's own and those that rollups and BSC add. Contracts with code begin at 0x1000 there. */
function isPrecompile(address: string): boolean {
  return address.startsWith(`0x${"0".repeat(37)}`) && address !== ZERO_ADDRESS;
}

function readFrame(value: unknown, depth: number): Frame {
  if (depth > MAX_DEPTH) throw new MalformedAnswer("call frame", `at most ${MAX_DEPTH} levels`, depth);
  const frame = parseObject(value, "call frame");
  const type = String(frame.type).toUpperCase();
  const failed = saysFailed(frame.error);
  const children = frame.calls === undefined || frame.calls === null ? [] : parseList(frame.calls, "call frame calls");
  return {
    // DELEGATECALL and STATICCALL carry no value, CALLCODE keeps it where it is.
    kind: ["CALL", "CREATE", "CREATE2", "SELFDESTRUCT"].includes(type) ? "moves" : "runs",
    from: parseAddressHex(frame.from, "call frame from"),
    // A creation that failed has no address.
    to: failed && isMissing(frame.to) ? ZERO_ADDRESS : parseAddressHex(frame.to, "call frame to"),
    value: isMissing(frame.value) ? "0x0" : parseAmountHex(frame.value, "call frame value"),
    failed,
    children: children.map((child) => readFrame(child, depth + 1)),
  };
}

interface ParityTrace extends Omit<Frame, "children"> {
  readonly address: readonly number[];
}

function readParityTrace(trace: Record<string, unknown>): ParityTrace {
  const action = parseObject(trace.action, "trace action");
  const address = parseList(trace.traceAddress, "traceAddress").map((position) => {
    if (typeof position === "number" && Number.isSafeInteger(position) && position >= 0) return position;
    return parseQuantity(position, "traceAddress");
  });
  return { ...readAction(trace, action), failed: saysFailed(trace.error), address };
}

function readAction(
  trace: Record<string, unknown>,
  action: Record<string, unknown>,
): Pick<Frame, "kind" | "from" | "to" | "value"> {
  const failed = saysFailed(trace.error);
  switch (trace.type) {
    case "call":
      return {
        kind: action.callType === "call" ? "moves" : "runs",
        from: parseAddressHex(action.from, "trace from"),
        to: parseAddressHex(action.to, "trace to"),
        value: parseAmountHex(action.value ?? "0x0", "trace value"),
      };
    case "create": {
      const created = isMissing(trace.result) ? undefined : parseObject(trace.result, "trace result").address;
      return {
        kind: "moves",
        from: parseAddressHex(action.from, "trace from"),
        to: failed && isMissing(created) ? ZERO_ADDRESS : parseAddressHex(created, "created address"),
        value: parseAmountHex(action.value ?? "0x0", "trace value"),
      };
    }
    case "suicide":
    case "selfdestruct":
      return {
        kind: "moves",
        from: parseAddressHex(action.address, "trace address"),
        to: parseAddressHex(action.refundAddress, "trace refundAddress"),
        value: parseAmountHex(action.balance ?? "0x0", "trace balance"),
      };
    default:
      throw new MalformedAnswer("trace type", "call, create or suicide", trace.type);
  }
}

/** The tree of one transaction, or null when its outermost frame is not there. */
function assemble(traces: readonly ParityTrace[]): Frame | null {
  const byAddress = new Map<string, ParityTrace & { children: Frame[] }>();
  const sorted = [...traces].sort((a, b) => compareAddresses(a.address, b.address));
  for (const trace of sorted) {
    const node = { ...trace, children: [] };
    const place = trace.address.join(".");
    if (byAddress.has(place)) throw new MalformedAnswer("traceAddress", "one frame at each place", `two at [${place}]`);
    byAddress.set(place, node);
    if (trace.address.length === 0) continue;
    const parent = byAddress.get(trace.address.slice(0, -1).join("."));
    if (parent === undefined) throw new MalformedAnswer("traceAddress", "a parent frame", trace.address.join("."));
    parent.children.push(node);
  }
  return byAddress.get("") ?? null;
}

/** Parents before children, siblings by position. */
function compareAddresses(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function saysFailed(error: unknown): boolean {
  return !isMissing(error) && error !== "";
}

function isMissing(value: unknown): boolean {
  return value === null || value === undefined;
}
