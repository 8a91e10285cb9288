/**
 * Problem documents (RFC 9457): every answer that is not a success is one, made here.
 *
 * Two refusals must not tell callers apart: a key that is missing, forged, revoked or expired, and a thing
 * that does not exist or is another tenant's. Each has one fixed text, whatever the reason was.
 */

import type { Context } from "hono";
import { isRetryable, REFUSALS, type Refusal, type RefusalCode } from "../core/refusal.ts";
import type { RateState } from "../objects/api.ts";
import type { Problem } from "../schema/problem.ts";
import type { HttpEnv } from "./services.ts";

export type ProblemStatus = (typeof REFUSALS)[RefusalCode];

export const UNAUTHORIZED: Refusal = {
  code: "unauthorized",
  detail: "Send a valid API key: Authorization: Bearer sk_...",
};
export const NOT_FOUND: Refusal = { code: "not_found", detail: "There is no such thing here." };

export const PROBLEM_TITLES: Readonly<Record<RefusalCode, string>> = {
  malformed_json: "The body is not a JSON object",
  invalid_header: "A header does not fit",
  invalid_cursor: "The cursor does not fit",
  invalid_idempotency_key: "The Idempotency-Key does not fit",
  idempotency_key_missing: "The Idempotency-Key is missing",
  unauthorized: "No valid API key",
  forbidden: "The caller may not do this",
  not_found: "Not found",
  method_not_allowed: "Method not allowed",
  address_taken: "The address belongs to another tenant",
  symbol_taken: "Another asset of this network has this symbol",
  state_conflict: "The present state does not allow this",
  illegal_transition: "The withdrawal's state does not allow this",
  payload_too_large: "The body is too large",
  unsupported_media_type: "The body is not sent as JSON",
  invalid_fields: "Fields do not fit",
  invalid_address: "Not an address of this network",
  invalid_token: "Not a token contract",
  unknown_network: "The network is unknown or off",
  unknown_asset: "The asset is unknown",
  invalid_range: "The range of heights does not fit",
  invalid_webhook_target: "The webhook URL is not acceptable",
  insufficient_funds: "The account's available balance is too small",
  invalid_destination: "Nothing can be paid to this destination",
  destination_not_allowed: "The destination is not on the allow-list",
  limit_exceeded: "The amount is above a limit",
  account_frozen: "The account has a debt and pays nothing out",
  idempotency_key_reused: "The Idempotency-Key was used for another request",
  rate_limited: "Too many requests",
  internal_error: "Internal error",
  store_unavailable: "The store is out of reach",
  chain_unavailable: "The chain is out of reach",
};

/** Seconds to wait when nobody knows better. */
const DEFAULT_RETRY_AFTER_S = 2;

/** The refusal as an answer. `rate` fills Retry-After when the refusal itself names no time. */
export function problem<E extends HttpEnv>(c: Context<E>, refusal: Refusal, rate: RateState | null) {
  const { body, status, headers } = problemParts(refusal, c.get("requestId"), rate);
  return c.json(body, status, headers);
}

export function problemParts(
  refusal: Refusal,
  requestId: string,
  rate: RateState | null,
): { body: Problem; status: ProblemStatus; headers: Record<string, string> } {
  const { code, detail, errors, retryAfterS } = withoutTells(refusal);
  const status = REFUSALS[code];
  const headers: Record<string, string> = { "Content-Type": "application/problem+json" };
  if (status === 401) headers["WWW-Authenticate"] = "Bearer";
  if (status === 429 || status === 503) {
    headers["Retry-After"] = String(retryAfterS ?? rate?.resetS ?? DEFAULT_RETRY_AFTER_S);
  }
  const body: Problem = {
    // Relative: it leads to the explanation wherever the service runs.
    type: `/docs#problem-${code}`,
    title: PROBLEM_TITLES[code],
    status,
    detail,
    code,
    request_id: requestId,
    retryable: isRetryable(code),
    ...(errors ? { errors: [...errors] } : {}),
  };
  return { body, status, headers };
}

function withoutTells(refusal: Refusal): Refusal {
  if (refusal.code === "unauthorized") return UNAUTHORIZED;
  if (refusal.code === "not_found") return NOT_FOUND;
  return refusal;
}
