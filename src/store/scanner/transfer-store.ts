/** Payments on the best chain, and keys taken off it, for as long as a tenant may still have to hear of them. */

import { and, eq, gt, lt, lte, sql } from "drizzle-orm";
import { unitsFromText } from "../../core/amount.ts";
import { isInternal, type Transfer, type TransferKey, UNMINED } from "../../core/transfer.ts";
import { insertAll } from "../insert-all.ts";
import type { ScannerDb } from "./database.ts";
import { removals, tenants, transfers } from "./schema.ts";

const KEYS_PER_STATEMENT = 2_000;

export interface OwnedTransfer extends Transfer {
  readonly tenant: number;
  /** Time stamp of the block, unix seconds; 0 while it waits to be mined. */
  readonly timestamp: number;
}

export function insertTransfers(db: ScannerDb, list: readonly OwnedTransfer[], version: number): void {
  insertAll(
    db,
    transfers,
    list.map((t) => ({
      height: t.height,
      txId: t.txId,
      transferIndex: t.transferIndex,
      tenant: t.tenant,
      address: t.address,
      asset: t.asset,
      amountUnits: t.amountUnits.toString(),
      blockHash: t.blockHash,
      timestampS: t.timestamp,
      addedVersion: version,
      leastDepth: t.leastDepth ?? 1,
      memo: t.memo ?? null,
    })),
  );
}

/** Takes every transfer above a height off the best chain and gives them back. Those that wait stay. */
export function takeTransfersAbove(db: ScannerDb, height: number): OwnedTransfer[] {
  return db.delete(transfers).where(minedAbove(height)).returning().all().map(toOwned);
}

export function countTransfers(db: ScannerDb): number {
  return db.select({ n: sql<number>`count(*)` }).from(transfers).get()?.n ?? 0;
}

/** Payments that wait to be mined. */
export function unminedTransfers(db: ScannerDb): OwnedTransfer[] {
  return transfersAt(db, UNMINED);
}

export function hasUnmined(db: ScannerDb): boolean {
  const one = db.select({ height: transfers.height }).from(transfers).where(eq(transfers.height, UNMINED)).limit(1);
  return one.get() !== undefined;
}

/** Takes those of these keys that wait from where they wait, and gives them back. */
export function takeUnmined(db: ScannerDb, keys: readonly TransferKey[]): OwnedTransfer[] {
  return inChunks(keys, (list) =>
    db
      .delete(transfers)
      .where(and(eq(transfers.height, UNMINED), keyIn(list)))
      .returning()
      .all()
      .map(toOwned),
  );
}

/** Which of these keys are in a block that is kept here. A walk over the window: asked only about keys that are new. */
export function minedAmong(db: ScannerDb, keys: readonly TransferKey[]): TransferKey[] {
  return inChunks(keys, (list) =>
    db
      .select({ txId: transfers.txId, transferIndex: transfers.transferIndex })
      .from(transfers)
      .where(and(lt(transfers.height, UNMINED), keyIn(list)))
      .all(),
  );
}

/** Tells the tenants of these, which were taken, that they are gone. */
export function insertRemovals(db: ScannerDb, list: readonly OwnedTransfer[], version: number): void {
  for (const { tenant, txId, transferIndex, height } of list) {
    const wasUnmined = height === UNMINED ? 1 : 0;
    db.insert(removals).values({ tenant, version, txId, transferIndex, wasUnmined }).run();
  }
}

export function deleteTransfer(db: ScannerDb, transfer: Pick<Transfer, "height" | "txId" | "transferIndex">): void {
  db.delete(transfers)
    .where(
      and(
        eq(transfers.height, transfer.height),
        eq(transfers.txId, transfer.txId),
        eq(transfers.transferIndex, transfer.transferIndex),
      ),
    )
    .run();
}

/** What was added for a tenant after a version, in chain order. */
export function addedSince(db: ScannerDb, tenant: number, version: number): OwnedTransfer[] {
  return db
    .select()
    .from(transfers)
    .where(and(eq(transfers.tenant, tenant), gt(transfers.addedVersion, version)))
    .orderBy(transfers.height)
    .all()
    .map(toOwned);
}

export function removedSince(
  db: ScannerDb,
  tenant: number,
  version: number,
): (TransferKey & { readonly wasUnmined: boolean })[] {
  return db
    .select({ txId: removals.txId, transferIndex: removals.transferIndex, wasUnmined: removals.wasUnmined })
    .from(removals)
    .where(and(eq(removals.tenant, tenant), gt(removals.version, version)))
    .all()
    .map((row) => ({ ...row, wasUnmined: row.wasUnmined === 1 }));
}

export function hasChangesSince(db: ScannerDb, tenant: number, version: number): boolean {
  const added = db
    .select({ height: transfers.height })
    .from(transfers)
    .where(and(eq(transfers.tenant, tenant), gt(transfers.addedVersion, version)))
    .limit(1)
    .get();
  return added !== undefined || removedSince(db, tenant, version).length > 0;
}

/** Transfers whose claim in D1 is still to be made. A walk over the window: done at a start, not at each poll. */
export function unclaimedSince(db: ScannerDb, version: number): OwnedTransfer[] {
  return db.select().from(transfers).where(gt(transfers.addedVersion, version)).all().map(toOwned);
}

export function transfersAt(db: ScannerDb, height: number): OwnedTransfer[] {
  return db.select().from(transfers).where(eq(transfers.height, height)).all().map(toOwned);
}

/** Whether a payment above this height is known from a trace alone. */
export function holdsInternalAbove(db: ScannerDb, height: number): boolean {
  const above = db
    .select({ txId: transfers.txId, transferIndex: transfers.transferIndex })
    .from(transfers)
    .where(minedAbove(height))
    .all();
  return above.some(isInternal);
}

export function forgetRemovals(db: ScannerDb, tenant: number, upTo: number): void {
  db.delete(removals)
    .where(and(eq(removals.tenant, tenant), lte(removals.version, upTo)))
    .run();
}

/** Lets go of final transfers, except of tenants that have not acknowledged them. */
export function pruneTransfers(db: ScannerDb, windowFrom: number): void {
  const waiting = db.select({ n: tenants.n }).from(tenants).where(eq(tenants.dirty, 1));
  db.delete(transfers)
    .where(and(lt(transfers.height, windowFrom), sql`${transfers.tenant} NOT IN ${waiting}`))
    .run();
}

function toOwned(row: typeof transfers.$inferSelect): OwnedTransfer {
  return {
    txId: row.txId,
    transferIndex: row.transferIndex,
    address: row.address,
    asset: row.asset,
    amountUnits: unitsFromText(row.amountUnits),
    height: row.height,
    blockHash: row.blockHash,
    tenant: row.tenant,
    timestamp: row.timestampS,
    leastDepth: row.leastDepth,
    ...(row.memo === null ? {} : { memo: row.memo }),
  };
}

function minedAbove(height: number) {
  return and(gt(transfers.height, height), lt(transfers.height, UNMINED));
}

/** @param list keys as `inChunks` gives them */
function keyIn(list: string) {
  return sql`(${transfers.txId}, ${transfers.transferIndex}) IN
    (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(${list}))`;
}

/** Keys as one JSON text a statement. */
function inChunks<T>(keys: readonly TransferKey[], read: (list: string) => T[]): T[] {
  const found: T[] = [];
  for (let i = 0; i < keys.length; i += KEYS_PER_STATEMENT) {
    const chunk = keys.slice(i, i + KEYS_PER_STATEMENT);
    found.push(...read(JSON.stringify(chunk.map((key) => [key.txId, key.transferIndex]))));
  }
  return found;
}
