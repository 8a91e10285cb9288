/** Past ranges still to be read, and news of the network still to be told. */

import { and, asc, eq, isNotNull, isNull, lte, sql } from "drizzle-orm";
import { prepared } from "../prepared.ts";
import type { ScannerDb } from "./database.ts";
import { backfills, notices } from "./schema.ts";

export type BackfillJob = typeof backfills.$inferSelect;
export type NoticeRow = typeof notices.$inferSelect;

/** A job that is there already stays as it is. */
export function insertJob(db: ScannerDb, job: Omit<BackfillJob, "seq">): void {
  db.insert(backfills).values(job).onConflictDoNothing().run();
}

const firstDue = prepared((db: ScannerDb) =>
  db
    .select()
    .from(backfills)
    .where(lte(backfills.dueAt, sql.placeholder("now")))
    .orderBy(asc(backfills.dueAt), asc(backfills.seq))
    .limit(1)
    .prepare(),
);
const earliestDue = prepared((db: ScannerDb) =>
  db.select({ at: backfills.dueAt }).from(backfills).orderBy(asc(backfills.dueAt)).limit(1).prepare(),
);
const earliestNotices = prepared((db: ScannerDb) =>
  db.select().from(notices).orderBy(asc(notices.at)).limit(sql.placeholder("limit")).prepare(),
);

export function nextJob(db: ScannerDb, now: number): BackfillJob | undefined {
  return firstDue(db).get({ now });
}

export function earliestJobDue(db: ScannerDb): number | null {
  return earliestDue(db).get()?.at ?? null;
}

export function updateJob(
  db: ScannerDb,
  seq: number,
  set: Partial<Pick<BackfillJob, "nextHeight" | "failures" | "dueAt">>,
): void {
  db.update(backfills).set(set).where(eq(backfills.seq, seq)).run();
}

/** How many ranges a tenant asked for are waiting, this one aside. */
export function countJobsOf(db: ScannerDb, tenant: number, but: string): number {
  const waiting = db
    .select({ id: backfills.id })
    .from(backfills)
    .where(and(eq(backfills.tenant, tenant), isNull(backfills.address)))
    .all();
  return waiting.filter((job) => job.id !== but).length;
}

export function deleteJob(db: ScannerDb, seq: number): void {
  db.delete(backfills).where(eq(backfills.seq, seq)).run();
}

/** First unread height of each address that is still being caught up for this tenant. */
export function unreadFrom(db: ScannerDb, tenant: number): Map<string, number> {
  const rows = db
    .select()
    .from(backfills)
    .where(and(eq(backfills.tenant, tenant), isNotNull(backfills.address)))
    .all();
  const heights = new Map<string, number>();
  for (const { address, nextHeight } of rows) {
    if (address !== null) heights.set(address, Math.min(nextHeight, heights.get(address) ?? nextHeight));
  }
  return heights;
}

export function insertNotices(db: ScannerDb, list: readonly NoticeRow[]): void {
  for (const notice of list) db.insert(notices).values(notice).onConflictDoNothing().run();
}

export function pendingNotices(db: ScannerDb, limit: number): NoticeRow[] {
  return earliestNotices(db).all({ limit });
}

export function deleteNotice(db: ScannerDb, notice: Pick<NoticeRow, "tenant" | "id" | "type">): void {
  db.delete(notices)
    .where(and(eq(notices.tenant, notice.tenant), eq(notices.id, notice.id), eq(notices.type, notice.type)))
    .run();
}
