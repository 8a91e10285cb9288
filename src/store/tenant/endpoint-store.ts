/** A tenant's webhook endpoints, and up to which event each one's object was handed the log. */

import { and, desc, eq, isNull, lt, sql } from "drizzle-orm";
import type { EndpointView } from "../../core/views.ts";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { endpoints } from "./schema.ts";

export type EndpointRow = typeof endpoints.$inferSelect;

const behind = prepared((db: TenantDb) =>
  db
    .select()
    .from(endpoints)
    .where(and(isNull(endpoints.deletedAt), lt(endpoints.handedTo, sql.placeholder("sequence"))))
    .prepare(),
);
const byId = prepared((db: TenantDb) =>
  db
    .select()
    .from(endpoints)
    .where(and(eq(endpoints.id, sql.placeholder("id")), isNull(endpoints.deletedAt)))
    .prepare(),
);
const toClose = prepared((db: TenantDb) => db.select().from(endpoints).where(eq(endpoints.closePending, 1)).prepare());

const toConfigure = prepared((db: TenantDb) =>
  db
    .select()
    .from(endpoints)
    .where(and(isNull(endpoints.deletedAt), eq(endpoints.configurePending, 1)))
    .prepare(),
);

export function endpointById(db: TenantDb, id: string): EndpointRow | undefined {
  return byId(db).get({ id });
}

export function countEndpoints(db: TenantDb): number {
  return db.select({ n: sql<number>`count(*)` }).from(endpoints).where(isNull(endpoints.deletedAt)).get()?.n ?? 0;
}

export function listEndpoints(db: TenantDb, before: number | null, limit: number): EndpointRow[] {
  return db
    .select()
    .from(endpoints)
    .where(and(isNull(endpoints.deletedAt), before === null ? undefined : lt(endpoints.seq, before)))
    .orderBy(desc(endpoints.seq))
    .limit(limit)
    .all();
}

/** Endpoints whose objects lack events up to `sequence`. */
export function endpointsBehind(db: TenantDb, sequence: number): EndpointRow[] {
  return behind(db).all({ sequence });
}

export function insertEndpoint(db: TenantDb, row: Omit<EndpointRow, "seq">): void {
  db.insert(endpoints).values(row).run();
}

export function updateEndpoint(db: TenantDb, id: string, set: Partial<Omit<EndpointRow, "seq" | "id">>): void {
  if (Object.keys(set).length > 0) db.update(endpoints).set(set).where(eq(endpoints.id, id)).run();
}

/** Moves the mark forward, never back. */
export function markHanded(db: TenantDb, id: string, sequence: number): void {
  db.update(endpoints)
    .set({ handedTo: sequence })
    .where(and(eq(endpoints.id, id), lt(endpoints.handedTo, sequence)))
    .run();
}

export function endpointsToClose(db: TenantDb): EndpointRow[] {
  return toClose(db).all();
}

export function endpointsToConfigure(db: TenantDb): EndpointRow[] {
  return toConfigure(db).all();
}

export function toEndpointView(row: Omit<EndpointRow, "seq">): EndpointView {
  return {
    id: row.id,
    url: row.url,
    events: row.events,
    description: row.description,
    signature: row.signature,
    public_key: row.publicKey,
    api_version: row.apiVersion,
    status: row.status,
    disabled_reason: row.disabledReason,
    disabled_at: row.disabledAt === null ? null : new Date(row.disabledAt).toISOString(),
    created_at: new Date(row.createdAt).toISOString(),
  };
}
