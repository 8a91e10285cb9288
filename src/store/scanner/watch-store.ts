/**
 * Whose payments count: tenants, the addresses they own over which heights, and the tokens they listed.
 * Ten million addresses stay in SQLite; a reading asks about all its receivers in one statement.
 */

import { and, eq, gt, gte, isNotNull, isNull, lt, lte, type SQL, sql } from "drizzle-orm";
import { prepared } from "../prepared.ts";
import type { ScannerDb } from "./database.ts";
import { addresses, tenants, tokens } from "./schema.ts";

export type TenantMark = typeof tenants.$inferSelect;
export type WatchRow = typeof addresses.$inferSelect;

const ADDRESSES_PER_STATEMENT = 5_000;

// Spelt out, not bound: a partial index serves only a condition it can see.
const IS_DIRTY = sql`dirty = 1`;

export function tenantByIdOrNew(db: ScannerDb, tenantId: string, windowFrom: number): TenantMark {
  const known = db.select().from(tenants).where(eq(tenants.tenantId, tenantId)).get();
  if (known !== undefined) return known;
  return db
    .insert(tenants)
    .values({ tenantId, ackedVersion: null, dirty: 0, keptFrom: windowFrom, nextHeight: null, nextFinalized: null })
    .returning()
    .get();
}

export function tenantByNumber(db: ScannerDb, n: number): TenantMark | undefined {
  return db.select().from(tenants).where(eq(tenants.n, n)).get();
}

export function tenantById(db: ScannerDb, tenantId: string): TenantMark | undefined {
  return db.select().from(tenants).where(eq(tenants.tenantId, tenantId)).get();
}

/**
 * Something changed for these tenants: they hear of it, and what they must hear is kept from here on.
 * @param changedFrom no addition of this change lies lower
 */
export function markDirty(db: ScannerDb, numbers: ReadonlySet<number>, windowFrom: number, changedFrom: number): void {
  const isOne = sql`${tenants.n} IN (SELECT value FROM json_each(${JSON.stringify([...numbers])}))`;
  db.update(tenants)
    .set({ changedFrom })
    .where(and(IS_DIRTY, gt(tenants.changedFrom, changedFrom), isOne))
    .run();
  db.update(tenants)
    .set({ dirty: 1, keptFrom: windowFrom, changedFrom })
    .where(and(eq(tenants.dirty, 0), isOne))
    .run();
}

const mayHear = lte(tenants.retryAt, sql.placeholder("now"));
const hearing = (condition: SQL) =>
  prepared((db: ScannerDb) =>
    db.select().from(tenants).where(and(condition, mayHear)).limit(sql.placeholder("limit")).prepare(),
  );
const dirtyOnes = hearing(IS_DIRTY);
const dueByHeight = hearing(lte(tenants.nextHeight, sql.placeholder("scannedTo")));
const dueByFinality = hearing(lte(tenants.nextFinalized, sql.placeholder("finalized")));

/** Tenants that must be called at this head and finalized height, and may be now. Each question has its own index. */
export function tenantsToHear(
  db: ScannerDb,
  at: { readonly scannedTo: number; readonly finalized: number; readonly now: number },
  limit: number,
): TenantMark[] {
  const values = { ...at, limit };
  const found = [dirtyOnes, dueByHeight, dueByFinality].flatMap((marks) => marks(db).all(values));
  return [...new Map(found.map((mark) => [mark.n, mark])).values()].slice(0, limit);
}

export function updateTenant(db: ScannerDb, n: number, set: Partial<Omit<TenantMark, "n" | "tenantId">>): void {
  db.update(tenants).set(set).where(eq(tenants.n, n)).run();
}

/** Every tenant needs the whole from a height on, and whoever is owed more, from where it fell behind. */
export function forgetAcknowledgements(db: ScannerDb, from: number): void {
  const keptFrom = sql`CASE WHEN dirty = 1 THEN min(kept_from, ${from}) ELSE ${from} END`;
  db.update(tenants).set({ ackedVersion: null, dirty: 1, keptFrom }).run();
}

export function tenantsWithWatches(db: ScannerDb): number[] {
  return db
    .selectDistinct({ tenant: addresses.tenant })
    .from(addresses)
    .where(isNull(addresses.untilHeight))
    .all()
    .map((row) => row.tenant);
}

