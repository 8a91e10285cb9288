/** What Bitcoin Core's answers and refusals mean here. Codes as in its `rpc/protocol.h`. */

import { ChainFault } from "../port.ts";
import type { RpcClient } from "../rpc/client.ts";
import { MalformedAnswer } from "../rpc/malformed.ts";
import type { RpcFailure } from "../rpc/rpc-failure.ts";

/** `RPC_INVALID_ADDRESS_OR_KEY`: no such transaction (or block) is known. */
const NOT_KNOWN = -5;
/** As long as a hash is: 32 bytes. */
const HASH = /^[0-9a-f]{64}$/;

/** A block's hash or a transaction's id: 32 bytes in lower-case hex. @throws MalformedAnswer */
export function parseHash(value: unknown, what: string): string {
  if (typeof value === "string" && HASH.test(value)) return value;
  throw new MalformedAnswer(what, "32 bytes of lower-case hex", value);
}

/** @throws MalformedAnswer */
export function parseHeight(value: unknown, what: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new MalformedAnswer(what, "a height", value);
}

/** The transaction is neither in the pool nor, where there is an index, in a block. */
export function isUnknownTransaction(failure: RpcFailure): boolean {
  return failure.kind === "rpc" && failure.code === NOT_KNOWN;
}

/**
 * The fault for an answer that nothing can be done about here. A password that is refused stays refused; all else
 * may pass: a node that warms up (-28), a full queue (503), a connection that fails.
 */
export function faultOf(rpc: RpcClient, what: string, failure: RpcFailure): ChainFault {
  if (failure.kind === "status" && (failure.code === 401 || failure.code === 403)) {
    return new ChainFault(
      `${rpc.name}: ${what}: user and password are refused (HTTP ${failure.code})`,
      false,
      rpc.name,
    );
  }
  return rpc.fault(what, failure);
}
