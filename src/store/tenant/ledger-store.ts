/**
 * The ledger's rows: entries are only ever appended, balances are their fold. Both change in the commit
 * of the fact that causes them.
 */

import { and, eq, lt, ne, type SQL, sql } from "drizzle-orm";
import { unitsFromText } from "../../core/amount.ts";
import { type Balance, EMPTY_BALANCE, type Posting } from "../../core/ledger.ts";
import { insertAll } from "../insert-all.ts";
import { insertionInto, prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { balances, ledgerEntries } from "./schema.ts";

export type BalanceRow = typeof balances.$inferSelect;
export type EntryRow = typeof ledgerEntries.$inferSelect;

const KEYS_PER_STATEMENT = 2_000;
const FEW_ROWS = 4;

export interface BalanceKey {
  readonly account: string;
  readonly network: string;
  readonly asset: string;
}

export interface Journal extends BalanceKey {
  /** Derived from the cause, so that posting a cause twice meets the unique index. */
  readonly id: string;
  readonly causeType: string;
  readonly causeId: string;
  readonly eventId: string | null;
  readonly at: number;
}

const newEntry = insertionInto(ledgerEntries);
const balanceAt = prepared((db: TenantDb) =>
  db
    .select()
    .from(balances)
    .where(
      and(
        eq(balances.account, sql.placeholder("account")),
        eq(balances.network, sql.placeholder("network")),
        eq(balances.asset, sql.placeholder("asset")),
      ),
    )
    .prepare(),
);

const anyDebt = prepared((db: TenantDb) =>
  db
    .select({ debt: balances.debt })
    .from(balances)
    .where(and(eq(balances.account, sql.placeholder("account")), ne(balances.debt, "0")))
    .limit(1)
    .prepare(),
);

export function readBalance(db: TenantDb, { account, network, asset }: BalanceKey): Balance {
  const row = balanceAt(db).get({ account, network, asset });
  return row === undefined ? EMPTY_BALANCE : toBalance(row);
}

/** The balances of these keys; one that is absent is empty. */
export function readBalances(
  db: TenantDb,
  keys: readonly BalanceKey[],
): { readonly key: BalanceKey; readonly balance: Balance }[] {
  const found: { key: BalanceKey; balance: Balance }[] = [];
  for (let i = 0; i < keys.length; i += KEYS_PER_STATEMENT) {
    const chunk = keys.slice(i, i + KEYS_PER_STATEMENT).map((key) => [key.account, key.network, key.asset]);
    const isOne = sql`(${balances.account}, ${balances.network}, ${balances.asset}) IN
      (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
       FROM json_each(${JSON.stringify(chunk)}))`;
    const rows = db.select().from(balances).where(isOne).all();
    for (const row of rows) found.push({ key: row, balance: toBalance(row) });
  }
  return found;
}

/** Whether an account owes anything, in any asset. */
export function hasDebt(db: TenantDb, account: string): boolean {
  return anyDebt(db).get({ account }) !== undefined;
}

/** Every balance that owes something. */
export function debts(db: TenantDb): { network: string; asset: string; units: bigint }[] {
  return (
    db
      .select({ network: balances.network, asset: balances.asset, debt: balances.debt })
      .from(balances)
      // Spelt out: the partial index serves only a condition that it can see.
      .where(sql`debt <> '0'`)
      .all()
      .map(({ debt, ...of }) => ({ ...of, units: unitsFromText(debt) }))
  );
}

/** Writes the entries of journals, in their order. The caller writes the balances they fold to, once per commit. */
export function appendEntries(
  db: TenantDb,
  journals: readonly { readonly journal: Journal; readonly postings: readonly Posting[] }[],
): void {
  const rows = journals.flatMap(({ journal, postings }) =>
    postings.map((posting, line) => ({
      journalId: journal.id,
      line,
      account: journal.account,
      network: journal.network,
      asset: journal.asset,
      fromBucket: posting.from,
      toBucket: posting.to,
      amountUnits: posting.amountUnits.toString(),
      causeType: journal.causeType,
      causeId: journal.causeId,
      eventId: journal.eventId,
      createdAt: journal.at,
    })),
  );
  // Building a statement costs more than running it: one row at a time has its own, built once.
  if (rows.length <= FEW_ROWS) for (const row of rows) newEntry(db, { seq: null, ...row });
  else insertAll(db, ledgerEntries, rows);
}

export function writeBalances(
  db: TenantDb,
  list: readonly { readonly key: BalanceKey; readonly balance: Balance }[],
): void {
  const rows = list.map(({ key: { account, network, asset }, balance }) => ({
    account,
    network,
    asset,
    available: balance.available.toString(),
    reserved: balance.reserved.toString(),
    settled: balance.settled.toString(),
    debt: balance.debt.toString(),
  }));
  insertAll(db, balances, rows, ["account", "network", "asset"]);
}

/** By account, network, asset, strictly after `after` in that order. */
export function listBalances(
  db: TenantDb,
  filter: { account?: string; network?: string; assets?: readonly { network: string; asset: string }[] },
  after: BalanceKey | null,
  limit: number,
): BalanceRow[] {
  const conditions: SQL[] = [];
  if (filter.account !== undefined) conditions.push(eq(balances.account, filter.account));
  if (filter.network !== undefined) conditions.push(eq(balances.network, filter.network));
  if (after !== null) {
    conditions.push(
      sql`(${balances.account}, ${balances.network}, ${balances.asset}) > (${after.account}, ${after.network}, ${after.asset})`,
    );
  }
  if (filter.assets !== undefined) conditions.push(assetIn(balances, filter.assets));
  return db
    .select()
    .from(balances)
    .where(and(...conditions))
    .orderBy(balances.account, balances.network, balances.asset)
    .limit(limit)
    .all();
}

/** Newest first, strictly below `before`. */
export function listEntries(
  db: TenantDb,
  filter: { account?: string; network?: string; assets?: readonly { network: string; asset: string }[] },
  before: number | null,
  limit: number,
): EntryRow[] {
  const conditions: SQL[] = [];
  if (before !== null) conditions.push(lt(ledgerEntries.seq, before));
  if (filter.account !== undefined) conditions.push(eq(ledgerEntries.account, filter.account));
  if (filter.network !== undefined) conditions.push(eq(ledgerEntries.network, filter.network));
  if (filter.assets !== undefined) conditions.push(assetIn(ledgerEntries, filter.assets));
  return db
    .select()
    .from(ledgerEntries)
    .where(and(...conditions))
    .orderBy(sql`seq DESC`)
    .limit(limit)
    .all();
}

/** Decimal digits that SQLite sums up exactly, and how often they fit into an amount below 2^256. */
const LIMB_DIGITS = 12;
const LIMBS = 7;
const LIMB_UNITS = 10n ** BigInt(LIMB_DIGITS);

/**
 * The sum of a balance's entries by their two buckets, to the unit: SQLite's integers are too small for an
 * amount, so the digits are summed in groups.
 * @returns null when the account has more than `most` entries
 */
export function movementsOf(
  db: TenantDb,
  key: BalanceKey,
  most: number,
): { readonly from: string; readonly to: string; readonly units: bigint }[] | null {
  const entries = sql`SELECT 1 FROM ledger_entries WHERE account = ${key.account} LIMIT ${most + 1}`;
  const { n } = db.get<{ n: number }>(sql`SELECT count(*) AS n FROM (${entries})`);
  if (n > most) return null;
  const zeros = "0".repeat(LIMB_DIGITS * LIMBS);
  const limbs = Array.from({ length: LIMBS }, (_, i) => {
    const digits = sql`substr(${zeros} || amount_units, ${-LIMB_DIGITS * (LIMBS - i)}, ${LIMB_DIGITS})`;
    return sql`CAST(sum(CAST(${digits} AS INTEGER)) AS TEXT)`;
  });
  const rows = db.all<{ source: string; target: string; limbs: string }>(
    sql`SELECT from_bucket AS source, to_bucket AS target, ${sql.join(limbs, sql` || ' ' || `)} AS limbs
        FROM ledger_entries
        WHERE account = ${key.account} AND network = ${key.network} AND asset = ${key.asset}
        GROUP BY from_bucket, to_bucket`,
  );
  return rows.map(({ source, target, limbs: text }) => ({
    from: source,
    to: target,
    units: text.split(" ").reduce((sum, limb) => sum * LIMB_UNITS + BigInt(limb), 0n),
  }));
}

/** The entries of one account that these causes made, oldest first. */
export function entriesOfCauses(db: TenantDb, account: string, causeIds: readonly string[]): EntryRow[] {
  return db
    .select()
    .from(ledgerEntries)
    .where(
      and(
        eq(ledgerEntries.account, account),
        sql`${ledgerEntries.causeId} IN (SELECT value FROM json_each(${JSON.stringify(causeIds)}))`,
      ),
    )
    .orderBy(sql`seq`)
    .all();
}

export function toBalance(row: BalanceRow): Balance {
  return {
    available: unitsFromText(row.available),
    reserved: unitsFromText(row.reserved),
    settled: unitsFromText(row.settled),
    debt: unitsFromText(row.debt),
  };
}

function assetIn(
  table: typeof balances | typeof ledgerEntries,
  assets: readonly { readonly network: string; readonly asset: string }[],
): SQL {
  const list = JSON.stringify(assets.map((a) => [a.network, a.asset]));
  return sql`(${table.network}, ${table.asset}) IN
    (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(${list}))`;
}
