/**
 * Owns what an attempt's result changes in the endpoint's database. Runs inside the caller's transaction.
 *
 * Everything is read again here: while the request was under way the endpoint may have been changed,
 * disabled or enabled, and events replayed.
 */

import { decideAfterAttempt, decideHealth, hasFailedLong } from "../../core/webhook-schedule.ts";
import { disableEndpoint, type EndpointRow, noteNews, setFailingSince } from "../../store/endpoint/config.ts";
import type { EndpointDb } from "../../store/endpoint/database.ts";
import { readDelivery, readHeads, recordAttempt, reschedule, settle } from "../../store/endpoint/queue.ts";
import type { AttemptResult } from "../../webhooks/delivery.ts";

export interface Sent {
  readonly position: number;
  readonly url: string;
  /** As the endpoint's own stood when the request began. */
  readonly statusAt: number;
  /** Unix ms. */
  readonly startedAt: number;
}

/** @param endpoint as it stands now, not as it was when the request began */
export function commitAttempt(
  db: EndpointDb,
  endpoint: EndpointRow,
  sent: Sent,
  result: AttemptResult,
  now: number,
  random: number,
): void {
  const row = readDelivery(db, sent.position);
  if (row?.status !== "pending") return;
  commitHealth(db, endpoint, sent, result, now);
  recordAttempt(db, row.position, { at: sent.startedAt, ...result });
  const next = decideAfterAttempt(row.failures, result, now, random);
  switch (next.kind) {
    case "delivered":
      settle(db, row, "delivered", row.failures, now);
      return;
    case "given_up":
      settle(db, row, "given_up", next.failures, now);
      // With nothing left to send, nothing fails: the time until the next event is no failure.
      if (readHeads(db, 1).length === 0) {
        setFailingSince(db, null);
        if (hasFailedLong(endpoint.failingSince, now)) noteNews(db, now);
      }
      return;
    case "retry":
      reschedule(db, row.position, next.failures, next.nextAt);
      return;
    case "endpoint_gone":
      return;
  }
}

/**
 * Of a former target, or from before the endpoint was enabled again, an answer says nothing about now. Told by what
 * changed, not by the time: the clock may step back.
 */
function commitHealth(db: EndpointDb, endpoint: EndpointRow, sent: Sent, result: AttemptResult, now: number): void {
  const isCurrent = sent.url === endpoint.url && sent.statusAt === endpoint.statusAt;
  if (endpoint.status !== "enabled" || !isCurrent) return;
  const health = decideHealth(endpoint.failingSince, result.outcome, now);
  if (health.failingSince !== endpoint.failingSince) setFailingSince(db, health.failingSince);
  if (health.disable !== null) disableEndpoint(db, health.disable, now);
  else if (health.failingSince === null && hasFailedLong(endpoint.failingSince, now)) noteNews(db, now);
}
