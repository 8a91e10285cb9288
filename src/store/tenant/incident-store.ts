/** Incidents and suspicions. One of a kind and subject is current at a time; what is closed stays as it was. */

import { and, asc, desc, eq, isNotNull, isNull, lt, type SQL, sql } from "drizzle-orm";
import type { TenantIncidentKind } from "../../core/incident.ts";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { incidents } from "./schema.ts";

export type IncidentRow = typeof incidents.$inferSelect;

const current = prepared((db: TenantDb) =>
  db
    .select()
    .from(incidents)
    .where(
      and(
        eq(incidents.kind, sql.placeholder("kind")),
        eq(incidents.subject, sql.placeholder("subject")),
        isNull(incidents.closedAt),
      ),
    )
    .prepare(),
);
const allCurrent = prepared((db: TenantDb) => db.select().from(incidents).where(isNull(incidents.closedAt)).prepare());
const untold = prepared((db: TenantDb) =>
  db
    .select()
    .from(incidents)
    // As its partial index has it.
    .where(sql`told_revision < revision`)
    .orderBy(asc(incidents.seq))
    .limit(sql.placeholder("limit"))
    .prepare(),
);

/** The open or suspected one. */
export function currentIncident(db: TenantDb, kind: TenantIncidentKind, subject: string): IncidentRow | undefined {
  return current(db).get({ kind, subject });
}

/** Every open and every suspected one. */
export function currentIncidents(db: TenantDb): IncidentRow[] {
  return allCurrent(db).all();
}

export function nextIncidentSeq(db: TenantDb): number {
  return (db.select({ value: sql<number>`coalesce(max(seq), 0)` }).from(incidents).get()?.value ?? 0) + 1;
}

export function insertIncident(db: TenantDb, row: IncidentRow): void {
  db.insert(incidents).values(row).run();
}

export function changeIncident(db: TenantDb, seq: number, changes: Partial<Omit<IncidentRow, "seq" | "id">>): void {
  db.update(incidents).set(changes).where(eq(incidents.seq, seq)).run();
}

export function deleteIncident(db: TenantDb, seq: number): void {
  db.delete(incidents).where(eq(incidents.seq, seq)).run();
}

/** What others are still to hear of, oldest first. */
export function untoldIncidents(db: TenantDb, limit: number): IncidentRow[] {
  return untold(db).all({ limit });
}

/** What has changed since `revision` is still to be told. */
export function markIncidentTold(db: TenantDb, { seq, revision }: Pick<IncidentRow, "seq" | "revision">): void {
  db.update(incidents).set({ toldRevision: revision }).where(eq(incidents.seq, seq)).run();
}

export function incidentById(db: TenantDb, id: string): IncidentRow | undefined {
  return db
    .select()
    .from(incidents)
    .where(and(eq(incidents.id, id), isNotNull(incidents.openedAt)))
    .get();
}

export interface IncidentQuery {
  readonly status?: "open" | "closed";
  readonly kind?: TenantIncidentKind;
  readonly network?: string;
}

/** Newest first, strictly below `before`. What is only suspected is not among them. */
export function listIncidents(db: TenantDb, query: IncidentQuery, before: number | null, limit: number): IncidentRow[] {
  const conditions: (SQL | undefined)[] = [isNotNull(incidents.openedAt)];
  if (before !== null) conditions.push(lt(incidents.seq, before));
  if (query.status === "open") conditions.push(isNull(incidents.closedAt));
  if (query.status === "closed") conditions.push(isNotNull(incidents.closedAt));
  if (query.kind !== undefined) conditions.push(eq(incidents.kind, query.kind));
  if (query.network !== undefined) conditions.push(eq(incidents.network, query.network));
  return db
    .select()
    .from(incidents)
    .where(and(...conditions))
    .orderBy(desc(incidents.seq))
    .limit(limit)
    .all();
}
