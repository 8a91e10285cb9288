/**
 * What a provider's refusal means. Codes and wordings differ between clients and vendors and change
 * without notice, so nothing here decides about money: the worst a wrong guess does is one more request.
 */

export type FailureKind =
  /** A JSON-RPC error object. `code` is its code. */
  | "rpc"
  /** An HTTP status outside 2xx without a JSON-RPC body. `code` is the status. */
  | "status"
  /** 3xx. Never followed: the target is not the provider that was configured. */
  | "redirect"
  | "deadline"
  /** The body went past the cap. */
  | "too_large"
  | "unreachable"
  /** Not JSON, or not JSON-RPC 2.0. */
  | "malformed"
  /** A batch was answered without this item. */
  | "missing";

export interface RpcFailure {
  readonly kind: FailureKind;
  readonly code: number;
  /** Short, printable, without the provider's path, query or credentials. */
  readonly message: string;
}

/**
 * The method is not offered here (-32601; EIP-1474: -32004), or not on this plan. Other codes count only with a
 * wording that names a method and says of it that it is not there: neither a missing block, nor a timeout, nor
 * the advice to upgrade makes a method missing.
 */
export function isMethodMissing(failure: RpcFailure): boolean {
  if (failure.kind !== "rpc") return false;
  if (isTimeout(failure) || isUnknownBlock(failure) || isStateGone(failure)) return false;
  if (failure.code === -32601) return true;
  if (failure.code === -32004) return /\bmethods?\b|\b(eth|debug|trace)_\w+/i.test(failure.message);
  if (/try again|retry|temporar|overload|busy/i.test(failure.message)) return false;
  return (
    /(\bmethods?\b|\b(eth|debug|trace)_\w+).{0,80}(not found|does not exist|doesn't exist|(is|are) not available|not supported|unsupported|not (been )?whitelisted|not enabled|disabled|not allowed|not implemented|not included)/i.test(
      failure.message,
    ) || /\b(unknown|unsupported|no such) method\b/i.test(failure.message)
  );
}

/** The provider or its client took too long, and says so. Asking for less may help; so may another time. */
export function isTimeout(failure: RpcFailure): boolean {
  return (
    failure.kind === "deadline" ||
    (failure.kind === "rpc" && /time.?out|timed out|deadline exceeded/i.test(failure.message))
  );
}

/** The node does not have the block that was named. Asking again, or elsewhere, may find it. */
export function isUnknownBlock(failure: RpcFailure): boolean {
  if (failure.kind !== "rpc") return false;
  return /unknown block|\b(block|header|resource)\b.{0,90}\bnot found|(cannot|could not|can't) find (the )?(block|header)|missing block|\b(block|header)\b.{0,90}\b(not available|unavailable|does not exist)|block height out of range|after last accepted|beyond (current )?head/i.test(
    failure.message,
  );
}

/** Bitcoin Core, while it loads what it has on disk: minutes, not a slip (`RPC_IN_WARMUP`). */
function isWarmingUp(failure: RpcFailure): boolean {
  return failure.kind === "rpc" && failure.code === -28;
}

/** The block is known, its state is gone: the node keeps recent state only. */
export function isStateGone(failure: RpcFailure): boolean {
  if (failure.kind !== "rpc") return false;
  return /missing trie node|pruned|historical state|\bstate\b.{0,90}\b(not available|unavailable|not found)|distance to target block/i.test(
    failure.message,
  );
}

/** Too many requests, not too much in one request: asking for less at once means asking more often. */
export function isRateLimit(failure: RpcFailure): boolean {
  if (failure.kind === "status") return failure.code === 429;
  if (failure.kind !== "rpc") return false;
  return (
    failure.code === 429 ||
    /too many requests|rate.?limit|request (rate|count)|requests? per|per second|compute units|throttl|capacity|quota|daily/i.test(
      failure.message,
    )
  );
}

/** The answer to one call is larger than the provider gives or than is read here. */
export function isTooMuch(failure: RpcFailure): boolean {
  if (failure.kind === "too_large") return true;
  return (
    failure.kind === "rpc" && !isRateLimit(failure) && /too (big|large|long)|exceed|size limit/i.test(failure.message)
  );
}

/** An execution that reverted or ran out: the contract answered, and the answer is no. */
export function isExecutionFailure(failure: RpcFailure): boolean {
  if (failure.kind !== "rpc") return false;
  return (
    failure.code === 3 ||
    /revert|invalid opcode|opcode not|out of gas|stack (under|over)flow|bad instruction|invalid jump|vm execution error/i.test(
      failure.message,
    )
  );
}

/**
 * Whether asking for fewer blocks may help. Vendors limit ranges and results under a dozen codes (-32005,
 * -32602, -32603, 35, 413, 429, ...) and wordings, even the one for a missing method, so everything counts
 * that is not plainly about something else. Cost of a wrong yes: the halving ends at one block.
 */
export function mayHelpToAskLess(failure: RpcFailure): boolean {
  switch (failure.kind) {
    case "rpc":
    case "deadline":
    case "too_large":
    case "malformed":
    case "missing":
      return true;
    case "status":
      return failure.code !== 401 && failure.code !== 404;
    case "redirect":
    case "unreachable":
      return false;
  }
}

/** Whether an HTTP-level failure of a batch may lie in its being one, or being this long. */
export function refusesBatch(failure: RpcFailure): boolean {
  if (failure.kind === "too_large") return true;
  return failure.kind === "status" && [400, 405, 413, 414, 415, 422].includes(failure.code);
}

/** One item of a batch failed in a way that another try may mend. */
export function isWorthAskingAgain(failure: RpcFailure): boolean {
  if (failure.kind === "missing") return true;
  if (failure.kind !== "rpc") return false;
  return !(
    failure.code === -32602 ||
    isWarmingUp(failure) ||
    isMethodMissing(failure) ||
    isUnknownBlock(failure) ||
    isStateGone(failure) ||
    isRateLimit(failure) ||
    isExecutionFailure(failure)
  );
}
