/** Rows that years would have left, written into the databases of objects whose service is stopped. */

import { DatabaseSync } from "node:sqlite";

const BODY_LENGTH = 200;

/** @param databases files, of which one is a scanner's */
export function seedWatches(
  databases: readonly string[],
  { addresses, tenants }: { readonly addresses: number; readonly tenants: number },
): void {
  const db = withTable(databases, "payments");
  // Spread over all addresses there may be, as a hash would spread them, and in ascending order: written once, from left to right.
  const step = (2n ** 60n / BigInt(addresses)).toString();
  const each = Math.max(1, Math.ceil(addresses / Math.max(1, tenants)));
  inOne(db, () => {
    db.exec(`${COUNT(tenants)} INSERT INTO tenants (n, tenant_id, acked_version, dirty, kept_from)
      SELECT 1000 + i, printf('ten_idle%018d', i), 0, 0, 0 FROM n`);
    db.exec(`${COUNT(addresses)} INSERT INTO addresses (address, from_height, tenant)
      SELECT printf('0x%016x%024x', i * ${step}, i), 0, ${tenants === 0 ? 1 : `1000 + (i - 1) / ${each}`} FROM n`);
  });
}

/** @param databases files, of which one is the tenant's that has a deposit already: the others are made like it */
export function seedDeposits(databases: readonly string[], deposits: number): void {
  const db = withTable(databases, "deposit_events");
  const one = db.prepare("SELECT * FROM deposits").get();
  if (one === undefined) throw new Error("there is no deposit to copy");
  const others = Object.keys(one).filter((name) => !["seq", "id", "tx_id", "events"].includes(name));
  const { last } = db.prepare("SELECT max(last) AS last FROM deposit_events").get() as { last: number };
  inOne(db, () => {
    db.exec(`${COUNT(deposits)} INSERT INTO deposits (id, tx_id, events, ${others})
      SELECT printf('dep_%026d', i), printf('0x%064x', i), json_array(${last} + 3 * i - 2, ${last} + 3 * i - 1, ${last} + 3 * i), ${others.map((name) => `d.${name}`)}
      FROM n, (SELECT * FROM deposits WHERE seq = 1) AS d`);
    db.exec(`${COUNT(deposits)} INSERT INTO transfers SELECT t.network, printf('0x%064x', i), t.transfer_index, t.address, t.asset,
      t.amount_units, t.height, t.block_hash, t.timestamp_s, t.least_depth, t.memo, 0 FROM n, (SELECT * FROM transfers LIMIT 1) AS t`);
    db.exec(`${COUNT(deposits)} INSERT INTO ledger_entries (journal_id, line, account, network, asset, from_bucket, to_bucket, amount_units, cause_type, cause_id, created_at)
      SELECT printf('jrn_%026d', i), 0, e.account, e.network, e.asset, e.from_bucket, e.to_bucket, '1', e.cause_type, printf('dep_%026d', i), e.created_at
      FROM n, (SELECT * FROM ledger_entries LIMIT 1) AS e`);
    db.exec(`${COUNT(3 * deposits)} INSERT INTO deposit_events (last, first, created_at, bodies)
      SELECT ${last} + i, ${last} + i, 0, json_array(json_object('id', printf('evt_%026d', i), 'type', 'deposit.settled', 'sequence', ${last} + i,
        'subject', printf('dep_%026d', (i + 2) / 3), 'subject_sequence', 1 + (i - 1) % 3, 'data', printf('%${BODY_LENGTH}d', i))) FROM n`);
  });
}

/** The numbers from one on. */
const COUNT = (most: number) =>
  `WITH RECURSIVE n(i) AS (SELECT 1 WHERE ${most} > 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${most})`;

function withTable(databases: readonly string[], table: string): DatabaseSync {
  for (const file of databases) {
    const db = new DatabaseSync(file);
    if (db.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(table) !== undefined) return db;
    db.close();
  }
  throw new Error(`no database has a table ${table}`);
}

function inOne(db: DatabaseSync, work: () => void): void {
  db.exec("PRAGMA cache_size = -200000; BEGIN");
  work();
  db.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}
