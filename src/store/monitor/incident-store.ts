/** The operator's list of incidents, and the calls of the operator's webhook. */

import { and, asc, desc, eq, isNotNull, isNull, lt, lte, type SQL, sql } from "drizzle-orm";
import type { IncidentKind } from "../../core/incident.ts";
import type { MonitorDb } from "./database.ts";
import { calls, incidents } from "./schema.ts";

export type MonitoredIncident = typeof incidents.$inferSelect;
export type CallRow = typeof calls.$inferSelect;

export function incidentNamed(db: MonitorDb, id: string): MonitoredIncident | undefined {
  return db.select().from(incidents).where(eq(incidents.id, id)).get();
}

/** The open or suspected one of the service itself. */
export function currentIncident(db: MonitorDb, kind: IncidentKind, subject: string): MonitoredIncident | undefined {
  return db
    .select()
    .from(incidents)
    .where(
      and(
        eq(incidents.kind, kind),
        eq(incidents.subject, subject),
        isNull(incidents.tenantId),
        isNull(incidents.closedAt),
      ),
    )
    .get();
}

export function nextSeq(db: MonitorDb): number {
  return (db.select({ value: sql<number>`coalesce(max(seq), 0)` }).from(incidents).get()?.value ?? 0) + 1;
}

export function insertIncident(db: MonitorDb, row: MonitoredIncident): void {
  db.insert(incidents).values(row).run();
}

export function changeIncident(
  db: MonitorDb,
  seq: number,
  changes: Partial<Omit<MonitoredIncident, "seq" | "id">>,
): void {
  db.update(incidents).set(changes).where(eq(incidents.seq, seq)).run();
}

export function deleteIncident(db: MonitorDb, seq: number): void {
  db.delete(incidents).where(eq(incidents.seq, seq)).run();
}

/** Current ones that nobody has seen again by the time at which they are taken for well. */
export function quietIncidents(db: MonitorDb, now: number, limit: number): MonitoredIncident[] {
  return db
    .select()
    .from(incidents)
    .where(and(isNotNull(incidents.quietAt), lte(incidents.quietAt, now)))
    .limit(limit)
    .all();
}

export function nextQuietAt(db: MonitorDb): number | null {
  return (
    db.select({ at: sql<number | null>`min(quiet_at)` }).from(incidents).where(isNotNull(incidents.quietAt)).get()
      ?.at ?? null
  );
}

export interface MonitoredQuery {
  readonly status?: "open" | "closed";
  readonly kind?: IncidentKind;
  readonly tenantId?: string;
  readonly network?: string;
}

/** Newest first, strictly below `before`. What is only suspected is not among them. */
export function listMonitored(
  db: MonitorDb,
  query: MonitoredQuery,
  before: number | null,
  limit: number,
): MonitoredIncident[] {
  const conditions: (SQL | undefined)[] = [isNotNull(incidents.openedAt)];
  if (before !== null) conditions.push(lt(incidents.seq, before));
  if (query.status === "open") conditions.push(isNull(incidents.closedAt));
  if (query.status === "closed") conditions.push(isNotNull(incidents.closedAt));
  if (query.kind !== undefined) conditions.push(eq(incidents.kind, query.kind));
  if (query.tenantId !== undefined) conditions.push(eq(incidents.tenantId, query.tenantId));
  if (query.network !== undefined) conditions.push(eq(incidents.network, query.network));
  return db
    .select()
    .from(incidents)
    .where(and(...conditions))
    .orderBy(desc(incidents.seq))
    .limit(limit)
    .all();
}

/** A call that is there already stays as it is. */
export function insertCall(db: MonitorDb, row: Omit<CallRow, "seq">): void {
  db.insert(calls).values(row).onConflictDoNothing().run();
}

/** Of each incident the earliest that is pending: it is told that it opened before it is told that it closed. */
const isHead = sql`NOT EXISTS (
  SELECT 1 FROM calls AS earlier
  WHERE earlier.incident_id = ${calls.incidentId} AND earlier.seq < ${calls.seq} AND earlier.status = 'pending'
)`;

export function dueCalls(db: MonitorDb, now: number, limit: number): CallRow[] {
  return db
    .select()
    .from(calls)
    .where(and(sql`${calls.status} = 'pending'`, lte(calls.nextAt, now), isHead))
    .orderBy(asc(calls.nextAt), asc(calls.seq))
    .limit(limit)
    .all();
}

export function nextCallAt(db: MonitorDb): number | null {
  return (
    db
      .select({ at: sql<number | null>`min(${calls.nextAt})` })
      .from(calls)
      .where(and(sql`${calls.status} = 'pending'`, isHead))
      .get()?.at ?? null
  );
}

export function changeCall(
  db: MonitorDb,
  seq: number,
  changes: Partial<Pick<CallRow, "status" | "failures" | "nextAt">>,
): void {
  db.update(calls).set(changes).where(eq(calls.seq, seq)).run();
}

/** Forgets the oldest of what is over. */
export function pruneMonitored(db: MonitorDb, before: { readonly calls: number; readonly incidents: number }): void {
  db.delete(calls)
    .where(and(sql`status <> 'pending'`, lt(calls.createdAt, before.calls)))
    .run();
  db.delete(incidents)
    .where(and(isNotNull(incidents.closedAt), lt(incidents.closedAt, before.incidents)))
    .run();
}