/** Which of these are watched by anybody, over any heights. With a tenant: by it, and still. */
export function watchedAmong(db: ScannerDb, candidates: ReadonlySet<string>, tenant: number | null): Set<string> {
  const found = new Set<string>();
  const all = [...candidates];
  for (let i = 0; i < all.length; i += ADDRESSES_PER_STATEMENT) {
    const list = JSON.stringify(all.slice(i, i + ADDRESSES_PER_STATEMENT));
    const rows = db
      .selectDistinct({ address: addresses.address })
      .from(addresses)
      .where(
        and(
          sql`${addresses.address} IN (SELECT value FROM json_each(${list}))`,
          tenant === null ? undefined : and(eq(addresses.tenant, tenant), isNull(addresses.untilHeight)),
        ),
      )
      .all();
    for (const row of rows) found.add(row.address);
  }
  return found;
}

/** The intervals of these addresses. */
export function intervalsOf(db: ScannerDb, candidates: ReadonlySet<string>): Map<string, WatchRow[]> {
  const byAddress = new Map<string, WatchRow[]>();
  const all = [...candidates];
  for (let i = 0; i < all.length; i += ADDRESSES_PER_STATEMENT) {
    const list = JSON.stringify(all.slice(i, i + ADDRESSES_PER_STATEMENT));
    const rows = db
      .select()
      .from(addresses)
      .where(sql`${addresses.address} IN (SELECT value FROM json_each(${list}))`)
      .all();
    for (const row of rows) byAddress.set(row.address, [...(byAddress.get(row.address) ?? []), row]);
  }
  return byAddress;
}

export function insertWatch(db: ScannerDb, row: WatchRow): void {
  db.insert(addresses).values(row).run();
}

export function deleteWatch(db: ScannerDb, address: string, fromHeight: number): void {
  db.delete(addresses)
    .where(and(eq(addresses.address, address), eq(addresses.fromHeight, fromHeight)))
    .run();
}

export function setUntil(db: ScannerDb, address: string, fromHeight: number, untilHeight: number | null): void {
  db.update(addresses)
    .set({ untilHeight })
    .where(and(eq(addresses.address, address), eq(addresses.fromHeight, fromHeight)))
    .run();
}

/** Watches that ended below the window can no longer meet a payment. @returns how many were let go */
export function pruneWatches(db: ScannerDb, windowFrom: number): number {
  return db
    .delete(addresses)
    .where(and(isNotNull(addresses.untilHeight), lt(addresses.untilHeight, windowFrom)))
    .returning({ address: addresses.address })
    .all().length;
}

const anyWatch = (condition: SQL) =>
  prepared((db: ScannerDb) =>
    db.select({ address: addresses.address }).from(addresses).where(condition).limit(1).prepare(),
  );
const anyOpenWatch = anyWatch(isNull(addresses.untilHeight));
const anyWatchUntil = anyWatch(gte(addresses.untilHeight, sql.placeholder("height")));

/** Whether any address still counts at this height or above. */
export function hasWatches(db: ScannerDb, height: number): boolean {
  return anyOpenWatch(db).get() !== undefined || anyWatchUntil(db).get({ height }) !== undefined;
}

/** Whether any tenant is to be called at a finalized height. */
export function anyoneWaitsForFinality(db: ScannerDb): boolean {
  return db.select({ n: tenants.n }).from(tenants).where(isNotNull(tenants.nextFinalized)).limit(1).get() !== undefined;
}

export function anyoneWaits(db: ScannerDb): boolean {
  const read = (condition: SQL) => db.select({ n: tenants.n }).from(tenants).where(condition).limit(1).get();
  return [IS_DIRTY, isNotNull(tenants.nextHeight), isNotNull(tenants.nextFinalized)].some((c) => read(c) !== undefined);
}

export function insertToken(db: ScannerDb, contract: string, tenant: number): void {
  db.insert(tokens).values({ contract, tenant }).onConflictDoNothing().run();
}

/** Contract to the tenants that listed it. */
export function listedTokens(db: ScannerDb): Map<string, Set<number>> {
  const listed = new Map<string, Set<number>>();
  for (const row of db.select().from(tokens).all()) {
    const numbers = listed.get(row.contract) ?? new Set();
    listed.set(row.contract, numbers.add(row.tenant));
  }
  return listed;
}
