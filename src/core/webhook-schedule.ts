/**
 * Owns what follows an attempt to deliver a webhook: done, again at some time, or given up.
 *
 * A delivery ends only by an acknowledgement or by its tenth failed attempt. Only answers that came back
 * are counted: an attempt cut off by a crash leaves no trace here and is made again.
 */

export type DeliveryOutcome =
  | "delivered"
  | "http_error"
  | "redirect"
  | "timeout"
  | "connection_failed"
  | "target_refused"
  /** The target's name has no address now, or nobody could say. */
  | "unresolved"
  | "gone";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Wait before the second attempt, the third, ...; each counts from the failure before it. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

export const MAX_ATTEMPTS = RETRY_DELAYS_MS.length + 1;

/** Share of a wait that is added at random. Never taken away: the published wait is the least there is. */
export const JITTER = 0.1;

export interface AttemptFacts {
  readonly outcome: DeliveryOutcome;
  /** HTTP status; null when no answer came. */
  readonly status: number | null;
  /** What the receiver asked for; null when it did not. */
  readonly retryAfterMs: number | null;
}

export type NextStep =
  | { readonly kind: "delivered" }
  /** `failures`: counted attempts so far. `nextAt`: unix ms. */
  | { readonly kind: "retry"; readonly failures: number; readonly nextAt: number }
  | { readonly kind: "given_up"; readonly failures: number }
  /** 410: the endpoint is to be disabled. The delivery waits, and this answer costs it no attempt. */
  | { readonly kind: "endpoint_gone" };

/**
 * @param failures attempts of this delivery counted before this one
 * @param now unix ms, when the attempt ended
 * @param random in [0, 1)
 */
export function decideAfterAttempt(failures: number, attempt: AttemptFacts, now: number, random: number): NextStep {
  if (attempt.outcome === "delivered") return { kind: "delivered" };
  if (attempt.outcome === "gone") return { kind: "endpoint_gone" };

  const counted = failures + 1;
  const delayMs = RETRY_DELAYS_MS[failures];
  if (delayMs === undefined) return { kind: "given_up", failures: counted };

  // Spread over time, so that a receiver that comes back does not meet everything at once.
  const waitMs = Math.max(delayMs, askedWaitMs(attempt));
  return { kind: "retry", failures: counted, nextAt: now + Math.round(waitMs * (1 + JITTER * random)) };
}

/** Why an endpoint gets nothing: it answered 410, it failed for five days, or its owner said so. */
export type DisabledReason = "gone" | "failing" | "by_request";

/** An endpoint that does nothing but fail for this long is disabled. */
export const FAILING_LIMIT_MS = 5 * 24 * HOUR;

/** One that has done nothing but fail for this long is told of as failing. */
export const FAILING_LONG_MS = HOUR;

/** Whether its owner is to be told, or was told, that it fails. */
export function hasFailedLong(failingSince: number | null, now: number): boolean {
  return failingSince !== null && now - failingSince >= FAILING_LONG_MS;
}

export interface EndpointHealth {
  /** When the first attempt failed after which none succeeded, unix ms; null: the latest one succeeded. */
  readonly failingSince: number | null;
  /** null: it stays enabled. */
  readonly disable: Extract<DisabledReason, "gone" | "failing"> | null;
}

/**
 * What an attempt says about the endpoint as a whole.
 *
 * @param failingSince as it was before this attempt
 * @param now unix ms, when the attempt ended
 */
export function decideHealth(failingSince: number | null, outcome: DeliveryOutcome, now: number): EndpointHealth {
  if (outcome === "delivered") return { failingSince: null, disable: null };
  if (outcome === "gone") return { failingSince, disable: "gone" };
  const since = failingSince ?? now;
  return { failingSince: since, disable: now - since >= FAILING_LIMIT_MS ? "failing" : null };
}

/** Retry-After counts where HTTP gives it a meaning for a failure: 429 (RFC 6585) and 503 (RFC 9110). */
function askedWaitMs(attempt: AttemptFacts): number {
  return attempt.status === 429 || attempt.status === 503 ? (attempt.retryAfterMs ?? 0) : 0;
}
