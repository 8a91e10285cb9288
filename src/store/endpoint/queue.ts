/**
 * The delivery queue of one endpoint.
 *
 * Invariant: of each subject's pending deliveries exactly one is unblocked, the earliest by
 * (sequence, replay, position). So what is due is one indexed query, however many wait behind. Each
 * function here keeps it, when it runs inside the caller's transaction.
 */

import { and, asc, desc, eq, ne, sql } from "drizzle-orm";
import { derivedId } from "../../core/ids.ts";
import type { EventType } from "../../core/views.ts";
import type { AttemptFacts } from "../../core/webhook-schedule.ts";
import { prepared } from "../prepared.ts";
import type { EndpointDb } from "./database.ts";
import { attempts, deliveries } from "./schema.ts";

export type DeliveryRow = typeof deliveries.$inferSelect;

export interface ArrivingEvent {
  readonly id: string;
  readonly type: EventType;
  readonly sequence: number;
  readonly subject: string;
  readonly subjectSequence: number;
  readonly body: string;
}

/** The one delivery of its subject that may be sent. */
export interface Head {
  readonly position: number;
  readonly subject: string;
  readonly nextAt: number;
}

export interface AttemptEntry extends AttemptFacts {
  readonly at: number;
  readonly durationMs: number;
  readonly response: string | null;
  readonly error: string | null;
}

// Spelled out, not bound as parameters: SQLite uses a partial index only when it sees the constants.
const isPending = sql`status = 'pending'`;
const isHead = sql`status = 'pending' AND blocked = 0`;

/** Adds the event's first delivery. One that was met before is ignored. */
export function enqueueOnce(db: EndpointDb, endpointId: string, event: ArrivingEvent, now: number): void {
  insertDelivery(db, endpointId, event, 0, now);
}

/**
 * Adds a further delivery of the event, unless one waits already: a repeated call finds the first one's.
 * @param inFlight the one being sent is no longer waiting; what a receiver made of it is not known
 * @returns position of the delivery that is still to be sent
 */
export function enqueueAgain(
  db: EndpointDb,
  endpointId: string,
  event: ArrivingEvent,
  inFlight: ReadonlySet<number>,
  now: number,
): number {
  const latest = db
    .select({ position: deliveries.position, replay: deliveries.replay, status: deliveries.status })
    .from(deliveries)
    .where(eq(deliveries.eventId, event.id))
    .orderBy(desc(deliveries.replay))
    .limit(1)
    .get();
  if (latest?.status === "pending" && !inFlight.has(latest.position)) return latest.position;
  const position = insertDelivery(db, endpointId, event, latest === undefined ? 0 : latest.replay + 1, now);
  if (position === null) throw new Error(`a further delivery of event ${event.id} was there already`);
  return position;
}

/** @returns its position; null when there is such a delivery already */
function insertDelivery(
  db: EndpointDb,
  endpointId: string,
  event: ArrivingEvent,
  replay: number,
  now: number,
): number | null {
  const { id: eventId, type: eventType, sequence, subject, subjectSequence, body } = event;
  const inserted = db
    .insert(deliveries)
    .values({
      ...{ eventId, eventType, sequence, replay, subject, subjectSequence, body },
      id: deliveryId(endpointId, eventId, replay),
      status: "pending",
      blocked: sql`EXISTS (SELECT 1 FROM deliveries WHERE ${isPending} AND subject = ${subject} AND (sequence, replay) <= (${sequence}, ${replay}))`,
      failures: 0,
      nextAt: now,
      createdAt: now,
    })
    .onConflictDoNothing()
    .returning({ position: deliveries.position, blocked: deliveries.blocked })
    .get();
  if (inserted === undefined) return null;
  if (inserted.blocked === 0) {
    db.update(deliveries)
      .set({ blocked: 1 })
      .where(and(isHead, eq(deliveries.subject, subject), ne(deliveries.position, inserted.position)))
      .run();
  }
  return inserted.position;
}

/** Derived from what the delivery is of, so that it has the same one wherever it is named. */
export function deliveryId(endpointId: string, eventId: string, replay: number): string {
  return derivedId("del", endpointId, eventId, replay);
}

