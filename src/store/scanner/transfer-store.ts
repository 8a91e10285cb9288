/**
 * Payments on the best chain and payments that wait to be mined, and keys taken off either, for as long as a tenant may
 * still have to hear of them. Those on the chain are in payment-store.ts, by block; this file makes one of both.
 */

import { and, eq, gt, lte, sql } from "drizzle-orm";
import { unitsFromText } from "../../core/amount.ts";
import { isInternal, type TransferKey, UNMINED } from "../../core/transfer.ts";
import { insertAll } from "../insert-all.ts";
import type { ScannerDb } from "./database.ts";
import {
  allMinedSince,
  countMined,
  deleteMined,
  hasMinedSince,
  insertMined,
  minedAbove,
  minedAt,
  minedIn,
  minedSince,
  type OwnedTransfer,
  pruneMined,
  takeMinedAbove,
} from "./payment-store.ts";
import { removals, transfers } from "./schema.ts";

export type { OwnedTransfer };

const KEYS_PER_STATEMENT = 2_000;

export function insertTransfers(db: ScannerDb, list: readonly OwnedTransfer[], version: number): void {
  const [waiting, mined] = [list.filter(isUnmined), list.filter((t) => !isUnmined(t))];
  insertMined(db, mined, version);
  insertAll(
    db,
    transfers,
    waiting.map((t) => ({
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

function isUnmined({ height }: OwnedTransfer): boolean {
  return height === UNMINED;
}

/** Takes every transfer above a height off the best chain and gives them back. Those that wait stay. */
export function takeTransfersAbove(db: ScannerDb, height: number): OwnedTransfer[] {
  return takeMinedAbove(db, height);
}

/** What is kept of the best chain, and what waits. */
export function countTransfers(db: ScannerDb): number {
  return countMined(db) + (db.select({ n: sql<number>`count(*)` }).from(transfers).get()?.n ?? 0);
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
  return inChunks(keys, (list) => minedIn(db, list));
}

/** Tells the tenants of these, which were taken, that they are gone. */
export function insertRemovals(db: ScannerDb, list: readonly OwnedTransfer[], version: number): void {
  for (const { tenant, txId, transferIndex, height } of list) {
    const wasUnmined = height === UNMINED ? 1 : 0;
    db.insert(removals).values({ tenant, version, txId, transferIndex, wasUnmined }).run();
  }
}

export function deleteTransfer(
  db: ScannerDb,
  transfer: Pick<OwnedTransfer, "height" | "txId" | "transferIndex" | "tenant">,
): void {
  if (transfer.height !== UNMINED) {
    deleteMined(db, transfer);
    return;
  }
  const { txId, transferIndex } = transfer;
  db.delete(transfers)
    .where(and(eq(transfers.height, UNMINED), eq(transfers.txId, txId), eq(transfers.transferIndex, transferIndex)))
    .run();
}

/** What was added for a tenant after a version, in chain order. @param from no lower height has any */
export function addedSince(db: ScannerDb, tenant: number, version: number, from: number): OwnedTransfer[] {
  const waiting = db
    .select()
    .from(transfers)
    .where(and(eq(transfers.tenant, tenant), gt(transfers.addedVersion, version)))
    .all()
    .map(toOwned);
  return [...minedSince(db, tenant, version, from), ...waiting];
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

/** @param from no lower height has any addition */
export function hasChangesSince(db: ScannerDb, tenant: number, version: number, from: number): boolean {
  if (hasMinedSince(db, tenant, version, from)) return true;
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
  const waiting = db.select().from(transfers).where(gt(transfers.addedVersion, version)).all().map(toOwned);
  return [...allMinedSince(db, version), ...waiting];
}

export function transfersAt(db: ScannerDb, height: number): OwnedTransfer[] {
  if (height !== UNMINED) return minedAt(db, height);
  return db.select().from(transfers).where(eq(transfers.height, height)).all().map(toOwned);
}

/** Whether a payment above this height is known from a trace alone. */
export function holdsInternalAbove(db: ScannerDb, height: number): boolean {
  return minedAbove(db, height).some(isInternal);
}

export function forgetRemovals(db: ScannerDb, tenant: number, upTo: number): void {
  db.delete(removals)
    .where(and(eq(removals.tenant, tenant), lte(removals.version, upTo)))
    .run();
}

/** Lets go of final transfers, except of tenants that have not acknowledged them. */
export function pruneTransfers(db: ScannerDb, windowFrom: number): void {
  pruneMined(db, windowFrom);
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
