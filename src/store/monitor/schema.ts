/** The tables of the operator's monitor. What is kept here can be lost: every source tells it again. */

import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { Figure } from "../../core/figures.ts";
import type { Evidence, IncidentKind } from "../../core/incident.ts";

/** The newest report of each object. */
export const reports = sqliteTable("reports", {
  source: text("source").primaryKey(),
  at: integer("at").notNull(),
  figures: text("figures", { mode: "json" }).$type<readonly Figure[]>().notNull(),
});

/** Every tenant's incidents as they were told, and the service's own, with what may become one. */
export const incidents = sqliteTable(
  "incidents",
  {
    seq: integer("seq").primaryKey(),
    id: text("id").notNull().unique(),
    kind: text("kind").$type<IncidentKind>().notNull(),
    subject: text("subject").notNull(),
    /** null: the service's own, judged here. */
    tenantId: text("tenant_id"),
    /** Of the service's own: whose object it is about, for people. */
    network: text("network"),
    firstSeenAt: integer("first_seen_at").notNull(),
    looks: integer("looks").notNull(),
    /** null: suspected. */
    openedAt: integer("opened_at"),
    closedAt: integer("closed_at"),
    summary: text("summary").notNull(),
    evidence: text("evidence", { mode: "json" }).$type<Evidence>().notNull(),
    /** When it is taken for well, unless it is seen again by then; null: somebody says so. */
    quietAt: integer("quiet_at"),
  },
  (t) => [
    uniqueIndex("incidents_current").on(t.kind, t.subject).where(sql`tenant_id IS NULL AND closed_at IS NULL`),
    index("incidents_quiet").on(t.quietAt).where(sql`quiet_at IS NOT NULL`),
    index("incidents_tenant").on(t.tenantId),
  ],
);

/** What the operator's webhook is still to be told, and lately was: one row for each opening and each closing. */
export const calls = sqliteTable(
  "calls",
  {
    seq: integer("seq").primaryKey(),
    /** `evt_...`: the same on every attempt, and unique, so that a repeat writes no second one. */
    id: text("id").notNull().unique(),
    incidentId: text("incident_id").notNull(),
    body: text("body").notNull(),
    status: text("status").$type<"pending" | "delivered" | "given_up">().notNull(),
    failures: integer("failures").notNull(),
    nextAt: integer("next_at").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [index("calls_due").on(t.nextAt).where(sql`status = 'pending'`)],
);
