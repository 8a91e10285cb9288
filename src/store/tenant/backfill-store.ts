/** Reports of past ranges. The counts of a slice and its payments are one commit, so each is counted once. */

import { and, eq } from "drizzle-orm";
import type { BackfillView } from "../../core/views.ts";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { backfills } from "./schema.ts";

export type BackfillRow = typeof backfills.$inferSelect;

const toHandOver = prepared((db: TenantDb) =>
  db
    .select()
    .from(backfills)
    .where(and(eq(backfills.handedOver, 0), eq(backfills.status, "queued")))
    .prepare(),
);

export function backfillById(db: TenantDb, id: string): BackfillRow | undefined {
  return db.select().from(backfills).where(eq(backfills.id, id)).get();
}

export function insertBackfill(db: TenantDb, row: BackfillRow): void {
  db.insert(backfills).values(row).run();
}

export function markHandedOver(db: TenantDb, id: string): void {
  db.update(backfills).set({ handedOver: 1 }).where(eq(backfills.id, id)).run();
}

export function backfillsToHandOver(db: TenantDb): BackfillRow[] {
  return toHandOver(db).all();
}

export function applyBackfillSlice(
  db: TenantDb,
  job: BackfillRow,
  slice: {
    nextHeight: number;
    found: number;
    alreadyKnown: number;
    added: number;
    conflicts: number;
    finishedAt: number | null;
  },
): void {
  db.update(backfills)
    .set({
      status: slice.finishedAt === null ? "running" : "done",
      nextHeight: slice.nextHeight,
      found: job.found + slice.found,
      alreadyKnown: job.alreadyKnown + slice.alreadyKnown,
      added: job.added + slice.added,
      conflicts: job.conflicts + slice.conflicts,
      finishedAt: slice.finishedAt,
    })
    .where(eq(backfills.id, job.id))
    .run();
}

export function failBackfill(db: TenantDb, id: string, error: string, at: number): void {
  db.update(backfills).set({ status: "failed", error, finishedAt: at }).where(eq(backfills.id, id)).run();
}

export function toBackfillView(row: BackfillRow): BackfillView {
  return {
    id: row.id,
    network: row.network,
    from_height: row.fromHeight,
    to_height: row.toHeight,
    status: row.status,
    progress: {
      scanned_to: row.nextHeight > row.fromHeight ? row.nextHeight - 1 : null,
      of: row.toHeight - row.fromHeight + 1,
    },
    found: row.found,
    already_known: row.alreadyKnown,
    added: row.added,
    conflicts: row.conflicts,
    error: row.error,
    created_at: new Date(row.createdAt).toISOString(),
    finished_at: row.finishedAt === null ? null : new Date(row.finishedAt).toISOString(),
  };
}
