/**
 * Owns what the results of attempts change in the endpoint's database. Runs inside the caller's transaction.
 *
 * Everything is read again here: while the request was under way the endpoint may have been changed,
 * disabled or enabled, and events replayed.
 */

import { decideAfterAttempt, decideHealth, hasFailedLong } from "../../core/webhook-schedule.ts";
import { disableEndpoint, type EndpointRow, noteNews, setFailingSince } from "../../store/endpoint/config.ts";
import type { EndpointDb } from "../../store/endpoint/database.ts";
import { acknowledge, giveUp, readDelivery, readHeads, recordAttempt, reschedule } from "../../store/endpoint/queue.ts";
import type { AttemptResult } from "../../webhooks/delivery.ts";

export interface Sent {
  readonly position: number;
  readonly subject: string;
  readonly url: string;
  /** As the endpoint's own stood when the request began. */
  readonly statusAt: number;
  /** Unix ms. */
  readonly startedAt: number;
}

export interface Answered {
  readonly sent: Sent;
  readonly result: AttemptResult;
}

/**
 * The results that were acknowledged, all at once.
 *
 * @param endpoint as it stands now, not as it was when the requests began
 */
export function commitAcknowledged(db: EndpointDb, endpoint: EndpointRow, answered: readonly Answered[], now: number) {
  const entries = answered.map(({ sent, result }) => {
    const { status, durationMs, response } = result;
    return { position: sent.position, subject: sent.subject, at: sent.startedAt, status, durationMs, response };
  });
  acknowledge(db, entries, now);
  // Each says the same, of the target as it stands or of a former one.
  const current = answered.find(({ sent }) => isOf(endpoint, sent));
  if (current !== undefined) commitHealth(db, endpoint, current, now);
}

/** A result that was not. @returns how its delivery ended; null: it did not, or had before */
export function commitFailed(
  db: EndpointDb,
  endpoint: EndpointRow,
  { sent, result }: Answered,
  now: number,
  random: number,
): "given_up" | null {
  const row = readDelivery(db, sent.position);
  if (row?.status !== "pending") return null;
  commitHealth(db, endpoint, { sent, result }, now);
  recordAttempt(db, row.position, { at: sent.startedAt, ...result });
  const next = decideAfterAttempt(row.failures, result, now, random);
  switch (next.kind) {
    case "given_up":
      giveUp(db, row, next.failures, now);
      // With nothing left to send, nothing fails: the time until the next event is no failure.
      if (readHeads(db, 1).length === 0) {
        setFailingSince(db, null);
        if (hasFailedLong(endpoint.failingSince, now)) noteNews(db, now);
      }
      return "given_up";
    case "retry":
      reschedule(db, row.position, next.failures, next.nextAt);
      return null;
    case "delivered":
    case "endpoint_gone":
      return null;
  }
}

/**
 * Of a former target, or from before the endpoint was enabled again, an answer says nothing about now. Told by what
 * changed, not by the time: the clock may step back.
 */
function commitHealth(db: EndpointDb, endpoint: EndpointRow, { sent, result }: Answered, now: number): void {
  if (!isOf(endpoint, sent)) return;
  const health = decideHealth(endpoint.failingSince, result.outcome, now);
  if (health.failingSince !== endpoint.failingSince) setFailingSince(db, health.failingSince);
  if (health.disable !== null) disableEndpoint(db, health.disable, now);
  else if (health.failingSince === null && hasFailedLong(endpoint.failingSince, now)) noteNews(db, now);
}

function isOf(endpoint: EndpointRow, sent: Sent): boolean {
  return endpoint.status === "enabled" && sent.url === endpoint.url && sent.statusAt === endpoint.statusAt;
}
