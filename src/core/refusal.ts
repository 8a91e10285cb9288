/**
 * Expected refusals, as data. Each code is part of the wire contract: it never changes its meaning, and
 * maps to one HTTP status. Faults of the world are thrown instead; bugs are assertions.
 */

export const REFUSALS = {
  malformed_json: 400,
  invalid_header: 400,
  invalid_cursor: 400,
  invalid_idempotency_key: 400,
  idempotency_key_missing: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  address_taken: 409,
  symbol_taken: 409,
  state_conflict: 409,
  illegal_transition: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  invalid_fields: 422,
  invalid_address: 422,
  invalid_token: 422,
  unknown_network: 422,
  unknown_asset: 422,
  invalid_range: 422,
  invalid_webhook_target: 422,
  insufficient_funds: 422,
  invalid_destination: 422,
  destination_not_allowed: 422,
  limit_exceeded: 422,
  account_frozen: 422,
  idempotency_key_reused: 422,
  rate_limited: 429,
  internal_error: 500,
  store_unavailable: 503,
  chain_unavailable: 503,
} as const satisfies Record<string, number>;

export type RefusalCode = keyof typeof REFUSALS;

export interface FieldError {
  /** Dotted path into the body or query: `rules.0.confirmations`. */
  readonly path: string;
  readonly message: string;
}

export interface Refusal {
  readonly code: RefusalCode;
  /** One sentence for the developer who made the call. Never carries a secret. */
  readonly detail: string;
  readonly errors?: readonly FieldError[];
  /** Whole seconds; sent as Retry-After with 429 and 503. */
  readonly retryAfterS?: number;
}

export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal };

export function refuse(
  code: RefusalCode,
  detail: string,
  extra?: Omit<Refusal, "code" | "detail">,
): { ok: false; refusal: Refusal } {
  return { ok: false, refusal: { code, detail, ...extra } };
}

/** Whether the same call may succeed later without being changed. */
export function isRetryable(code: RefusalCode): boolean {
  const status = REFUSALS[code];
  return status === 429 || status === 503 || status === 500;
}
