/** What one endpoint is: its target, whether it is enabled, and how it fares. */

import { sql } from "drizzle-orm";
import type { SignatureScheme } from "../../core/views.ts";
import type { DisabledReason } from "../../core/webhook-schedule.ts";
import { prepared } from "../prepared.ts";
import type { EndpointDb } from "./database.ts";
import { endpoint } from "./schema.ts";

export type EndpointRow = typeof endpoint.$inferSelect;

const ONLY_ROW = 1;
const nextRevision = sql`${endpoint.revision} + 1`;
/** A moment of its own for each change, also when the clock stands or steps back. */
const changedAt = (now: number) => sql`max(${now}, ${endpoint.statusAt} + 1)`;

/** null: never configured. */
const theRow = prepared((db: EndpointDb) => db.select().from(endpoint).prepare());

export function readEndpoint(db: EndpointDb): EndpointRow | null {
  return theRow(db).get() ?? null;
}

export function insertEndpoint(
  db: EndpointDb,
  config: { tenantId: string; endpointId: string; url: string; apiVersion: string; signature: SignatureScheme },
  now: number,
): void {
  db.insert(endpoint)
    .values({ id: ONLY_ROW, ...config, status: "enabled", statusAt: now })
    .run();
}

/** What failed was another target: a new one has not failed yet. */
export function updateTarget(db: EndpointDb, target: { url: string; apiVersion: string }): void {
  const failingSince = sql`CASE WHEN ${endpoint.url} = ${target.url} THEN ${endpoint.failingSince} END`;
  db.update(endpoint).set({ url: target.url, apiVersion: target.apiVersion, failingSince }).run();
}

/** The tenant is to be told at once. */
export function disableEndpoint(db: EndpointDb, reason: DisabledReason, now: number): void {
  db.update(endpoint)
    .set({
      status: "disabled",
      disabledReason: reason,
      statusAt: changedAt(now),
      tellAt: now,
      revision: nextRevision,
    })
    .run();
}

/** At the tenant's word: there is nobody to tell. */
export function enableEndpoint(db: EndpointDb, now: number): void {
  db.update(endpoint)
    .set({
      status: "enabled",
      disabledReason: null,
      statusAt: changedAt(now),
      tellAt: null,
      revision: nextRevision,
      failingSince: null,
    })
    .run();
}

/** Something that the tenant shows has changed: it is told at once, should the answer that carries it be lost. */
export function noteNews(db: EndpointDb, now: number): void {
  db.update(endpoint).set({ revision: nextRevision, tellAt: now }).run();
}

export function setFailingSince(db: EndpointDb, failingSince: number | null): void {
  db.update(endpoint).set({ failingSince }).run();
}

export function setTellAt(db: EndpointDb, tellAt: number | null): void {
  db.update(endpoint).set({ tellAt }).run();
}
