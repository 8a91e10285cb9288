/**
 * What the chain says and what was told, as rows. Lists of keys travel as one JSON text through
 * `json_each`: a statement binds at most a hundred parameters.
 */

import { and, eq, gte, inArray, lt, lte, or, type SQL, sql } from "drizzle-orm";
import { unitsFromText } from "../../core/amount.ts";
import { type Transfer, type TransferKey, UNMINED } from "../../core/transfer.ts";
import type { SeenPayment, Told } from "../../core/watcher.ts";
import { insertAll } from "../insert-all.ts";
import type { TenantDb } from "./database.ts";
import { deposits, transfers } from "./schema.ts";

export type DepositRow = typeof deposits.$inferSelect;
type TransferRow = typeof transfers.$inferSelect;

const KEYS_PER_STATEMENT = 2_000;

// Spelt out, not bound: a partial index serves only a condition it can see. These rows are due at no height.
const IS_WAITING = sql.raw(`height = ${UNMINED} AND status = 'pending'`);

export function depositsByKey(db: TenantDb, network: string, keys: readonly TransferKey[]): DepositRow[] {
  return inChunks(keys, (chunk) =>
    db
      .select()
      .from(deposits)
      .where(keyIn(deposits, network, chunk))
      .all(),
  );
}

export function transfersByKey(
  db: TenantDb,
  network: string,
  keys: readonly TransferKey[],
): (Transfer & SeenPayment)[] {
  return inChunks(keys, (chunk) =>
    db
      .select()
      .from(transfers)
      .where(keyIn(transfers, network, chunk))
      .all(),
  ).map(toSeen);
}

/** Deposits that must be decided again at this head and finalized height. */
export function depositsDue(db: TenantDb, network: string, head: number, finalized: number): DepositRow[] {
  return [
    ...db
      .select()
      .from(deposits)
      .where(and(eq(deposits.network, network), lte(deposits.dueHeight, head)))
      .all(),
    ...db
      .select()
      .from(deposits)
      .where(and(eq(deposits.network, network), lte(deposits.dueFinalized, finalized)))
      .all(),
  ];
}

/** Deposits whose story is not over: every one that the chain may still take back, and those that wait to be mined. */
export function depositsLive(db: TenantDb, network: string): DepositRow[] {
  return [
    ...db
      .select()
      .from(deposits)
      .where(and(eq(deposits.network, network), sql`due_height IS NOT NULL`))
      .all(),
    ...db
      .select()
      .from(deposits)
      .where(and(eq(deposits.network, network), sql`due_finalized IS NOT NULL`, sql`due_height IS NULL`))
      .all(),
    ...db
      .select()
      .from(deposits)
      .where(and(eq(deposits.network, network), IS_WAITING))
      .all(),
  ];
}

/** Settled deposits at or above a height that a person reopened. A scan: it happens once in a lifetime. */
export function depositsSettledFrom(db: TenantDb, network: string, height: number): DepositRow[] {
  return db
    .select()
    .from(deposits)
    .where(and(eq(deposits.network, network), eq(deposits.status, "settled"), gte(deposits.height, height)))
    .all();
}

/** When this tenant must hear of the network again. */
export function nextDue(db: TenantDb, network: string): { height: number | null; finalized: number | null } {
  const height = db
    .select({ value: deposits.dueHeight })
    .from(deposits)
    .where(and(eq(deposits.network, network), sql`due_height IS NOT NULL`))
    .orderBy(deposits.dueHeight)
    .limit(1)
    .get();
  const finalized = db
    .select({ value: deposits.dueFinalized })
    .from(deposits)
    .where(and(eq(deposits.network, network), sql`due_finalized IS NOT NULL`))
    .orderBy(deposits.dueFinalized)
    .limit(1)
    .get();
  return { height: height?.value ?? null, finalized: finalized?.value ?? null };
}

export function putTransfers(db: TenantDb, network: string, list: readonly (Transfer & SeenPayment)[]): void {
  const rows = list.map((transfer) => ({
    network,
    txId: transfer.txId,
    transferIndex: transfer.transferIndex,
    address: transfer.address,
    asset: transfer.asset,
    amountUnits: transfer.amountUnits.toString(),
    height: transfer.height,
    blockHash: transfer.blockHash,
    timestampS: transfer.timestamp,
    leastDepth: transfer.leastDepth ?? 1,
    memo: transfer.memo ?? null,
  }));
  insertAll(db, transfers, rows, ["network", "txId", "transferIndex"]);
}

