/**
 * The event log. `sequence` has no gap per tenant, `subject_sequence` none per subject; the body is the
 * bytes that every consumer gets, on every attempt. An event is appended in the commit that makes it true.
 */

import { and, asc, eq, gt, inArray, lte, sql } from "drizzle-orm";
import { API_VERSION } from "../../core/api-version.ts";
import { derivedId } from "../../core/ids.ts";
import type { EventType, EventView } from "../../core/views.ts";
import { insertAll } from "../insert-all.ts";
import { insertionInto, prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { events } from "./schema.ts";

const SUBJECTS_PER_STATEMENT = 2_000;

export type EventRow = typeof events.$inferSelect;

/**
 * Appends events within one commit. Reads the counters when made; drop it when the commit ends. What is added is
 * numbered at once and written by `write`, in the same commit.
 */
export class EventAppender {
  readonly #db: TenantDb;
  readonly #tenantId: string;
  readonly #now: number;
  #sequence: number;
  readonly #subjects = new Map<string, number>();
  #added: EventRow[] = [];

  constructor(db: TenantDb, tenantId: string, now: number) {
    this.#db = db;
    this.#tenantId = tenantId;
    this.#now = now;
    this.#sequence = lastSequence(db);
  }

  /** @param before how many events the subject has, where the caller knows; with another number nothing is appended */
  append(type: EventType, subject: string, data: object, before?: number): EventView {
    const { event, row } = this.#next(type, subject, data, before);
    newEvent(this.#db, row);
    return event;
  }

  /** Looks up together where these subjects stand. */
  expect(subjects: readonly string[]): void {
    for (const subject of subjects) this.#subjects.set(subject, 0);
    for (const [subject, last] of lastSubjectSequences(this.#db, subjects)) this.#subjects.set(subject, last);
  }

  add(type: EventType, subject: string, data: object): EventView {
    const { event, row } = this.#next(type, subject, data);
    this.#added.push(row);
    return event;
  }

  write(): void {
    insertAll(this.#db, events, this.#added);
    this.#added = [];
  }

  #next(type: EventType, subject: string, data: object, before?: number): { event: EventView; row: EventRow } {
    const last = before ?? this.#subjects.get(subject) ?? lastSubjectSequence(this.#db, subject);
    const subjectSequence = last + 1;
    const event: EventView = {
      id: derivedId("evt", this.#tenantId, subject, subjectSequence),
      type,
      api_version: API_VERSION,
      sequence: this.#sequence + 1,
      subject,
      subject_sequence: subjectSequence,
      created_at: new Date(this.#now).toISOString(),
      data,
    };
    const row = {
      sequence: event.sequence,
      id: event.id,
      type,
      subject,
      subjectSequence,
      body: JSON.stringify(event),
      createdAt: this.#now,
    };
    this.#sequence = event.sequence;
    this.#subjects.set(subject, subjectSequence);
    return { event, row };
  }
}

const newEvent = insertionInto(events);
const highest = prepared((db: TenantDb) =>
  db.select({ value: sql<number>`coalesce(max(sequence), 0)` }).from(events).prepare(),
);
const highestOf = prepared((db: TenantDb) =>
  db
    .select({ value: sql<number>`coalesce(max(subject_sequence), 0)` })
    .from(events)
    .where(eq(events.subject, sql.placeholder("subject")))
    .prepare(),
);

export function lastSequence(db: TenantDb): number {
  return highest(db).get()?.value ?? 0;
}

function lastSubjectSequence(db: TenantDb, subject: string): number {
  return highestOf(db).get({ subject })?.value ?? 0;
}

/** Of those that have events. */
function lastSubjectSequences(db: TenantDb, subjects: readonly string[]): [string, number][] {
  const found: [string, number][] = [];
  for (let i = 0; i < subjects.length; i += SUBJECTS_PER_STATEMENT) {
    const list = JSON.stringify(subjects.slice(i, i + SUBJECTS_PER_STATEMENT));
    const rows = db
      .select({ subject: events.subject, last: sql<number>`max(subject_sequence)` })
      .from(events)
      .where(sql`${events.subject} IN (SELECT value FROM json_each(${list}))`)
      .groupBy(events.subject)
      .all();
    for (const row of rows) found.push([row.subject, row.last]);
  }
  return found;
}

export interface EventFilter {
  /** Strictly after this sequence. */
  readonly after: number;
  readonly types: readonly EventType[] | null;
  readonly subject?: string | null;
  /** At most up to this sequence. */
  readonly upTo?: number | null;
}

/** Oldest first. */
export function eventsAfter(
  db: TenantDb,
  { after, types, subject = null, upTo = null }: EventFilter,
  limit: number,
): EventRow[] {
  return (
    db
      .select()
      .from(events)
      .where(
        and(
          subject === null ? undefined : eq(events.subject, subject),
          gt(events.sequence, after),
          types === null ? undefined : inArray(events.type, [...types]),
          upTo === null ? undefined : lte(events.sequence, upTo),
        ),
      )
      // Of one subject the two orders are the same, and its index has the other one.
      .orderBy(asc(subject === null ? events.sequence : events.subjectSequence))
      .limit(limit)
      .all()
  );
}

export function eventById(db: TenantDb, id: string): EventRow | undefined {
  return db.select().from(events).where(eq(events.id, id)).get();
}

/** The last sequence written before a moment, 0 when none was. */
export function sequenceBefore(db: TenantDb, at: number): number {
  // Time may step back between commits, so the answer is the event before the first one at or after `at`.
  const first = db
    .select({ value: sql<number | null>`min(sequence)` })
    .from(events)
    .where(sql`created_at >= ${at}`)
    .get();
  return first?.value == null ? lastSequence(db) : first.value - 1;
}

/** The event as it was written; its bytes are the stored ones. */
export function toEventView(row: EventRow): EventView {
  return JSON.parse(row.body) as EventView;
}
