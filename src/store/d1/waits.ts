/**
 * Webhook endpoints that wait longer than a minute for their alarm leave a row here, so that cron finds the
 * ones whose alarm was lost without waking any that are idle. Cron takes the row away once it is due.
 */

import { withDeadline } from "./deadline.ts";

/** @param dueAt unix milliseconds by which the endpoint's object should have woken by itself. @throws StoreFault */
export async function recordEndpointWait(db: D1Database, endpointId: string, dueAt: number): Promise<void> {
  await withDeadline("record an endpoint's wait", () =>
    db
      .prepare(
        `INSERT INTO endpoint_waits (endpoint_id, due_at) VALUES (?1, ?2)
         ON CONFLICT (endpoint_id) DO UPDATE SET due_at = excluded.due_at`,
      )
      .bind(endpointId, dueAt)
      .run(),
  );
}

/** @throws StoreFault */
export async function clearEndpointWait(db: D1Database, endpointId: string, dueAt: number): Promise<void> {
  await withDeadline("clear an endpoint's wait", () =>
    db.prepare("DELETE FROM endpoint_waits WHERE endpoint_id = ?1 AND due_at = ?2").bind(endpointId, dueAt).run(),
  );
}

/** Waits that are over, oldest first. @throws StoreFault */
export async function overdueEndpointWaits(
  db: D1Database,
  now: number,
  limit: number,
): Promise<{ endpointId: string; dueAt: number }[]> {
  const answer = await withDeadline("read overdue endpoint waits", () =>
    db
      .prepare("SELECT endpoint_id, due_at FROM endpoint_waits WHERE due_at < ?1 ORDER BY due_at LIMIT ?2")
      .bind(now, limit)
      .all<{ endpoint_id: string; due_at: number }>(),
  );
  return answer.results.map((row) => ({ endpointId: row.endpoint_id, dueAt: row.due_at }));
}
