/** What a caller may set for a call, looked at before anything is sent: a mistake of the caller's own is no outcome. */

/** A timer holds no more; it would end at once instead. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * 1 to 255 printable ASCII characters, no blank at either end: a header loses those on its way, and two keys
 * would be one.
 * @throws TypeError
 */
export function checkedIdempotencyKey(key: unknown): string {
  if (typeof key === "string" && key.length <= 255 && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(key)) return key;
  throw new TypeError(
    `expected an idempotencyKey of 1 to 255 printable ASCII characters without a blank at its ends, got ${shown(key)}`,
  );
}

/** @throws TypeError */
export function checkedTimeout(timeoutMs: unknown): number {
  if (typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs <= LONGEST_TIMEOUT_MS) return timeoutMs;
  throw new TypeError(`expected timeoutMs above 0 and at most ${LONGEST_TIMEOUT_MS}, got ${shown(timeoutMs)}`);
}

/** @throws TypeError */
export function checkedRetries(maxRetries: unknown): number {
  if (typeof maxRetries === "number" && Number.isSafeInteger(maxRetries) && maxRetries >= 0) return maxRetries;
  throw new TypeError(`expected maxRetries of 0 or more, got ${shown(maxRetries)}`);
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 300)) : String(value);
}
