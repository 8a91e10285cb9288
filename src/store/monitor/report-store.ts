/** The newest report of each source, as rows. */

import { and, eq, gt, gte, like, lt } from "drizzle-orm";
import type { HeldReport } from "../../core/figure-totals.ts";
import type { MonitorDb } from "./database.ts";
import { reports } from "./schema.ts";

export type ReportRow = typeof reports.$inferSelect;

export function reportOf(db: MonitorDb, source: string): HeldReport | undefined {
  return db.select().from(reports).where(eq(reports.source, source)).get();
}

export function putReport(db: MonitorDb, row: ReportRow): void {
  const { at, figures } = row;
  db.insert(reports).values(row).onConflictDoUpdate({ target: reports.source, set: { at, figures } }).run();
}

export function deleteReport(db: MonitorDb, source: string): void {
  db.delete(reports).where(eq(reports.source, source)).run();
}

/** By source, strictly after `after`. */
export function reportsAfter(db: MonitorDb, after: string, limit: number): ReportRow[] {
  return db.select().from(reports).where(gt(reports.source, after)).orderBy(reports.source).limit(limit).all();
}

/** Endpoints that had something to send, and said nothing since a moment. A scan of all endpoints. */
export function silentSince(db: MonitorDb, at: number, limit: number): ReportRow[] {
  return db
    .select()
    .from(reports)
    .where(
      and(
        gte(reports.source, "endpoint:"),
        lt(reports.source, "endpoint;"),
        lt(reports.at, at),
        like(reports.figures, "%oldest_undelivered%"),
      ),
    )
    .limit(limit)
    .all();
}
