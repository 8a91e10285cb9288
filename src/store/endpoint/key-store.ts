/** What signs an endpoint's deliveries. The newest key has no end; every older one has. */

import { and, desc, eq, gt, isNull, lte, or, sql } from "drizzle-orm";
import { prepared } from "../prepared.ts";
import type { EndpointDb } from "./database.ts";
import { secrets } from "./schema.ts";

export type KeyRow = typeof secrets.$inferSelect;
export type NewKeyRow = Pick<KeyRow, "secret" | "keyVersion" | "publicKey">;

/** Signatures in one header. Rotating more often than this within an overlap ends the oldest early. */
const MAX_SIGNING_KEYS = 5;
/** How long an ended key is kept, so that the repeated request that made it finds it. */
const KEY_MEMORY_MS = 24 * 3_600_000;

const validKeys = prepared((db: EndpointDb) =>
  db
    .select()
    .from(secrets)
    .where(or(isNull(secrets.endsAt), gt(secrets.endsAt, sql.placeholder("now"))))
    .orderBy(desc(secrets.n))
    .limit(MAX_SIGNING_KEYS)
    .prepare(),
);

/** Newest first. */
export function signingKeys(db: EndpointDb, now: number): KeyRow[] {
  return validKeys(db).all({ now });
}

/** Of the newest key; null when both sides have the secret. */
export function publicKeyOf(db: EndpointDb): string | null {
  return db.select().from(secrets).where(isNull(secrets.endsAt)).get()?.publicKey ?? null;
}

/** The key that this request made, if it was here before. */
export function keyOfRequest(db: EndpointDb, requestId: string): KeyRow | undefined {
  return db.select().from(secrets).where(eq(secrets.requestId, requestId)).get();
}

/** @param oldEndAt unix ms; every key from before stops then, or earlier when it was ending already. */
export function replaceKey(db: EndpointDb, key: NewKeyRow, requestId: string, oldEndAt: number, now: number): void {
  db.delete(secrets)
    .where(and(sql`${secrets.endsAt} IS NOT NULL`, lte(secrets.endsAt, now - KEY_MEMORY_MS)))
    .run();
  db.update(secrets)
    .set({ endsAt: oldEndAt })
    .where(or(isNull(secrets.endsAt), gt(secrets.endsAt, oldEndAt)))
    .run();
  db.insert(secrets)
    .values({ ...key, requestId })
    .run();
}

/** The same secret, sealed anew. One that was changed meanwhile stays as it is. */
export function resealKey(
  db: EndpointDb,
  before: Pick<KeyRow, "n" | "secret">,
  sealed: { readonly text: string; readonly keyVersion: string },
): void {
  db.update(secrets)
    .set({ secret: sealed.text, keyVersion: sealed.keyVersion })
    .where(and(eq(secrets.n, before.n), eq(secrets.secret, before.secret)))
    .run();
}
