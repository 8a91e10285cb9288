/** What the answers and refusals of Solana's JSON-RPC mean here. Codes as in Agave's `rpc-client-api/src/custom_error.rs`. */

import { ChainFault } from "../port.ts";
import type { RpcClient } from "../rpc/client.ts";
import { MalformedAnswer, parseObject } from "../rpc/malformed.ts";
import type { RpcFailure } from "../rpc/rpc-failure.ts";

/** Only what can never be taken back is looked at. */
export const FINALIZED = "finalized";

/**
 * The node does not give this block: cleaned up (-32001), not available (-32004), skipped (-32007), skipped or not in the
 * archive (-32009), not complete yet (-32014), archive out of reach (-32019). Nodes use them for one another, so none
 * proves that a slot has no block: links between blocks do.
 */
const NO_BLOCK: ReadonlySet<number> = new Set([-32001, -32004, -32007, -32009, -32014, -32019]);

export function isWithoutBlock(failure: RpcFailure): boolean {
  return failure.kind === "rpc" && NO_BLOCK.has(failure.code);
}

/**
 * The fault for an answer that nothing can be done about here. A key that is refused stays refused; all else may
 * pass, a node behind the others (-32005) or one that wants a newer reader (-32015) included.
 */
export function faultOf(rpc: RpcClient, what: string, failure: RpcFailure): ChainFault {
  if (failure.kind === "status" && (failure.code === 401 || failure.code === 403)) {
    return new ChainFault(`${rpc.name}: ${what}: access is refused (HTTP ${failure.code})`, false, rpc.name);
  }
  return rpc.fault(what, failure);
}

/** One call whose refusal is a fault. @throws ChainFault */
export async function ask(rpc: RpcClient, method: string, params: readonly unknown[]): Promise<unknown> {
  const answer = await rpc.call(method, params);
  if (!answer.ok) throw faultOf(rpc, method, answer.failure);
  return answer.result;
}

/** What a call with a context says: `{ context: { slot }, value }`. @throws MalformedAnswer */
export function parseContext(answer: unknown, what: string): { readonly slot: number; readonly value: unknown } {
  const { context, value } = parseObject(answer, what);
  return { slot: parseCount(parseObject(context, `${what}: context`).slot, `${what}: slot`), value };
}

/** @throws MalformedAnswer */
export function parseCount(value: unknown, what: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new MalformedAnswer(what, "a whole number", value);
}

/** Base units of the native coin, told as a JSON number. @throws MalformedAnswer for one that is not exact */
export function parseLamports(value: unknown, what: string): bigint {
  return BigInt(parseCount(value, what));
}

/** 32 bytes in base58: a block's hash. Not decoded; only compared. @throws MalformedAnswer */
export function parseHash(value: unknown, what: string): string {
  if (typeof value === "string" && /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value)) return value;
  throw new MalformedAnswer(what, "32 bytes in base58", value);
}
