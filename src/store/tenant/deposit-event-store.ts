/**
 * Events of deposits: those of one commit side by side in as few rows as hold them. A deposit's own row has the
 * sequences of its events, and an event's id leads to its deposit, so neither needs an index.
 */

import { and, asc, desc, eq, gt, gte, lt, sql } from "drizzle-orm";
import { depositOfEvent } from "../../core/ids.ts";
import type { EventView } from "../../core/views.ts";
import { insertionInto, prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { depositEvents, deposits, type events } from "./schema.ts";

export type EventRow = typeof events.$inferSelect;

/** Whoever reads one event reads the row that it lies in. */
const EVENTS_PER_ROW = 100;
const LENGTH_OF_ROW = 200_000;
/** Rows read at once: first a few, for they may be full, and then more of them. */
const FIRST_ROWS = 4;
const MOST_ROWS = 64;

const newRow = insertionInto(depositEvents);

/** @param list in ascending sequence */
export function insertDepositEvents(
  db: TenantDb,
  list: readonly { readonly sequence: number; readonly body: string }[],
  createdAt: number,
): void {
  for (let from = 0; from < list.length; ) {
    let length = 0;
    const taken = list.slice(from, from + EVENTS_PER_ROW).filter(({ body }, i) => {
      length += body.length;
      return i === 0 || length <= LENGTH_OF_ROW;
    });
    const [first, last] = [taken[0], taken.at(-1)];
    if (first === undefined || last === undefined) return;
    const bodies = taken.map(({ body }) => body);
    newRow(db, { last: last.sequence, first: first.sequence, createdAt, bodies });
    from += taken.length;
  }
}

const highest = prepared((db: TenantDb) =>
  db.select({ last: depositEvents.last }).from(depositEvents).orderBy(desc(depositEvents.last)).limit(1).prepare(),
);

/** The highest sequence here; 0: there is none. */
export function lastDepositEvent(db: TenantDb): number {
  return highest(db).get()?.last ?? 0;
}

/** Oldest first, those that are wanted. */
export function depositEventsAfter(
  db: TenantDb,
  after: number,
  isWanted: (event: EventRow) => boolean,
  limit: number,
): EventRow[] {
  const found: EventRow[] = [];
  let at = after;
  for (let rows = FIRST_ROWS; found.length < limit; rows = Math.min(2 * rows, MOST_ROWS)) {
    const read = db
      .select()
      .from(depositEvents)
      .where(gt(depositEvents.last, at))
      .orderBy(asc(depositEvents.last))
      .limit(rows)
      .all();
    found.push(...read.flatMap(eventsIn).filter(isWanted));
    at = read.at(-1)?.last ?? at;
    if (read.length < rows) break;
  }
  return found.slice(0, limit);
}

/** Every event of a deposit; null: it has no list of its own, or is none. */
export function eventsOfDeposit(db: TenantDb, id: string): EventRow[] | null {
  const row = db.select({ events: deposits.events }).from(deposits).where(eq(deposits.id, id)).get();
  return row?.events?.flatMap((sequence) => eventAt(db, sequence) ?? []) ?? null;
}

export function depositEventById(db: TenantDb, id: string): EventRow | undefined {
  const { idBegins, n } = depositOfEvent(id);
  const row = db
    .select({ events: deposits.events })
    .from(deposits)
    .where(and(gte(deposits.id, idBegins), lt(deposits.id, `${idBegins}~`)))
    .get();
  const sequence = row?.events?.[n - 1];
  const event = sequence === undefined ? undefined : eventAt(db, sequence);
  return event?.id === id ? event : undefined;
}

/** The first sequence written at or after a moment; null: none was. */
export function firstDepositEventSince(db: TenantDb, at: number): number | null {
  const first = db
    .select({ value: sql<number | null>`min(first)` })
    .from(depositEvents)
    .where(gte(depositEvents.createdAt, at))
    .get();
  return first?.value ?? null;
}

const rowWith = prepared((db: TenantDb) =>
  db
    .select()
    .from(depositEvents)
    .where(gte(depositEvents.last, sql.placeholder("sequence")))
    .orderBy(asc(depositEvents.last))
    .limit(1)
    .prepare(),
);

function eventAt(db: TenantDb, sequence: number): EventRow | undefined {
  const row = rowWith(db).get({ sequence });
  return row === undefined ? undefined : eventsIn(row).find((event) => event.sequence === sequence);
}

function eventsIn({ bodies, createdAt }: typeof depositEvents.$inferSelect): EventRow[] {
  return bodies.map((body) => {
    const { id, type, sequence, subject, subject_sequence: subjectSequence } = JSON.parse(body) as EventView;
    return { sequence, id, type, subject, subjectSequence, body, createdAt };
  });
}
