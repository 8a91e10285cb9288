/**
 * What the chain says and what was told, as rows. Lists of keys travel as one JSON text through
 * `json_each`: a statement binds at most a hundred parameters.
 */

import { and, between, eq, gte, inArray, isNotNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import { unitsFromText } from "../../core/amount.ts";
import { type DueRange, type Dues, splitDue, withDue } from "../../core/dues.ts";
import { derivedId } from "../../core/ids.ts";
import { type Transfer, type TransferKey, UNMINED } from "../../core/transfer.ts";
import type { SeenPayment, Told } from "../../core/watcher.ts";
import { insertAll } from "../insert-all.ts";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { deposits, transfers } from "./schema.ts";

export type DepositRow = typeof deposits.$inferSelect;
type TransferRow = typeof transfers.$inferSelect;

const KEYS_PER_STATEMENT = 2_000;

// Spelt out, not bound: a partial index serves only a condition it can see. These rows are due at no height.
const IS_WAITING = sql.raw(`height = ${UNMINED} AND status = 'pending'`);

/** Derived from the key: a deposit is found by it, and met again whoever writes it. */
export function depositId(tenantId: string, network: string, { txId, transferIndex }: TransferKey): string {
  return derivedId("dep", tenantId, network, txId, transferIndex);
}

export function depositsByKey(
  db: TenantDb,
  tenantId: string,
  network: string,
  keys: readonly TransferKey[],
): DepositRow[] {
  return depositsByIds(
    db,
    keys.map((key) => depositId(tenantId, network, key)),
  );
}

function depositsByIds(db: TenantDb, ids: readonly string[]): DepositRow[] {
  return chunked(ids, KEYS_PER_STATEMENT).flatMap((chunk) =>
    db
      .select()
      .from(deposits)
      .where(sql`${deposits.id} IN (SELECT value FROM json_each(${JSON.stringify(chunk)}))`)
      .all(),
  );
}

/** Those of these keys that are on the best chain. */
export function transfersByKey(
  db: TenantDb,
  network: string,
  keys: readonly TransferKey[],
): (Transfer & SeenPayment)[] {
  return inChunks(keys, (chunk) =>
    db
      .select()
      .from(transfers)
      .where(and(keyIn(network, chunk), eq(transfers.gone, 0)))
      .all(),
  ).map(toSeen);
}

const BY_HEIGHT = deposits.dueHeight;
const BY_FINALITY = deposits.dueFinalized;

/** Deposits that must be decided again at this head and finalized height. One may be in it twice. */
export function depositsDue(db: TenantDb, network: string, dues: Dues, head: number, finalized: number): DepositRow[] {
  return [
    ...rowsIn(db, network, splitDue(dues.height, head).due, lte(BY_HEIGHT, head)),
    ...rowsIn(db, network, splitDue(dues.finalized, finalized).due, lte(BY_FINALITY, finalized)),
  ];
}

/**
 * What is due from now on: ranges that have come are given up for what their deposits say now, and those that were
 * written are added.
 */
export function duesAfter(
  db: TenantDb,
  network: string,
  dues: Dues,
  at: { readonly head: number; readonly finalized: number },
  written: readonly Pick<DepositRow, "seq" | "dueHeight" | "dueFinalized">[],
): Dues {
  const height = splitDue(dues.height, at.head);
  const finalized = splitDue(dues.finalized, at.finalized);
  const byHeight = [...rowsIn(db, network, height.due, isNotNull(BY_HEIGHT)), ...written];
  const byFinality = [...rowsIn(db, network, finalized.due, isNotNull(BY_FINALITY)), ...written];
  return {
    height: byHeight.reduce(
      (ranges, { seq, dueHeight }) => (dueHeight === null ? ranges : withDue(ranges, dueHeight, seq)),
      height.later,
    ),
    finalized: byFinality.reduce(
      (ranges, { seq, dueFinalized }) => (dueFinalized === null ? ranges : withDue(ranges, dueFinalized, seq)),
      finalized.later,
    ),
  };
}

/** Deposits whose story is not over: every one that the chain may still take back, and those that wait to be mined. */
export function depositsLive(db: TenantDb, network: string, dues: Dues): DepositRow[] {
  const rows = [
    ...rowsIn(db, network, dues.height, isNotNull(BY_HEIGHT)),
    ...rowsIn(db, network, dues.finalized, isNotNull(BY_FINALITY)),
    ...db
      .select()
      .from(deposits)
      .where(and(eq(deposits.network, network), IS_WAITING))
      .all(),
  ];
  return [...new Map(rows.map((row) => [row.seq, row])).values()];
}

function rowsIn(db: TenantDb, network: string, ranges: readonly DueRange[], condition: SQL): DepositRow[] {
  return ranges.flatMap(([, from, to]) =>
    db
      .select()
      .from(deposits)
      .where(and(between(deposits.seq, from, to), eq(deposits.network, network), condition))
      .all(),
  );
}

/** Settled deposits at or above a height that a person reopened. A scan: it happens once in a lifetime. */
export function depositsSettledFrom(db: TenantDb, network: string, height: number): DepositRow[] {
  return db
    .select()
    .from(deposits)
    .where(and(eq(deposits.network, network), eq(deposits.status, "settled"), gte(deposits.height, height)))
    .all();
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
    gone: 0,
  }));
  insertAll(db, transfers, rows, ["network", "txId", "transferIndex"]);
}

const markGone = prepared((db: TenantDb) =>
  db
    .update(transfers)
    .set({ gone: 1 })
    .where(
      and(
        eq(transfers.network, sql.placeholder("network")),
        eq(transfers.txId, sql.placeholder("txId")),
        eq(transfers.transferIndex, sql.placeholder("transferIndex")),
      ),
    )
    .prepare(),
);

/** It is on the best chain no more. */
export function removeTransfer(db: TenantDb, network: string, { txId, transferIndex }: TransferKey): void {
  markGone(db).run({ network, txId, transferIndex });
}

/** Takes deposits out of every coming decision: their fate since is unknown and only a re-read can tell. */
export function setAside(db: TenantDb, ids: readonly string[]): void {
  for (const chunk of chunked(ids, 90)) {
    db.update(deposits).set({ dueHeight: null, dueFinalized: null }).where(inArray(deposits.id, chunk)).run();
  }
}

export interface DepositQuery {
  readonly tenantId: string;
  /** Every network there may be deposits on. */
  readonly networks: readonly string[];
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
  if (query.tx_id !== undefined) {
    const ids = JSON.stringify(depositsOfTransaction(db, query, query.tx_id));
    conditions.push(sql`${deposits.id} IN (SELECT value FROM json_each(${ids}))`);
  }
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

/** Ids of all that one transaction paid: the chain's side has the keys in order, so this one needs no index of them. */
function depositsOfTransaction(db: TenantDb, { tenantId, networks }: DepositQuery, txId: string): string[] {
  const list = sql`(SELECT value FROM json_each(${JSON.stringify(networks)}))`;
  return db
    .select({ network: transfers.network, txId: transfers.txId, transferIndex: transfers.transferIndex })
    .from(transfers)
    .where(and(sql`${transfers.network} IN ${list}`, eq(transfers.txId, txId)))
    .all()
    .map((row) => depositId(tenantId, row.network, row));
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

function keyIn(network: string, keys: readonly TransferKey[]): SQL {
  const list = JSON.stringify(keys.map((key) => [key.txId, key.transferIndex]));
  return sql`${transfers.network} = ${network} AND (${transfers.txId}, ${transfers.transferIndex}) IN
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
