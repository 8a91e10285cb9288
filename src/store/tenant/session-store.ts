/** Sessions by the keyed hash of their token. Each one leads to the API key that it was opened with. */

import { and, desc, eq, gt, lte, notInArray, sql } from "drizzle-orm";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import type { ApiKeyRow } from "./key-store.ts";
import { apiKeys, sessions } from "./schema.ts";

export type SessionRow = typeof sessions.$inferSelect;

const keyByHash = prepared((db: TenantDb) =>
  db
    .select({ key: apiKeys })
    .from(sessions)
    .innerJoin(apiKeys, eq(apiKeys.id, sessions.keyId))
    .where(and(eq(sessions.hash, sql.placeholder("hash")), gt(sessions.expiresAt, sql.placeholder("now"))))
    .prepare(),
);

/** The key of a session that has not expired. Whether the key itself still holds is for the caller to see. */
export function apiKeyOfSession(db: TenantDb, hash: string, now: number): ApiKeyRow | undefined {
  return keyByHash(db).get({ hash, now })?.key;
}

export function sessionByHash(db: TenantDb, hash: string): SessionRow | undefined {
  return db.select().from(sessions).where(eq(sessions.hash, hash)).get();
}

export function insertSession(db: TenantDb, row: SessionRow): void {
  db.insert(sessions).values(row).run();
}

/** Forgetting one that is not there changes nothing. */
export function deleteSession(db: TenantDb, hash: string): void {
  db.delete(sessions).where(eq(sessions.hash, hash)).run();
}

export function deleteExpiredSessions(db: TenantDb, now: number): void {
  db.delete(sessions).where(lte(sessions.expiresAt, now)).run();
}

/** Keeps the newest sessions of a key, and ends its others. */
export function keepNewestSessions(db: TenantDb, keyId: string, kept: number): void {
  const newest = db
    .select({ hash: sessions.hash })
    .from(sessions)
    .where(eq(sessions.keyId, keyId))
    .orderBy(desc(sessions.createdAt), desc(sessions.hash))
    .limit(kept);
  db.delete(sessions)
    .where(and(eq(sessions.keyId, keyId), notInArray(sessions.hash, newest)))
    .run();
}
