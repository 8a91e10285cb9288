/**
 * Payments on the best chain, for as long as they may be replaced or a tenant may still have to hear of them: those of
 * one tenant in one block lie in one row. What is asked is always about heights, so the key is the only index.
 */

import { and, eq, gt, gte, lt, sql } from "drizzle-orm";
import { unitsFromText } from "../../core/amount.ts";
import { keyText, type Transfer, type TransferKey } from "../../core/transfer.ts";
import { insertAll } from "../insert-all.ts";
import type { ScannerDb } from "./database.ts";
import { type PaymentEntry, payments, tenants } from "./schema.ts";

/** Bounds a row to well under the platform's 2 MB, even where every memo is full of characters that JSON spells out. */
const PAYMENTS_PER_ROW = 200;

export interface OwnedTransfer extends Transfer {
  readonly tenant: number;
  /** Time stamp of the block, unix seconds; 0 while it waits to be mined. */
  readonly timestamp: number;
}

type Row = typeof payments.$inferSelect;

export function insertMined(db: ScannerDb, list: readonly OwnedTransfer[], addedVersion: number): void {
  const rows: Row[] = [];
  const parts = partsAt(db, list);
  for (const [name, own] of Map.groupBy(list, nameOf)) {
    let part = parts.get(name) ?? 0;
    for (let i = 0; i < own.length; i += PAYMENTS_PER_ROW) {
      const chunk = own.slice(i, i + PAYMENTS_PER_ROW);
      const [first] = chunk;
      if (first === undefined) continue;
      const { height, tenant, blockHash, timestamp: timestampS } = first;
      rows.push({ height, tenant, part: part++, addedVersion, blockHash, timestampS, list: chunk.map(toEntry) });
    }
  }
  insertAll(db, payments, rows);
}

export function countMined(db: ScannerDb): number {
  return db.select({ n: sql<number>`coalesce(sum(json_array_length(list)), 0)` }).from(payments).get()?.n ?? 0;
}

/** How many rows there are of a block and tenant: a backfill may add to a block that has been read before. */
function partsAt(db: ScannerDb, list: readonly OwnedTransfer[]): ReadonlyMap<string, number> {
  if (list.length === 0) return new Map();
  const heights = JSON.stringify([...new Set(list.map(({ height }) => height))]);
  const rows = db
    .select({ height: payments.height, tenant: payments.tenant, next: sql<number>`max(part) + 1` })
    .from(payments)
    .where(sql`${payments.height} IN (SELECT value FROM json_each(${heights}))`)
    .groupBy(payments.height, payments.tenant)
    .all();
  return new Map(rows.map((row) => [nameOf(row), row.next]));
}

function nameOf({ height, tenant }: Pick<OwnedTransfer, "height" | "tenant">): string {
  return `${height}/${tenant}`;
}

/** Takes every payment above a height off the best chain and gives them back. */
export function takeMinedAbove(db: ScannerDb, height: number): OwnedTransfer[] {
  return db.delete(payments).where(gt(payments.height, height)).returning().all().flatMap(toOwned);
}

/** Takes one out, whether it is there or not. */
export function deleteMined(db: ScannerDb, transfer: Pick<OwnedTransfer, "height" | "tenant"> & TransferKey): void {
  const at = and(eq(payments.height, transfer.height), eq(payments.tenant, transfer.tenant));
  for (const row of db.select().from(payments).where(at).all()) {
    const list = row.list.filter(([txId, transferIndex]) => keyText({ txId, transferIndex }) !== keyText(transfer));
    if (list.length === row.list.length) continue;
    const own = and(at, eq(payments.part, row.part));
    if (list.length === 0) db.delete(payments).where(own).run();
    else db.update(payments).set({ list }).where(own).run();
  }
}

/** What was added for a tenant after a version, in chain order. @param from no lower height has any */
export function minedSince(db: ScannerDb, tenant: number, version: number, from: number): OwnedTransfer[] {
  return db
    .select()
    .from(payments)
    .where(addedFor(tenant, version, from))
    .orderBy(payments.height)
    .all()
    .flatMap(toOwned);
}

export function hasMinedSince(db: ScannerDb, tenant: number, version: number, from: number): boolean {
  const one = db
    .select({ n: payments.tenant })
    .from(payments)
    .where(addedFor(tenant, version, from))
    .limit(1)
    .get();
  return one !== undefined;
}

/** Those added after a version, of everybody. A walk over the window: done at a start, not at each poll. */
export function allMinedSince(db: ScannerDb, version: number): OwnedTransfer[] {
  return db.select().from(payments).where(gt(payments.addedVersion, version)).all().flatMap(toOwned);
}

export function minedAt(db: ScannerDb, height: number): OwnedTransfer[] {
  return db.select().from(payments).where(eq(payments.height, height)).all().flatMap(toOwned);
}

export function minedAbove(db: ScannerDb, height: number): OwnedTransfer[] {
  return db.select().from(payments).where(gt(payments.height, height)).all().flatMap(toOwned);
}

/** Which of these keys are there. A walk over the window. @param list keys as JSON, of which each is [tx id, index] */
export function minedIn(db: ScannerDb, list: string): TransferKey[] {
  return db.all<TransferKey>(
    sql`SELECT json_extract(e.value, '$[0]') AS txId, json_extract(e.value, '$[1]') AS transferIndex
        FROM payments, json_each(payments.list) AS e
        WHERE (json_extract(e.value, '$[0]'), json_extract(e.value, '$[1]')) IN
          (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(${list}))`,
  );
}

/** Lets go of final payments, except of tenants that have not acknowledged them. */
export function pruneMined(db: ScannerDb, windowFrom: number): void {
  // Spelt out, not bound: a partial index serves only a condition it can see, and there may be many tenants.
  const waiting = db.select({ n: tenants.n }).from(tenants).where(sql`dirty = 1`);
  db.delete(payments)
    .where(and(lt(payments.height, windowFrom), sql`${payments.tenant} NOT IN ${waiting}`))
    .run();
}

function addedFor(tenant: number, version: number, from: number) {
  return and(gte(payments.height, from), eq(payments.tenant, tenant), gt(payments.addedVersion, version));
}

function toEntry({ txId, transferIndex, address, asset, amountUnits, leastDepth, memo }: Transfer): PaymentEntry {
  return [txId, transferIndex, address, asset, amountUnits.toString(), leastDepth ?? 1, memo ?? null];
}

function toOwned({ height, tenant, blockHash, timestampS: timestamp, list }: Row): OwnedTransfer[] {
  return list.map(([txId, transferIndex, address, asset, amountUnits, leastDepth, memo]) => ({
    ...{ txId, transferIndex, address, asset, amountUnits: unitsFromText(amountUnits) },
    ...{ height, blockHash, tenant, timestamp, leastDepth },
    ...(memo === null ? {} : { memo }),
  }));
}
