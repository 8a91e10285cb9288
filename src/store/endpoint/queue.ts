/**
 * The delivery queue of one endpoint.
 *
 * Invariant: of each subject's pending deliveries exactly one is unblocked, the earliest by
 * (sequence, replay, position). So what is due is one indexed query, however many wait behind. Each
 * function here keeps it, when it runs inside the caller's transaction.
 */

import { and, asc, desc, eq, ne, sql } from "drizzle-orm";
import type { EventType } from "../../core/views.ts";
import type { AttemptFacts } from "../../core/webhook-schedule.ts";
import { prepared } from "../prepared.ts";
import type { EndpointDb } from "./database.ts";
import { deliveryId, positionIn } from "./delivery-id.ts";
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
export function enqueueOnce(db: EndpointDb, event: ArrivingEvent, now: number): void {
  insertDelivery(db, event, 0, now);
}

/**
 * Adds a further delivery of the event, unless one waits already: a repeated call finds the first one's.
 * @param inFlight the one being sent is no longer waiting; what a receiver made of it is not known
 * @returns position of the delivery that is still to be sent
 */
export function enqueueAgain(db: EndpointDb, event: ArrivingEvent, inFlight: ReadonlySet<number>, now: number): number {
  const latest = db
    .select({ position: deliveries.position, replay: deliveries.replay, status: deliveries.status })
    .from(deliveries)
    .where(eq(deliveries.eventId, event.id))
    .orderBy(desc(deliveries.replay))
    .limit(1)
    .get();
  if (latest?.status === "pending" && !inFlight.has(latest.position)) return latest.position;
  const position = insertDelivery(db, event, latest === undefined ? 0 : latest.replay + 1, now);
  if (position === null) throw new Error(`a further delivery of event ${event.id} was there already`);
  return position;
}

const insertion = prepared((db: EndpointDb) => {
  const { placeholder } = sql;
  return db
    .insert(deliveries)
    .values({
      eventId: placeholder("id"),
      eventType: placeholder("type"),
      sequence: placeholder("sequence"),
      replay: placeholder("replay"),
      subject: placeholder("subject"),
      subjectSequence: placeholder("subjectSequence"),
      body: placeholder("body"),
      status: "pending",
      blocked: sql`EXISTS (SELECT 1 FROM deliveries WHERE ${isPending} AND subject = ${placeholder("subject")} AND (sequence, replay) <= (${placeholder("sequence")}, ${placeholder("replay")}))`,
      failures: 0,
      nextAt: placeholder("now"),
      createdAt: placeholder("now"),
      isNumbered: 1,
    })
    .onConflictDoNothing()
    .returning({ position: deliveries.position, blocked: deliveries.blocked })
    .prepare();
});

const othersBehind = prepared((db: EndpointDb) =>
  db
    .update(deliveries)
    .set({ blocked: 1 })
    .where(
      and(
        isHead,
        eq(deliveries.subject, sql.placeholder("subject")),
        ne(deliveries.position, sql.placeholder("position")),
      ),
    )
    .prepare(),
);

/** @returns its position; null when there is such a delivery already */
function insertDelivery(db: EndpointDb, event: ArrivingEvent, replay: number, now: number): number | null {
  const inserted = insertion(db).get({ ...event, replay, now });
  if (inserted === undefined) return null;
  if (inserted.blocked === 0) othersBehind(db).run({ subject: event.subject, position: inserted.position });
  return inserted.position;
}

/** The delivery that the API calls so; null: there is none. */
export function deliveryNamed(db: EndpointDb, endpointId: string, id: string): DeliveryRow | null {
  const numbered = readDelivery(db, positionIn(id));
  if (numbered !== null && deliveryId(endpointId, numbered) === id) return numbered;
  const named = db.select().from(deliveries).where(sql`id = ${id} AND id IS NOT NULL`).get();
  if (named !== undefined) return named;
  const unnamed = db.all<{ position: number; eventId: string; replay: number }>(
    sql`SELECT position, event_id AS eventId, replay FROM deliveries INDEXED BY deliveries_unnamed WHERE id IS NULL AND is_numbered IS NULL`,
  );
  const found = unnamed.find((row) => deliveryId(endpointId, { ...row, id: null, isNumbered: null }) === id);
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

const content = prepared((db: EndpointDb) =>
  db
    .select({ eventId: deliveries.eventId, body: deliveries.body })
    .from(deliveries)
    .where(eq(deliveries.position, sql.placeholder("position")))
    .prepare(),
);

/** What is sent of a delivery. */
export function readContent(db: EndpointDb, position: number): { eventId: string; body: string } | null {
  return content(db).get({ position }) ?? null;
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

/** One that was not acknowledged. */
export function recordAttempt(db: EndpointDb, position: number, entry: AttemptEntry): void {
  const { at, outcome, status, durationMs, response, error } = entry;
  const n = sql<number>`(SELECT COALESCE(MAX(n), 0) + 1 FROM attempts WHERE delivery = ${position})`;
  db.insert(attempts).values({ delivery: position, n, at, outcome, status, durationMs, response, error }).run();
}

export function reschedule(db: EndpointDb, position: number, failures: number, nextAt: number): void {
  db.update(deliveries).set({ failures, nextAt }).where(eq(deliveries.position, position)).run();
}

/** Of many deliveries, each of another subject, as JSON: one statement for all of them. */
const acknowledgements = prepared((db: EndpointDb) =>
  db
    .update(deliveries)
    .set({
      status: "delivered",
      settledAt: sql`${sql.placeholder("now")}`,
      acknowledgedAt: sql`value ->> 'at'`,
      acknowledgedStatus: sql`value ->> 'status'`,
      acknowledgedMs: sql`value ->> 'durationMs'`,
      acknowledgedResponse: sql`value ->> 'response'`,
    })
    .from(sql`json_each(${sql.placeholder("entries")})`)
    .where(sql`${isPending} AND position = value ->> 'position'`)
    .prepare(),
);

const nextOfSubjects = prepared((db: EndpointDb) =>
  db
    .update(deliveries)
    .set({ blocked: 0 })
    .where(
      sql`blocked = 1 AND position IN (SELECT (SELECT position FROM deliveries WHERE ${isPending} AND subject = value ORDER BY sequence, replay, position LIMIT 1) FROM json_each(${sql.placeholder("subjects")}))`,
    )
    .prepare(),
);

export interface Acknowledged extends Pick<AttemptEntry, "at" | "status" | "durationMs" | "response"> {
  readonly position: number;
  readonly subject: string;
}

/** Ends deliveries by the attempts that were acknowledged, and lets the next one of each subject go. */
export function acknowledge(db: EndpointDb, entries: readonly Acknowledged[], now: number): void {
  acknowledgements(db).run({ entries: JSON.stringify(entries), now });
  freeNext(
    db,
    entries.map(({ subject }) => subject),
  );
}

function freeNext(db: EndpointDb, subjects: readonly string[]): void {
  nextOfSubjects(db).run({ subjects: JSON.stringify(subjects) });
}

/** Ends a delivery without an acknowledgement, and lets the next one of its subject go. */
export function giveUp(db: EndpointDb, row: DeliveryRow, failures: number, now: number): void {
  const status = "given_up";
  db.update(deliveries).set({ status, failures, settledAt: now }).where(eq(deliveries.position, row.position)).run();
  freeNext(db, [row.subject]);
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
