/** Reconciliation reports. The latest ones are kept; an older one has nothing to say that they do not. */

import { desc, lte, sql } from "drizzle-orm";
import type { ReconciliationView } from "../../core/views.ts";
import type { TenantDb } from "./database.ts";
import { reconciliations } from "./schema.ts";

export const REPORTS_KEPT = 30;

export interface StoredReport {
  /** Unix milliseconds of the moment that it compares. */
  readonly at: number;
  readonly report: ReconciliationView;
}

export function insertReport(db: TenantDb, { at, report }: StoredReport): void {
  const { seq } = db.insert(reconciliations).values({ at, report }).returning({ seq: reconciliations.seq }).get();
  db.delete(reconciliations)
    .where(lte(reconciliations.seq, seq - REPORTS_KEPT))
    .run();
}

/** Newest first. */
export function storedReports(db: TenantDb): StoredReport[] {
  return db
    .select({ at: reconciliations.at, report: reconciliations.report })
    .from(reconciliations)
    .orderBy(desc(reconciliations.seq))
    .limit(REPORTS_KEPT)
    .all();
}

/** What the newest report counts, without its differences; zeros before the first. */
export function newestReportCounters(db: TenantDb): { unresolved: number; mismatches: number } {
  const counter = (name: string) => sql<number>`coalesce(json_extract(report, ${`$.counters.${name}`}), 0)`;
  const row = db
    .select({ unresolved: counter("unresolved_withdrawals"), mismatches: counter("mismatches") })
    .from(reconciliations)
    .orderBy(sql`seq DESC`)
    .limit(1)
    .get();
  return row ?? { unresolved: 0, mismatches: 0 };
}

export function newestReport(db: TenantDb): StoredReport | undefined {
  return db
    .select({ at: reconciliations.at, report: reconciliations.report })
    .from(reconciliations)
    .orderBy(sql`seq DESC`)
    .limit(1)
    .get();
}