export function removeTransfer(db: TenantDb, network: string, key: TransferKey): void {
  db.delete(transfers)
    .where(
      and(eq(transfers.network, network), eq(transfers.txId, key.txId), eq(transfers.transferIndex, key.transferIndex)),
    )
    .run();
}

export function insertDeposits(db: TenantDb, rows: readonly Omit<DepositRow, "seq">[]): void {
  insertAll(db, deposits, rows);
}

export function updateDeposit(db: TenantDb, row: Omit<DepositRow, "seq">): void {
  const { id, createdAt: _createdAt, network: _network, txId: _txId, transferIndex: _index, ...set } = row;
  db.update(deposits).set(set).where(eq(deposits.id, id)).run();
}

/** Takes deposits out of every coming decision: their fate since is unknown and only a re-read can tell. */
export function setAside(db: TenantDb, ids: readonly string[]): void {
  for (const chunk of chunked(ids, 90)) {
    db.update(deposits).set({ dueHeight: null, dueFinalized: null }).where(inArray(deposits.id, chunk)).run();
  }
}

export interface DepositQuery {
  readonly network?: string;
  readonly account?: string;
  readonly address?: string;
  /** (network, contract) pairs the asked symbol stands for. */
  readonly assets?: readonly { readonly network: string; readonly asset: string }[];
  readonly status?: DepositRow["status"];
  readonly tx_id?: string;
}

/** Newest first, strictly below `before`. */
export function listDeposits(db: TenantDb, query: DepositQuery, before: number | null, limit: number): DepositRow[] {
  const conditions: (SQL | undefined)[] = [];
  if (before !== null) conditions.push(lt(deposits.seq, before));
  if (query.network !== undefined) conditions.push(eq(deposits.network, query.network));
  if (query.account !== undefined) conditions.push(eq(deposits.account, query.account));
  if (query.address !== undefined) conditions.push(eq(deposits.address, query.address));
  if (query.status !== undefined) conditions.push(eq(deposits.status, query.status));
  if (query.tx_id !== undefined) conditions.push(eq(deposits.txId, query.tx_id));
  if (query.assets !== undefined) {
    if (query.assets.length === 0) return [];
    conditions.push(or(...query.assets.map((a) => and(eq(deposits.network, a.network), eq(deposits.asset, a.asset)))));
  }
  return db
    .select()
    .from(deposits)
    .where(and(...conditions))
    .orderBy(sql`seq DESC`)
    .limit(limit)
    .all();
}

export function depositById(db: TenantDb, id: string): DepositRow | undefined {
  return db.select().from(deposits).where(eq(deposits.id, id)).get();
}

export function toTold(row: Omit<DepositRow, "seq">): Told {
  return {
    address: row.address,
    asset: row.asset,
    amountUnits: unitsFromText(row.amountUnits),
    height: row.height,
    blockHash: row.blockHash,
    timestamp: row.timestampS,
    status: row.status,
    epoch: row.epoch,
    rule: row.rule === "finalized" ? "finalized" : Number(row.rule),
    leastDepth: row.leastDepth,
    ...memoIn(row),
  };
}

function toSeen(row: TransferRow): Transfer & SeenPayment {
  const { txId, transferIndex, address, asset, height, blockHash, leastDepth, timestampS: timestamp } = row;
  const amountUnits = unitsFromText(row.amountUnits);
  const stands = { height, blockHash, leastDepth, timestamp };
  return { txId, transferIndex, address, asset, amountUnits, ...stands, ...memoIn(row) };
}

function memoIn({ memo }: Pick<DepositRow, "memo">): Pick<Transfer, "memo"> {
  return memo === null ? {} : { memo };
}

function keyIn(table: typeof deposits | typeof transfers, network: string, keys: readonly TransferKey[]): SQL {
  const list = JSON.stringify(keys.map((key) => [key.txId, key.transferIndex]));
  return sql`${table.network} = ${network} AND (${table.txId}, ${table.transferIndex}) IN
    (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(${list}))`;
}

function inChunks<T>(keys: readonly TransferKey[], read: (chunk: readonly TransferKey[]) => T[]): T[] {
  return chunked(keys, KEYS_PER_STATEMENT).flatMap(read);
}

function chunked<T>(items: readonly T[], size: number): T[][] {
  const chunks: T[][] = [];
  for (let i = 0; i < items.length; i += size) chunks.push(items.slice(i, i + size));
  return chunks;
}
