/**
 * The event log. `sequence` has no gap per tenant, `subject_sequence` none per subject; the body is the
 * bytes that every consumer gets, on every attempt. An event is appended in the commit that makes it true.
 *
 * It lies in two tables, of which the sequence makes one log: events of deposits by the commit, all others one by one.
 */

import { and, asc, eq, gt, inArray, lte, sql } from "drizzle-orm";
import { API_VERSION } from "../../core/api-version.ts";
import { depositEventId, derivedId } from "../../core/ids.ts";
import type { EventType, EventView } from "../../core/views.ts";
import { insertionInto, prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import {
  depositEventById,
  depositEventsAfter,
  type EventRow,
  eventsOfDeposit,
  firstDepositEventSince,
  insertDepositEvents,
  lastDepositEvent,
} from "./deposit-event-store.ts";
import { events } from "./schema.ts";

export type { EventRow };

/** Appends events within one commit. Reads the counters when made; `write` before the commit ends, and drop it. */
export class EventAppender {
  readonly #db: TenantDb;
  readonly #tenantId: string;
  readonly #now: number;
  #sequence: number;
  readonly #subjects = new Map<string, number>();
  readonly #ofDeposits: { readonly sequence: number; readonly body: string }[] = [];

  constructor(db: TenantDb, tenantId: string, now: number) {
    this.#db = db;
    this.#tenantId = tenantId;
    this.#now = now;
    this.#sequence = lastSequence(db);
  }

  /** @param before how many events the subject has, where the caller knows; with another number nothing is appended */
  append(type: EventType, subject: string, data: object, before?: number): EventView {
    const n = (before ?? this.#subjects.get(subject) ?? lastSubjectSequence(this.#db, subject)) + 1;
    const event = this.#next(derivedId("evt", this.#tenantId, subject, n), type, subject, n, data);
    const { id, sequence } = event;
    const body = JSON.stringify(event);
    newEvent(this.#db, { sequence, id, type, subject, subjectSequence: n, body, createdAt: this.#now });
    this.#subjects.set(subject, n);
    return event;
  }

  /** An event of a deposit that keeps the list of its events itself. @param before sequences of those it has had */
  appendToDeposit(type: EventType, depositId: string, before: readonly number[], data: object): EventView {
    const n = before.length + 1;
    const event = this.#next(depositEventId(depositId, n), type, depositId, n, data);
    this.#ofDeposits.push({ sequence: event.sequence, body: JSON.stringify(event) });
    return event;
  }

  /** Writes what was appended to deposits: in one go, so that it takes few rows. */
  write(): void {
    insertDepositEvents(this.#db, this.#ofDeposits.splice(0), this.#now);
  }

  #next(id: string, type: EventType, subject: string, subjectSequence: number, data: object): EventView {
    this.#sequence++;
    return {
      ...{ id, type, api_version: API_VERSION, sequence: this.#sequence, subject, subject_sequence: subjectSequence },
      ...{ created_at: new Date(this.#now).toISOString(), data },
    };
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
  return Math.max(highest(db).get()?.value ?? 0, lastDepositEvent(db));
}

function lastSubjectSequence(db: TenantDb, subject: string): number {
  return highestOf(db).get({ subject })?.value ?? 0;
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
export function eventsAfter(db: TenantDb, filter: EventFilter, limit: number): EventRow[] {
  const { subject = null, types } = filter;
  const own = subject === null ? null : eventsOfDeposit(db, subject);
  if (own !== null) return own.filter((event) => isAskedFor(filter, event)).slice(0, limit);
  const single = singleEventsAfter(db, filter, limit);
  if (subject !== null || (types !== null && !types.some(isOfDeposit))) return single;
  const ofDeposits = depositEventsAfter(db, filter.after, (event) => isAskedFor(filter, event), limit);
  if (ofDeposits.length === 0) return single;
  return [...single, ...ofDeposits].sort((a, b) => a.sequence - b.sequence).slice(0, limit);
}

function singleEventsAfter(
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

function isAskedFor({ after, types, upTo = null }: EventFilter, { sequence, type }: EventRow): boolean {
  return sequence > after && (upTo === null || sequence <= upTo) && (types === null || types.includes(type));
}

function isOfDeposit(type: EventType): boolean {
  return type.startsWith("deposit.");
}

export function eventById(db: TenantDb, id: string): EventRow | undefined {
  return db.select().from(events).where(eq(events.id, id)).get() ?? depositEventById(db, id);
}

/** The last sequence written before a moment, 0 when none was. */
export function sequenceBefore(db: TenantDb, at: number): number {
  // Time may step back between commits, so the answer is the event before the first one at or after `at`.
  const first = db
    .select({ value: sql<number | null>`min(sequence)` })
    .from(events)
    .where(sql`created_at >= ${at}`)
    .get();
  const firsts = [first?.value ?? null, firstDepositEventSince(db, at)].filter((value) => value !== null);
  return firsts.length === 0 ? lastSequence(db) : Math.min(...firsts) - 1;
}

/** The event as it was written; its bytes are the stored ones. */
export function toEventView(row: EventRow): EventView {
  return JSON.parse(row.body) as EventView;
}
