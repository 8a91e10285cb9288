/** API keys by their keyed hash, and the requests that idempotency keys stand for. */

import { and, desc, eq, lt, sql } from "drizzle-orm";
import type { ApiKeyView } from "../../core/views.ts";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { apiKeys, idempotency, tenant } from "./schema.ts";
import { isWithdrawalKey } from "./withdrawal-store.ts";

export type ApiKeyRow = typeof apiKeys.$inferSelect;
export type TenantRow = typeof tenant.$inferSelect;

const theTenant = prepared((db: TenantDb) => db.select().from(tenant).limit(1).prepare());
const keyByHash = prepared((db: TenantDb) =>
  db
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.hash, sql.placeholder("hash")))
    .prepare(),
);
const requestByKey = prepared((db: TenantDb) =>
  db
    .select()
    .from(idempotency)
    .where(eq(idempotency.key, sql.placeholder("key")))
    .prepare(),
);

export function tenantRow(db: TenantDb): TenantRow | undefined {
  return theTenant(db).get();
}

export function insertTenantRow(db: TenantDb, row: TenantRow): void {
  db.insert(tenant).values(row).run();
}

export function apiKeyByHash(db: TenantDb, hash: string): ApiKeyRow | undefined {
  return keyByHash(db).get({ hash });
}

export function apiKeyById(db: TenantDb, id: string): ApiKeyRow | undefined {
  return db.select().from(apiKeys).where(eq(apiKeys.id, id)).get();
}

/** The first key of the line of rotations a key stands in: all of them are one hand. */
export function originOfKey(db: TenantDb, id: string): string {
  return apiKeyById(db, id)?.originId ?? id;
}

export function insertApiKey(db: TenantDb, row: Omit<ApiKeyRow, "seq">): void {
  db.insert(apiKeys).values(row).run();
}

export function endApiKey(db: TenantDb, id: string, end: { revokedAt: number } | { replacedAt: number }): void {
  db.update(apiKeys).set(end).where(eq(apiKeys.id, id)).run();
}

export function listApiKeys(db: TenantDb, before: number | null, limit: number): ApiKeyRow[] {
  return db
    .select()
    .from(apiKeys)
    .where(before === null ? undefined : lt(apiKeys.seq, before))
    .orderBy(desc(apiKeys.seq))
    .limit(limit)
    .all();
}

/** The moment a key ends by itself: as it was made, or earlier since another took its place. Unix milliseconds. */
export function endOf(row: Pick<ApiKeyRow, "expiresAt" | "replacedAt">): number | null {
  const ends = [row.expiresAt, row.replacedAt].filter((at) => at !== null);
  return ends.length === 0 ? null : Math.min(...ends);
}

export function toApiKeyView(row: Omit<ApiKeyRow, "seq">): ApiKeyView {
  return {
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    created_at: new Date(row.createdAt).toISOString(),
    expires_at: isoOrNull(endOf(row)),
    revoked_at: isoOrNull(row.revokedAt),
  };
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

export type KeyUse =
  | { readonly kind: "fresh" }
  | { readonly kind: "replay"; readonly objectId: string }
  | { readonly kind: "other_request" };

/** What an idempotency key already stands for. Without a key every request is fresh. */
export function useOfKey(db: TenantDb, use: { key: string; fingerprint: string } | null): KeyUse {
  if (use === null) return { kind: "fresh" };
  const row = requestByKey(db).get({ key: use.key });
  if (row === undefined) return isWithdrawalKey(db, use.key) ? { kind: "other_request" } : { kind: "fresh" };
  return row.fingerprint === use.fingerprint ? { kind: "replay", objectId: row.objectId } : { kind: "other_request" };
}

/** Lets go of a key whose request was refused after all. */
export function unbindKey(db: TenantDb, use: { key: string } | null, objectId: string): void {
  if (use === null) return;
  db.delete(idempotency)
    .where(and(eq(idempotency.key, use.key), eq(idempotency.objectId, objectId)))
    .run();
}

/** Binds a key to the object its request made, in the commit that made it. */
export function bindKey(db: TenantDb, use: { key: string; fingerprint: string } | null, objectId: string): void {
  if (use === null) return;
  db.insert(idempotency).values({ key: use.key, fingerprint: use.fingerprint, objectId }).run();
}
