/** A tenant's watched addresses. Deleted ones stay as rows: payments inside the window still name them. */

import { and, desc, eq, isNotNull, isNull, lt, type SQL, sql } from "drizzle-orm";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { addresses } from "./schema.ts";

export type AddressRow = typeof addresses.$inferSelect;

/** Of one round. */
const MAX_RELEASES = 50;
const ADDRESSES_PER_STATEMENT = 2_000;

const toRelease = prepared((db: TenantDb) =>
  db.select().from(addresses).where(sql`release_pending = 1`).limit(MAX_RELEASES).prepare(),
);
const inForce = prepared((db: TenantDb) =>
  db
    .select()
    .from(addresses)
    .where(
      and(
        eq(addresses.address, sql.placeholder("address")),
        eq(addresses.network, sql.placeholder("network")),
        isNull(addresses.deletedAt),
      ),
    )
    .prepare(),
);

/** The row in force, whether or not the scanner has taken the watch yet. */
export function activeAddress(db: TenantDb, network: string, address: string): AddressRow | undefined {
  return inForce(db).get({ address, network });
}

/**
 * The account an address stands for: the row in force, or the last one that was.
 * @throws when the address was never this tenant's: the scanner must not hand over such a payment
 */
export function accountOfAddress(db: TenantDb, network: string, address: string): string {
  const row = db
    .select({ account: addresses.account })
    .from(addresses)
    .where(and(eq(addresses.address, address), eq(addresses.network, network)))
    .orderBy(desc(addresses.seq))
    .limit(1)
    .get();
  if (row === undefined)
    throw new Error(`a payment to ${address} on ${network} was handed over, but it is not watched`);
  return row.account;
}

/** As `accountOfAddress`, for many: those of them that are known. */
export function accountsOfAddresses(db: TenantDb, network: string, list: readonly string[]): Map<string, string> {
  const accounts = new Map<string, string>();
  for (let i = 0; i < list.length; i += ADDRESSES_PER_STATEMENT) {
    const chunk = JSON.stringify(list.slice(i, i + ADDRESSES_PER_STATEMENT));
    const rows = db
      .select({ address: addresses.address, account: addresses.account })
      .from(addresses)
      .where(and(sql`${addresses.address} IN (SELECT value FROM json_each(${chunk}))`, eq(addresses.network, network)))
      .orderBy(addresses.seq)
      .all();
    // Ascending: the last one that was in force stays.
    for (const row of rows) accounts.set(row.address, row.account);
  }
  return accounts;
}

/** Also one that was deleted, and one whose watch is not taken yet. */
export function addressByIdEver(db: TenantDb, id: string): AddressRow | undefined {
  return db.select().from(addresses).where(eq(addresses.id, id)).get();
}

/** Whether an address is, or at any time was, one of this tenant's. */
export function wasEverWatched(db: TenantDb, network: string, address: string): boolean {
  const row = db
    .select({ id: addresses.id })
    .from(addresses)
    .where(and(eq(addresses.address, address), eq(addresses.network, network)))
    .limit(1)
    .get();
  return row !== undefined;
}

export function addressById(db: TenantDb, id: string): AddressRow | undefined {
  return db
    .select()
    .from(addresses)
    .where(and(eq(addresses.id, id), isNull(addresses.deletedAt), isNotNull(addresses.watchedFrom)))
    .get();
}

export function listAddresses(
  db: TenantDb,
  filter: { network?: string; account?: string },
  before: number | null,
  limit: number,
): AddressRow[] {
  const conditions: SQL[] = [isNull(addresses.deletedAt), isNotNull(addresses.watchedFrom)];
  if (filter.network !== undefined) conditions.push(eq(addresses.network, filter.network));
  if (filter.account !== undefined) conditions.push(eq(addresses.account, filter.account));
  if (before !== null) conditions.push(lt(addresses.seq, before));
  return db
    .select()
    .from(addresses)
    .where(and(...conditions))
    .orderBy(sql`seq DESC`)
    .limit(limit)
    .all();
}

export function insertAddress(db: TenantDb, row: Omit<AddressRow, "seq">): void {
  db.insert(addresses).values(row).run();
}

/** A try that broke off before anybody saw its row: the next request says what it stands for. */
export function updateDetails(
  db: TenantDb,
  id: string,
  details: Pick<AddressRow, "account" | "label" | "metadata">,
): void {
  db.update(addresses)
    .set(details)
    .where(and(eq(addresses.id, id), isNull(addresses.watchedFrom)))
    .run();
}

export function setWatchedFrom(db: TenantDb, id: string, watchedFrom: number): void {
  db.update(addresses)
    .set({ watchedFrom })
    .where(and(eq(addresses.id, id), isNull(addresses.watchedFrom)))
    .run();
}

export function markDeleted(db: TenantDb, id: string, at: number): void {
  db.update(addresses).set({ deletedAt: at, releasePending: 1 }).where(eq(addresses.id, id)).run();
}

export function markReleased(db: TenantDb, id: string): void {
  db.update(addresses).set({ releasePending: 0 }).where(eq(addresses.id, id)).run();
}

/** Deleted rows of one address whose watch and claim are still to be given back. */
export function releasesOf(db: TenantDb, network: string, address: string): AddressRow[] {
  return db
    .select()
    .from(addresses)
    .where(and(eq(addresses.address, address), eq(addresses.network, network), eq(addresses.releasePending, 1)))
    .all();
}

export function addressesToRelease(db: TenantDb): AddressRow[] {
  return toRelease(db).all();
}