/** The delivery that the API calls so; null: there is none. */
export function deliveryNamed(db: EndpointDb, endpointId: string, id: string): DeliveryRow | null {
  const named = db.select().from(deliveries).where(sql`id = ${id} AND id IS NOT NULL`).get();
  if (named !== undefined) return named;
  // Rows from before the name was kept: they are forgotten a month after it was.
  const unnamed = db.all<{ position: number; event_id: string; replay: number }>(
    sql`SELECT position, event_id, replay FROM deliveries INDEXED BY deliveries_unnamed WHERE id IS NULL`,
  );
  const found = unnamed.find((row) => deliveryId(endpointId, row.event_id, row.replay) === id);
  return found === undefined ? null : readDelivery(db, found.position);
}

const heads = prepared((db: EndpointDb) =>
  db
    .select({ position: deliveries.position, subject: deliveries.subject, nextAt: deliveries.nextAt })
    .from(deliveries)
    .where(isHead)
    .orderBy(asc(deliveries.nextAt), asc(deliveries.position))
    .limit(sql.placeholder("limit"))
    .prepare(),
);

/** The heads with the earliest due times, first the earliest. */
export function readHeads(db: EndpointDb, limit: number): Head[] {
  return heads(db).all({ limit });
}

/** How many deliveries wait, and since when the oldest of their heads does, unix ms. Neither looks further than `most`. */
export function waiting(db: EndpointDb, most: number): { pending: number; oldest: number | null } {
  const pending = db.get<{ n: number }>(
    sql`SELECT count(*) AS n FROM (SELECT 1 FROM deliveries WHERE ${isPending} LIMIT ${most})`,
  );
  // Of one subject none is older than its head.
  const oldest = db.get<{ at: number | null }>(
    sql`SELECT min(created_at) AS at FROM (SELECT created_at FROM deliveries WHERE ${isHead} ORDER BY next_at LIMIT ${most})`,
  );
  return { pending: pending.n, oldest: oldest.at };
}

const deliveryAt = prepared((db: EndpointDb) =>
  db
    .select()
    .from(deliveries)
    .where(eq(deliveries.position, sql.placeholder("position")))
    .prepare(),
);

export function readDelivery(db: EndpointDb, position: number): DeliveryRow | null {
  return deliveryAt(db).get({ position }) ?? null;
}

export function recordAttempt(db: EndpointDb, position: number, entry: AttemptEntry): void {
  const { at, outcome, status, durationMs, response, error } = entry;
  const n = sql<number>`(SELECT COALESCE(MAX(n), 0) + 1 FROM attempts WHERE delivery = ${position})`;
  db.insert(attempts).values({ delivery: position, n, at, outcome, status, durationMs, response, error }).run();
}

export function reschedule(db: EndpointDb, position: number, failures: number, nextAt: number): void {
  db.update(deliveries).set({ failures, nextAt }).where(eq(deliveries.position, position)).run();
}

/** Ends a delivery and lets the next one of its subject go. */
export function settle(
  db: EndpointDb,
  row: DeliveryRow,
  status: "delivered" | "given_up",
  failures: number,
  now: number,
): void {
  db.update(deliveries).set({ status, failures, settledAt: now }).where(eq(deliveries.position, row.position)).run();
  db.update(deliveries)
    .set({ blocked: 0 })
    .where(
      sql`position = (SELECT position FROM deliveries WHERE ${isPending} AND subject = ${row.subject} ORDER BY sequence, replay, position LIMIT 1) AND blocked = 1`,
    )
    .run();
}

/** A delivery that waits for its next attempt has it now. */
export function makeDue(db: EndpointDb, position: number, now: number): void {
  db.update(deliveries)
    .set({ nextAt: now })
    .where(and(isPending, eq(deliveries.position, position), sql`next_at > ${now}`))
    .run();
}

/** Cuts short the waits of deliveries that failed before: the receiver is said to be well again. */
export function makeHeadsDue(db: EndpointDb, now: number): void {
  db.update(deliveries)
    .set({ nextAt: now })
    .where(and(isHead, sql`next_at > ${now}`))
    .run();
}
