/**
 * When a call is sent again, and how long it waits first. Pure.
 *
 * A call is sent again only where that is safe: reads and removals by their nature, changes because every
 * POST carries one idempotency key for all its attempts.
 */

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;
/** A service that asks for more than this gets its answer passed on to the caller instead of a silent wait. */
export const LONGEST_ASKED_WAIT_MS = 60_000;

/** @param saysRetryable the problem document's own word, which counts more than its status; null: it has none */
export function isRetryable(status: number, saysRetryable: boolean | null): boolean {
  return saysRetryable ?? (status === 408 || status === 429 || status >= 500);
}

/** Whether the request may have been carried out although this is what came back. */
export function leavesOutcomeUnknown(status: number): boolean {
  return status === 408 || status >= 500;
}

/**
 * Whether an answer also says what became of earlier attempts with the same idempotency key. A refused key
 * or a rate limit is decided before anything is looked up, so it tells nothing.
 */
export function settlesEarlierAttempts(status: number): boolean {
  return !leavesOutcomeUnknown(status) && status !== 401 && status !== 403 && status !== 429;
}

/**
 * @param failures attempts made so far, from 1 on
 * @param askedMs the service's Retry-After, which is the least that is waited
 * @param random in [0, 1)
 */
export function waitBefore(failures: number, askedMs: number | null, random: number): number {
  const full = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
  // Half of it at random: clients that failed together do not come back together.
  const backoff = full / 2 + (full / 2) * random;
  return Math.round(askedMs === null ? backoff : Math.max(backoff, askedMs * (1 + 0.1 * random)));
}

/** Retry-After in ms: whole seconds or an HTTP date (RFC 9110, 10.2.3). null: none, or not one. */
export function readRetryAfter(text: string | null, now: number): number | null {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * 1_000;
  // Other texts would be read as some date as well: "-1" as one of the year 2001.
  const at = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
