/** Extended public keys that a tenant registered, and the next index below each. */

import { and, desc, eq, lt, sql } from "drizzle-orm";
import type { TenantDb } from "./database.ts";
import { xpubs } from "./schema.ts";

export type XpubRow = typeof xpubs.$inferSelect;

export function xpubById(db: TenantDb, id: string): XpubRow | undefined {
  return db.select().from(xpubs).where(eq(xpubs.id, id)).get();
}

export function insertXpub(db: TenantDb, row: Omit<XpubRow, "seq">): void {
  db.insert(xpubs).values(row).run();
}

export function listXpubs(db: TenantDb, before: number | null, limit: number): XpubRow[] {
  return db
    .select()
    .from(xpubs)
    .where(before === null ? undefined : lt(xpubs.seq, before))
    .orderBy(desc(xpubs.seq))
    .limit(limit)
    .all();
}

/** An index was used: none up to it is handed out again. */
export function passIndex(db: TenantDb, id: string, index: number): void {
  db.update(xpubs)
    .set({ nextIndex: index + 1 })
    .where(and(eq(xpubs.id, id), sql`${xpubs.nextIndex} <= ${index}`))
    .run();
}
