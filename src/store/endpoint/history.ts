/**
 * The record of one endpoint's deliveries: listed newest first, kept for a time after they ended.
 */

import { asc, desc, type SQL, sql } from "drizzle-orm";
import type { DeliveryView } from "../../core/views.ts";
import type { EndpointRow } from "./config.ts";
import type { EndpointDb } from "./database.ts";
import { deliveryId, type NamedRow } from "./delivery-id.ts";
import { attempts, deliveries } from "./schema.ts";

export type AttemptRow = Omit<typeof attempts.$inferSelect, "delivery" | "n">;
type DeliveryRow = typeof deliveries.$inferSelect;
export type DeliveryEntry = NamedRow &
  Pick<DeliveryRow, "eventType" | "sequence" | "status" | "blocked" | "nextAt" | "createdAt"> & {
    readonly attempts: readonly AttemptRow[];
  };

export type StatusFilter = "pending" | "delivered" | "given_up" | null;

/** Without these, SQLite would walk through every delivered row to find the few others. */
const SOURCES: Record<"any" | "pending" | "delivered" | "given_up", SQL> = {
  any: sql`deliveries WHERE true`,
  pending: sql`deliveries INDEXED BY deliveries_subject WHERE status = 'pending'`,
  delivered: sql`deliveries WHERE status = 'delivered'`,
  given_up: sql`deliveries INDEXED BY deliveries_given_up WHERE status = 'given_up'`,
};

/** @param before a position; null starts with the newest */
export function listDeliveries(
  db: EndpointDb,
  status: StatusFilter,
  before: number | null,
  limit: number,
): DeliveryEntry[] {
  const found = db.all<{ position: number }>(
    sql`SELECT position FROM ${SOURCES[status ?? "any"]} AND position < ${before ?? Number.MAX_SAFE_INTEGER} ORDER BY position DESC LIMIT ${limit}`,
  );
  return entriesAt(
    db,
    found.map((row) => row.position),
  );
}

/** Newest first, each with its attempts. */
export function entriesAt(db: EndpointDb, at: readonly number[]): DeliveryEntry[] {
  const positions = JSON.stringify(at);
  const rows = db
    .select({
      position: deliveries.position,
      eventId: deliveries.eventId,
      eventType: deliveries.eventType,
      sequence: deliveries.sequence,
      replay: deliveries.replay,
      id: deliveries.id,
      isNumbered: deliveries.isNumbered,
      status: deliveries.status,
      blocked: deliveries.blocked,
      nextAt: deliveries.nextAt,
      createdAt: deliveries.createdAt,
      acknowledgedAt: deliveries.acknowledgedAt,
      acknowledgedStatus: deliveries.acknowledgedStatus,
      acknowledgedMs: deliveries.acknowledgedMs,
      acknowledgedResponse: deliveries.acknowledgedResponse,
    })
    .from(deliveries)
    .where(sql`position IN (SELECT value FROM json_each(${positions}))`)
    .orderBy(desc(deliveries.position))
    .all();
  const failed = db
    .select()
    .from(attempts)
    .where(sql`delivery IN (SELECT value FROM json_each(${positions}))`)
    .orderBy(asc(attempts.delivery), asc(attempts.n))
    .all();
  return rows.map((row) => {
    const own: AttemptRow[] = failed.filter((attempt) => attempt.delivery === row.position);
    return { ...row, attempts: [...own, ...acknowledged(row)] };
  });
}

type Acknowledged = Pick<
  DeliveryRow,
  "acknowledgedAt" | "acknowledgedStatus" | "acknowledgedMs" | "acknowledgedResponse"
>;

/** The last attempt of a delivery that was acknowledged, if its own row has it. */
function acknowledged(row: Acknowledged): AttemptRow[] {
  const { acknowledgedAt: at, acknowledgedStatus: status, acknowledgedMs, acknowledgedResponse: response } = row;
  if (at === null) return [];
  return [{ at, outcome: "delivered", status, durationMs: acknowledgedMs ?? 0, response, error: null }];
}

export function deliveryView(endpoint: EndpointRow, entry: DeliveryEntry): DeliveryView {
  const hasNext = entry.status === "pending" && entry.blocked === 0 && endpoint.status === "enabled";
  return {
    id: deliveryId(endpoint.endpointId, entry),
    event_id: entry.eventId,
    event_type: entry.eventType,
    sequence: entry.sequence,
    status: entry.status,
    next_attempt_at: hasNext ? new Date(entry.nextAt).toISOString() : null,
    created_at: new Date(entry.createdAt).toISOString(),
    attempts: entry.attempts.map((attempt) => ({
      at: new Date(attempt.at).toISOString(),
      status: attempt.status,
      outcome: attempt.outcome,
      duration_ms: attempt.durationMs,
      response: attempt.response,
      error: attempt.error,
    })),
  };
}

/**
 * Forgets deliveries that ended before `cutoff`, looking at the oldest `limit` rows. Positions ascend with
 * the time of arrival, so when the oldest is young nothing else is read.
 */
export function pruneSettled(db: EndpointDb, cutoff: number, limit: number): void {
  const oldest = db
    .select({ createdAt: deliveries.createdAt })
    .from(deliveries)
    .orderBy(asc(deliveries.position))
    .limit(1)
    .get();
  if (oldest === undefined || oldest.createdAt >= cutoff) return;
  const gone = db.all<{ position: number }>(
    sql`DELETE FROM deliveries WHERE position IN (SELECT position FROM (SELECT position, settled_at FROM deliveries ORDER BY position LIMIT ${limit}) WHERE settled_at < ${cutoff}) RETURNING position`,
  );
  const positions = JSON.stringify(gone.map((row) => row.position));
  db.run(sql`DELETE FROM attempts WHERE delivery IN (SELECT value FROM json_each(${positions}))`);
}
