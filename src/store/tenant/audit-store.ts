/**
 * The audit log. `seq` has no gap, and the hash of a row covers the one before it: what is appended is never changed
 * or taken out. An entry is appended in the turn, and where there is one in the transaction, of what it tells of.
 */

import { and, asc, desc, eq, gt, sql } from "drizzle-orm";
import { auditGenesis, auditHash } from "../../core/audit-entry.ts";
import type { AuditEntryView } from "../../core/views.ts";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { auditLog } from "./schema.ts";

type AuditRow = typeof auditLog.$inferSelect;
export type AuditFacts = Omit<AuditRow, "seq" | "hash">;

const newest = prepared((db: TenantDb) =>
  db
    .select({ seq: auditLog.seq, hash: auditLog.hash })
    .from(auditLog)
    .orderBy(desc(auditLog.seq))
    .limit(sql.placeholder("limit"))
    .prepare(),
);

export function appendAuditEntry(db: TenantDb, tenantId: string, facts: AuditFacts): void {
  const last = newest(db).get({ limit: 1 });
  const row = { ...facts, seq: (last?.seq ?? 0) + 1, hash: "" };
  const hash = auditHash(last?.hash ?? auditGenesis(tenantId), toAuditEntryView(row));
  db.insert(auditLog)
    .values({ ...row, hash })
    .run();
}

/** Oldest first; strictly after a sequence. */
export function auditEntriesAfter(
  db: TenantDb,
  { after, call, keyId }: { readonly after: number; readonly call: string | null; readonly keyId: string | null },
  limit: number,
): AuditEntryView[] {
  return db
    .select()
    .from(auditLog)
    .where(
      and(
        gt(auditLog.seq, after),
        call === null ? undefined : eq(auditLog.call, call),
        keyId === null ? undefined : eq(auditLog.keyId, keyId),
      ),
    )
    .orderBy(asc(auditLog.seq))
    .limit(limit)
    .all()
    .map(toAuditEntryView);
}

function toAuditEntryView(row: AuditRow): AuditEntryView {
  return {
    sequence: row.seq,
    created_at: new Date(row.at).toISOString(),
    api_key_id: row.keyId,
    via: row.via,
    request_id: row.requestId,
    call: row.call,
    subject: row.subject,
    outcome: row.outcome,
    client_address: row.clientAddress,
    user_agent: row.userAgent,
    hash: row.hash,
  };
}
