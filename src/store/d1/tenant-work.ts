/**
 * Tenants with withdrawals under way leave a row here, so that cron finds the ones whose alarm was lost
 * without waking any that are idle. Cron takes the row away when the tenant says that nothing is left.
 */

import { withDeadline } from "./deadline.ts";

export interface TenantWork {
  readonly tenantId: string;
  readonly dueAt: number;
}

/** Tenants to be looked after, longest due first. @throws StoreFault */
export async function overdueTenantWork(db: D1Database, now: number, limit: number): Promise<TenantWork[]> {
  const answer = await withDeadline("read overdue tenants", () =>
    db
      .prepare("SELECT tenant_id, due_at FROM tenant_work WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2")
      .bind(now, limit)
      .all<{ tenant_id: string; due_at: number }>(),
  );
  return answer.results.map((row) => ({ tenantId: row.tenant_id, dueAt: row.due_at }));
}

/** Cron looks in at that moment at the latest, also at a tenant that has nothing else under way. @throws StoreFault */
export async function listTenantWork(db: D1Database, tenantId: string, dueAt: number): Promise<void> {
  await withDeadline("list a tenant for cron", () =>
    db
      .prepare(
        // Touched, so that cron's removal of a row it saw before misses it.
        `INSERT INTO tenant_work (tenant_id, due_at, unresolved, mismatches) VALUES (?1, ?2, 0, 0)
         ON CONFLICT (tenant_id) DO UPDATE SET due_at = min(due_at + 1, excluded.due_at)`,
      )
      .bind(tenantId, dueAt)
      .run(),
  );
}

/** @throws StoreFault */
export async function postponeTenantWork(db: D1Database, tenantId: string, dueAt: number): Promise<void> {
  await withDeadline("postpone a tenant's next look", () =>
    db.prepare("UPDATE tenant_work SET due_at = ?2 WHERE tenant_id = ?1").bind(tenantId, dueAt).run(),
  );
}

/** Takes away exactly the row that was seen: a withdrawal asked for meanwhile has touched it. @throws StoreFault */
export async function clearTenantWork(db: D1Database, seen: TenantWork): Promise<void> {
  await withDeadline("clear a tenant's next look", () =>
    db.prepare("DELETE FROM tenant_work WHERE tenant_id = ?1 AND due_at = ?2").bind(seen.tenantId, seen.dueAt).run(),
  );
}
