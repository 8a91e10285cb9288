/**
 * Owns one attempt to deliver one event: check the target, sign, POST, judge the answer.
 *
 * Every way it can end is data; it always ends within the deadline, whatever the receiver does. Redirects
 * are never followed: the body and its signature go to the registered target or nowhere.
 */

import type { DeliveryOutcome } from "../core/webhook-schedule.ts";
import { step } from "../steps.ts";
import { type Deadline, startDeadline } from "./deadline.ts";
import { LOOK_UP_DEADLINE_MS } from "./resolver.ts";
import { type SigningKey, signatureHeader } from "./signature.ts";
import { checkTarget, type TargetCheck } from "./target.ts";
import { checkPlace, type PlacePolicy } from "./target-place.ts";

/** From the start of the request, when the delivery has its slot and its signature, to the end of the answer. */
export const ATTEMPT_DEADLINE_MS = 15_000;
/** How much of an answer is read and kept. */
export const MAX_EXCERPT_BYTES = 1_024;
const MAX_FAULT_CHARS = 200;
const MAX_TARGETS_KNOWN = 100;
const NOTHING = new Uint8Array();
const utf8 = new TextEncoder();
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

export interface Delivery extends PlacePolicy {
  readonly url: string;
  readonly eventId: string;
  /** Sent byte for byte. */
  readonly body: string;
  /** Each one signs. */
  readonly keys: readonly SigningKey[];
}

export interface World {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Unix ms. */
  readonly clock: () => number;
  readonly deadlineMs: number;
  /** Starts one of `deadlineMs`. */
  readonly startDeadline?: () => Deadline;
}

export interface AttemptResult {
  readonly outcome: DeliveryOutcome;
  /** null when no answer came. */
  readonly status: number | null;
  readonly durationMs: number;
  /** First KiB of the answer as text, what came of it until the deadline; null when no answer came. */
  readonly response: string | null;
  /** From Retry-After, at most 24 hours; null when absent or unreadable. */
  readonly retryAfterMs: number | null;
  /** Why it counts as none, in a sentence for the merchant's developer; null: delivered. */
  readonly error: string | null;
}

export async function attemptDelivery(delivery: Delivery, world: World): Promise<AttemptResult> {
  const startedAt = world.clock();
  const target = targetOf(delivery);
  if (!target.ok) return unsent("target_refused", target.detail, 0);
  const place = await checkPlace(target.url, delivery, world.fetch, Math.min(world.deadlineMs, LOOK_UP_DEADLINE_MS));
  if (!place.ok) {
    const outcome = place.reason === "inside_address" ? "target_refused" : "unresolved";
    return unsent(outcome, place.detail, world.clock() - startedAt);
  }

  // The receiver has all of its time, however long the name took.
  const request = await signedRequest(delivery, world.clock());
  const deadline = world.startDeadline?.() ?? startDeadline(world.deadlineMs);
  const excerpt = new Excerpt();
  let answer: Response | null = null;
  let fault: { outcome: "timeout" | "connection_failed"; error: string } | null = null;
  try {
    const sent = step("webhook", () => world.fetch(target.url.href, { ...request, signal: deadline.signal }));
    answer = await deadline.orPassed(sent);
    await deadline.orPassed(excerpt.fill(answer.body));
  } catch (reason) {
    // An answer that did not end is no acknowledgement, even if it began with 200: sending again is safe.
    fault = deadline.signal.aborted
      ? { outcome: "timeout", error: `No complete answer within ${world.deadlineMs / 1_000} s.` }
      : { outcome: "connection_failed", error: `The connection failed: ${lineOf(reason)}` };
  } finally {
    deadline.end();
  }
  const now = world.clock();
  const outcome = fault?.outcome ?? outcomeOf(answer?.status ?? 0);
  return {
    outcome,
    status: answer?.status ?? null,
    durationMs: now - startedAt,
    response: answer === null ? null : excerpt.text(),
    retryAfterMs: readRetryAfter(answer?.headers.get("retry-after") ?? null, now),
    error: fault?.error ?? errorOf(outcome, answer?.status ?? 0),
  };
}

/** The answer depends on the question alone, and the same ones come thousands of times. */
const targets = new Map<string, TargetCheck>();

function targetOf({ url, allowLocal }: Delivery): TargetCheck {
  const question = `${allowLocal} ${url}`;
  const known = targets.get(question);
  if (known !== undefined) return known;
  const check = checkTarget(url, { allowLocal });
  if (targets.size >= MAX_TARGETS_KNOWN) targets.clear();
  targets.set(question, check);
  return check;
}

/** An attempt in which nothing left. */
function unsent(outcome: "target_refused" | "unresolved", detail: string, durationMs: number): AttemptResult {
  const error = outcome === "target_refused" ? `The target is refused: ${detail}` : detail;
  return { outcome, status: null, durationMs, response: null, retryAfterMs: null, error };
}

async function signedRequest(delivery: Delivery, now: number): Promise<RequestInit> {
  const body = utf8.encode(delivery.body);
  const timestampS = Math.floor(now / 1_000);
  return {
    method: "POST",
    redirect: "manual",
    headers: {
      "content-type": "application/json",
      "user-agent": "Sluice/1 (+webhooks)",
      "webhook-id": delivery.eventId,
      "webhook-timestamp": String(timestampS),
      "webhook-signature": await signatureHeader(delivery.keys, { id: delivery.eventId, timestampS, body }),
    },
    body,
  };
}

function outcomeOf(status: number): DeliveryOutcome {
  if (status >= 200 && status <= 299) return "delivered";
  if (status >= 300 && status <= 399) return "redirect";
  return status === 410 ? "gone" : "http_error";
}

function errorOf(outcome: DeliveryOutcome, status: number): string | null {
  switch (outcome) {
    case "delivered":
      return null;
    case "redirect":
      return `Answered ${status}. Redirects are not followed: register the URL they lead to.`;
    case "gone":
      return "Answered 410 Gone, which disables the endpoint.";
    default:
      return `Answered ${status}; expected 2xx.`;
  }
}

/** The runtime's own words for a broken connection, made fit for a list. */
function lineOf(reason: unknown): string {
  const text = reason instanceof Error ? reason.message : String(reason);
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").slice(0, MAX_FAULT_CHARS);
}

/** The beginning of an answer: never more than `MAX_EXCERPT_BYTES` are read. */
class Excerpt {
  #bytes = NOTHING;
  #length = 0;

  async fill(body: ReadableStream<Uint8Array> | null): Promise<void> {
    if (body === null) return;
    this.#bytes = new Uint8Array(MAX_EXCERPT_BYTES);
    const reader = body.getReader();
    while (this.#length < MAX_EXCERPT_BYTES) {
      const { done, value } = await reader.read();
      if (done) return;
      const part = value.subarray(0, MAX_EXCERPT_BYTES - this.#length);
      this.#bytes.set(part, this.#length);
      this.#length += part.length;
    }
    // Not waited for: a receiver must not decide how long it takes.
    reader.cancel().catch(() => {});
  }

  /** Valid text of at most `MAX_EXCERPT_BYTES` in UTF-8; a character cut in half at the end is left out. */
  text(): string {
    if (this.#length === 0) return "";
    const text = new TextDecoder().decode(this.#bytes.subarray(0, this.#length), { stream: true });
    const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_EXCERPT_BYTES));
    return text.slice(0, read);
  }
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3). A date in the past is no wait. */
export function readRetryAfter(value: string | null, now: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, MAX_RETRY_AFTER_MS);
  const at = /^[A-Z][a-z]{2}.* GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.min(Math.max(at - now, 0), MAX_RETRY_AFTER_MS);
}
