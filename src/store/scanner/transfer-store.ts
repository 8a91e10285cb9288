/** Payments on the best chain, and keys taken off it, for as long as a tenant may still have to hear of them. */

import { and, eq, gt, lt, lte, sql } from "drizzle-orm";
import { unitsFromText } from "../../core/amount.ts";
import { isInternal, type Transfer, type TransferKey } from "../../core/transfer.ts";
import type { ScannerDb } from "./database.ts";
import { removals, tenants, transfers } from "./schema.ts";

export interface OwnedTransfer extends Transfer {
  readonly tenant: number;
  /** Time stamp of the block, unix seconds. */
  readonly timestamp: number;
}

export function insertTransfers(db: ScannerDb, list: readonly OwnedTransfer[], version: number): void {
  for (const t of list) {
    db.insert(transfers)
      .values({
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
      })
      .run();
  }
}

/** Takes every transfer above a height off the best chain and gives them back. */
export function takeTransfersAbove(db: ScannerDb, height: number): OwnedTransfer[] {
  return db.delete(transfers).where(gt(transfers.height, height)).returning().all().map(toOwned);
}

export function insertRemovals(
  db: ScannerDb,
  list: readonly (TransferKey & { tenant: number })[],
  version: number,
): void {
  for (const { tenant, txId, transferIndex } of list) {
    db.insert(removals).values({ tenant, version, txId, transferIndex }).run();
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

export function removedSince(db: ScannerDb, tenant: number, version: number): TransferKey[] {
  return db
    .select({ txId: removals.txId, transferIndex: removals.transferIndex })
    .from(removals)
    .where(and(eq(removals.tenant, tenant), gt(removals.version, version)))
    .all();
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
    .where(gt(transfers.height, height))
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
  };
}
