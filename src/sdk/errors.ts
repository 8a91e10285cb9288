/**
 * Every way in which a call can fail, as a class to catch and facts to decide by. Texts are for people;
 * programs decide by class and `code`.
 */

/** Codes of the service's answers. They never change their meaning; new ones are added. */
export type AnswerCode =
  | "malformed_json"
  | "invalid_header"
  | "invalid_cursor"
  | "invalid_idempotency_key"
  | "idempotency_key_missing"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "address_taken"
  | "symbol_taken"
  | "state_conflict"
  | "illegal_transition"
  | "payload_too_large"
  | "unsupported_media_type"
  | "invalid_fields"
  | "invalid_address"
  | "invalid_token"
  | "unknown_network"
  | "unknown_asset"
  | "invalid_range"
  | "invalid_webhook_target"
  | "insufficient_funds"
  | "invalid_destination"
  | "destination_not_allowed"
  | "limit_exceeded"
  | "account_frozen"
  | "idempotency_key_reused"
  | "rate_limited"
  | "internal_error"
  | "store_unavailable"
  | "chain_unavailable";

export type ErrorCode =
  | AnswerCode
  | "connection_failed"
  | "timeout"
  | "aborted"
  | "unexpected_answer"
  | "webhook_refused"
  // Keeps the completion of the names above, and lets a newer service's codes through.
  | (string & {});

export interface FieldProblem {
  /** Dotted path into the body or query: `limits.0.asset`. */
  readonly path: string;
  readonly message: string;
}

export interface ErrorFacts {
  readonly code: ErrorCode;
  readonly status?: number | null;
  readonly detail?: string | null;
  readonly retryable?: boolean;
  readonly outcomeUnknown?: boolean;
  readonly requestId?: string | null;
  readonly errors?: readonly FieldProblem[];
  readonly retryAfterMs?: number | null;
  readonly idempotencyKey?: string | null;
  readonly attempts?: number;
  readonly cause?: unknown;
}

/** Whatever went wrong with a call. Its message never carries the API key. */
export class SluiceError extends Error {
  readonly code: ErrorCode;
  /** HTTP status of the answer; null when none came. */
  readonly status: number | null;
  /** The service's own sentence, for people; null when it said none. */
  readonly detail: string | null;
  /** Whether the same call may succeed later, without anything else being done. */
  readonly retryable: boolean;
  /**
   * Whether the call may have been carried out although it failed here. Then repeat it with the same
   * `idempotencyKey` until it answers: a new key could do it twice.
   */
  readonly outcomeUnknown: boolean;
  /** Quote it when asking about the call. null when no answer came. */
  readonly requestId: string | null;
  /** Which fields did not fit. */
  readonly errors: readonly FieldProblem[];
  /** How long the service asked to wait. */
  readonly retryAfterMs: number | null;
  /** The key that all attempts of this call had; null for calls without one. */
  readonly idempotencyKey: string | null;
  /** How many times it was sent. */
  readonly attempts: number;

  /** @internal */
  constructor(message: string, facts: ErrorFacts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.code = facts.code;
    this.status = facts.status ?? null;
    this.detail = facts.detail ?? null;
    this.retryable = facts.retryable ?? false;
    this.outcomeUnknown = facts.outcomeUnknown ?? false;
    this.requestId = facts.requestId ?? null;
    this.errors = facts.errors ?? [];
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.idempotencyKey = facts.idempotencyKey ?? null;
    this.attempts = facts.attempts ?? 0;
  }
}

/** 400, 405, 413, 415, 422: the request itself does not fit, or what it asks for is refused. See `code`. */
export class InvalidRequestError extends SluiceError {}
/** 401: no key, or one that does not hold any more. */
export class AuthenticationError extends SluiceError {}
/** 403: the key lacks a scope, or may not do this. */
export class PermissionError extends SluiceError {}
/** 404: unknown, or another tenant's. */
export class NotFoundError extends SluiceError {}
/** 409: the present state does not allow it. */
export class ConflictError extends SluiceError {}
/** 429: too many requests, also after the retries. */
export class RateLimitError extends SluiceError {}
/** 5xx: a fault of the service, also after the retries. */
export class ServerError extends SluiceError {}
/** No answer came. */
export class ConnectionError extends SluiceError {}
/** No whole answer came within the time of one attempt. */
export class TimeoutError extends ConnectionError {}
/** The caller's own signal ended the call. `cause`: the signal's reason. */
export class AbortedError extends SluiceError {}
/**
 * What answered does not speak this API: a redirect, a proxy's page, a success that is not JSON. Of a change it
 * leaves the outcome unknown.
 */
export class UnexpectedAnswerError extends SluiceError {}

/** Why a webhook is refused. */
export type RefusalReason =
  | "body_not_raw"
  | "missing_header"
  | "invalid_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "no_matching_signature"
  | "invalid_secret"
  | "invalid_payload";

/** A webhook that is not to be believed. `invalid_secret` and `body_not_raw` are mistakes of the receiver's own. */
export class WebhookVerificationError extends SluiceError {
  readonly reason: RefusalReason;

  /** @internal */
  constructor(reason: RefusalReason, message: string, cause?: unknown) {
    super(message, { code: "webhook_refused", cause });
    this.reason = reason;
  }
}

export function errorClassOf(status: number): typeof SluiceError {
  switch (status) {
    case 401:
      return AuthenticationError;
    case 403:
      return PermissionError;
    case 404:
      return NotFoundError;
    case 409:
      return ConflictError;
    case 429:
      return RateLimitError;
    default:
      if (status >= 500) return ServerError;
      return status >= 400 ? InvalidRequestError : UnexpectedAnswerError;
  }
}
