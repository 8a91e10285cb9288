/**
 * Decides whether a caller may do what it asks. The edge has checked the checksum of its key or session; whether that
 * exists, has ended, and what it may do is known here alone, so revocation holds from its commit on.
 *
 * A session is its key: what a key may do, and how often, is decided in one place for both.
 */

import { type Refusal, refuse } from "../../core/refusal.ts";
import type { Scope } from "../../core/views.ts";
import { type ApiKeyRow, apiKeyByHash, endOf } from "../../store/tenant/key-store.ts";
import { apiKeyOfSession } from "../../store/tenant/session-store.ts";
import type { Answer, Caller, RateState } from "../api.ts";
import type { TenantContext } from "./context.ts";

const REQUESTS_PER_WINDOW = 6_000;
const WINDOW_MS = 60_000;
/** Keys counted at once in memory; the oldest window makes room. */
const MAX_COUNTED_KEYS = 1_000;

export type Authorized =
  | { readonly ok: true; readonly key: ApiKeyRow; readonly rate: RateState }
  | {
      readonly ok: false;
      readonly refusal: Refusal;
      readonly rate: RateState | null;
      /** The key that lacks the scope; null: none that holds, or one that asks too often. */
      readonly lacking: ApiKeyRow | null;
    };

/** Counts requests per key in fixed windows. In memory only: an eviction starts a window anew. */
export class RequestRates {
  readonly #windows = new Map<string, { startedAt: number; used: number }>();
  readonly #limit: number;

  constructor(limit = REQUESTS_PER_WINDOW) {
    this.#limit = limit;
  }

  /** Counts one request. `remaining` is -1 when it was one too many. */
  count(keyId: string, now: number): RateState {
    let window = this.#windows.get(keyId);
    if (window === undefined || now - window.startedAt >= WINDOW_MS || now < window.startedAt) {
      this.#windows.delete(keyId);
      window = { startedAt: now, used: 0 };
      this.#windows.set(keyId, window);
      const oldest = this.#windows.keys().next().value;
      if (this.#windows.size > MAX_COUNTED_KEYS && oldest !== undefined) this.#windows.delete(oldest);
    }
    window.used++;
    return {
      limit: this.#limit,
      windowS: WINDOW_MS / 1_000,
      remaining: Math.max(-1, this.#limit - window.used),
      resetS: Math.max(1, Math.ceil((window.startedAt + WINDOW_MS - now) / 1_000)),
    };
  }
}

export function authorize(c: TenantContext, rates: RequestRates, caller: Caller, scope: Scope): Authorized {
  const key = heldKey(c, caller);
  if (key === null) {
    const detail = "The API key or session is unknown or has ended.";
    return { ...refuse("unauthorized", detail), rate: null, lacking: null };
  }

  const rate = { ...rates.count(key.id, c.now()), keyId: key.id };
  if (rate.remaining < 0) {
    const detail = `This key made ${rate.limit} requests in ${rate.windowS} s.`;
    const refused = refuse("rate_limited", detail, { retryAfterS: rate.resetS });
    return { ...refused, rate: { ...rate, remaining: 0 }, lacking: null };
  }
  if (!key.scopes.includes(scope) && !key.scopes.includes("admin")) {
    const detail = `This call needs the scope ${scope}; the key has ${key.scopes.join(", ")}.`;
    return { ...refuse("forbidden", detail), rate, lacking: key };
  }
  return { ok: true, key, rate };
}

/** The key that the caller has, or signed in with; null when the one or the other holds no more. */
export function heldKey(c: TenantContext, caller: Caller): ApiKeyRow | null {
  const now = c.now();
  const key =
    "sessionHash" in caller ? apiKeyOfSession(c.db, caller.sessionHash, now) : apiKeyByHash(c.db, caller.keyHash);
  return key === undefined || hasEnded(key, now) ? null : key;
}

export function hasEnded(key: ApiKeyRow, now: number): boolean {
  const end = endOf(key);
  return key.revokedAt !== null || (end !== null && end <= now);
}

/** What a call made of an authorized request. `created`: something new came to be. */
export type Done<T> =
  | { readonly ok: true; readonly value: T; readonly created?: boolean; readonly replayed?: boolean }
  | { readonly ok: false; readonly refusal: Refusal };

export function answer<T>(done: Done<T>, rate: RateState): Answer<T> {
  if (!done.ok) return refusedAnswer(done.refusal, rate);
  return { ok: true, value: done.value, rate, created: done.created ?? false, replayed: done.replayed ?? false };
}

/** @param rate null: no key was counted */
export function refusedAnswer(
  refusal: Refusal,
  rate: RateState | null,
): { ok: false; refusal: Refusal; rate: RateState | null } {
  return { ok: false, refusal, rate };
}

export const KEY_REUSED = refuse(
  "idempotency_key_reused",
  "This Idempotency-Key was used with another request. Nothing was changed.",
);

export function notFound(what: string): { ok: false; refusal: Refusal } {
  return refuse("not_found", `There is no such ${what}.`);
}

export const BAD_CURSOR = refuse("invalid_cursor", "The cursor is not one that this list gave out.");
