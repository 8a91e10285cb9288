/**
 * What one endpoint is: its target, whether it is enabled, and the secrets that sign.
 *
 * The newest secret has no end; every older one has.
 */

import { and, desc, eq, gt, isNull, lte, or, sql } from "drizzle-orm";
import { prepared } from "../prepared.ts";
import type { EndpointDb } from "./database.ts";
import { endpoint, secrets } from "./schema.ts";

export type EndpointRow = typeof endpoint.$inferSelect;

const ONLY_ROW = 1;
/** Signatures in one header. Rotating more often than this within an overlap ends the oldest early. */
const MAX_SIGNING_SECRETS = 5;
/** How long the secret of an ended one is kept, so that its repeated request finds it. */
const SECRET_MEMORY_MS = 24 * 3_600_000;

/** null: never configured. */
const theRow = prepared((db: EndpointDb) => db.select().from(endpoint).prepare());

export function readEndpoint(db: EndpointDb): EndpointRow | null {
  return theRow(db).get() ?? null;
}

export function insertEndpoint(
  db: EndpointDb,
  config: { tenantId: string; endpointId: string; url: string; apiVersion: string },
  now: number,
): void {
  db.insert(endpoint)
    .values({ id: ONLY_ROW, ...config, status: "enabled", statusAt: now })
    .run();
}

export function updateTarget(db: EndpointDb, target: { url: string; apiVersion: string }): void {
  db.update(endpoint).set({ url: target.url, apiVersion: target.apiVersion }).run();
}

/** The tenant is to be told at once. */
export function disableEndpoint(db: EndpointDb, reason: string, now: number): void {
  db.update(endpoint).set({ status: "disabled", disabledReason: reason, statusAt: now, tellAt: now }).run();
}

/** At the tenant's word: there is nobody to tell. */
export function enableEndpoint(db: EndpointDb, now: number): void {
  db.update(endpoint).set({ status: "enabled", disabledReason: null, statusAt: now, tellAt: null }).run();
}

export function setTellAt(db: EndpointDb, tellAt: number | null): void {
  db.update(endpoint).set({ tellAt }).run();
}

const validSecrets = prepared((db: EndpointDb) =>
  db
    .select({ secret: secrets.secret })
    .from(secrets)
    .where(or(isNull(secrets.endsAt), gt(secrets.endsAt, sql.placeholder("now"))))
    .orderBy(desc(secrets.n))
    .limit(MAX_SIGNING_SECRETS)
    .prepare(),
);

/** Newest first. */
export function signingSecrets(db: EndpointDb, now: number): string[] {
  return validSecrets(db)
    .all({ now })
    .map((row) => row.secret);
}

/** The secret that this request made, if it was here before. */
export function secretOfRequest(db: EndpointDb, requestId: string): string | null {
  return db.select().from(secrets).where(eq(secrets.requestId, requestId)).get()?.secret ?? null;
}

/** @param oldEndAt unix ms; every secret from before stops then, or earlier when it was ending already. */
export function replaceSecret(db: EndpointDb, secret: string, requestId: string, oldEndAt: number, now: number): void {
  db.delete(secrets)
    .where(and(sql`${secrets.endsAt} IS NOT NULL`, lte(secrets.endsAt, now - SECRET_MEMORY_MS)))
    .run();
  db.update(secrets)
    .set({ endsAt: oldEndAt })
    .where(or(isNull(secrets.endsAt), gt(secrets.endsAt, oldEndAt)))
    .run();
  db.insert(secrets).values({ secret, requestId }).run();
}
