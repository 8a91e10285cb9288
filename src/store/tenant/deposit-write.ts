/**
 * Writes deposits. One commit may write thousands: new ones together, changes by statements that are built once. What
 * was decided about a row is written to that row as it was read, or not at all.
 */

import { and, desc, eq, sql } from "drizzle-orm";
import { insertAll } from "../insert-all.ts";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import type { DepositRow } from "./deposit-store.ts";
import { deposits } from "./schema.ts";

const highest = prepared((db: TenantDb) =>
  db.select({ seq: deposits.seq }).from(deposits).orderBy(desc(deposits.seq)).limit(1).prepare(),
);

/** New ones, numbered in this order. A second deposit of one key is a bug. */
export function insertDeposits(db: TenantDb, rows: readonly Omit<DepositRow, "seq">[]): readonly DepositRow[] {
  const last = highest(db).get()?.seq ?? 0;
  const numbered = rows.map((row, i) => ({ seq: last + 1 + i, ...row }));
  insertAll(db, deposits, numbered);
  return numbered;
}

/**
 * Writes what has changed of one: an index of a column that stays is not written again.
 * @param before the row as it was read; another one meanwhile is a bug
 */
export function updateDeposit(db: TenantDb, before: DepositRow, row: Omit<DepositRow, "seq">): DepositRow {
  const changed = Object.entries(row).filter(([column, value]) => before[column as keyof DepositRow] !== value);
  const { seq, status, epoch } = before;
  const after = { ...row, seq };
  if (changed.length === 0) return after;
  const was = { wasSeq: seq, wasId: row.id, wasStatus: status, wasEpoch: epoch };
  const updated = updateOf(changed.map(([column]) => column))(db).all({ ...Object.fromEntries(changed), ...was });
  if (updated.length !== 1) throw new Error(`deposit ${row.id} is not ${status} in round ${epoch} any more`);
  return after;
}

type Update = ReturnType<typeof buildUpdateOf>;
const updates = new Map<string, Update>();

/** Few sets of columns change together, and a commit may change thousands of rows: one statement for each set. */
function updateOf(columns: readonly string[]): Update {
  const name = columns.join();
  const known = updates.get(name) ?? buildUpdateOf(columns);
  updates.set(name, known);
  return known;
}

function buildUpdateOf(columns: readonly string[]) {
  const isAsRead = and(
    eq(deposits.seq, sql.placeholder("wasSeq")),
    eq(deposits.id, sql.placeholder("wasId")),
    eq(deposits.status, sql.placeholder("wasStatus")),
    eq(deposits.epoch, sql.placeholder("wasEpoch")),
  );
  const set = Object.fromEntries(columns.map((column) => [column, sql.placeholder(column)]));
  return prepared((db: TenantDb) =>
    db.update(deposits).set(set).where(isAsRead).returning({ seq: deposits.seq }).prepare(),
  );
}
