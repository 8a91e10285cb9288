/**
 * Upgrades in place: D1 and each kind of object begin with the tables of the first version and a row in each of
 * them, and are brought up to date as the service does it. No row is lost or changed, and what is new is there.
 */

import { applyD1Migrations, type D1Migration, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/durable-sqlite";
import { migrate } from "drizzle-orm/durable-sqlite/migrator";
import { describe, expect, it } from "vitest";
import type { Env } from "../../src/env.ts";
import endpointMigrations from "../../src/store/endpoint/migrations/migrations.js";
import monitorMigrations from "../../src/store/monitor/migrations/migrations.js";
import scannerMigrations from "../../src/store/scanner/migrations/migrations.js";
import tenantMigrations from "../../src/store/tenant/migrations/migrations.js";

const { DB, TENANT, CHAIN_SCANNER, WEBHOOK_ENDPOINT, MONITOR, TEST_MIGRATIONS } = env as unknown as Env & {
  readonly TEST_MIGRATIONS: D1Migration[];
};

type Row = Record<string, unknown>;
/** Runs one statement, and gives its rows. */
type Run = (statement: string) => Promise<Row[]>;

/** Tables of ours, by name: what SQLite, the platform and the migrations keep for themselves is left out. */
async function tablesOf(run: Run): Promise<string[]> {
  const rows = await run("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  return rows.map(({ name }) => String(name)).filter((name) => !/^(sqlite_|_cf_|__|d1_migrations)/.test(name));
}

async function indexesOf(run: Run): Promise<string[]> {
  const rows = await run("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name");
  return rows.map(({ name }) => String(name));
}

/** One row in each table, every column with a value of its type. */
async function fill(run: Run): Promise<void> {
  for (const table of await tablesOf(run)) {
    const columns = await run(`SELECT name, type FROM pragma_table_info('${table}')`);
    const names = columns.map(({ name }) => `"${name}"`).join(", ");
    const values = columns.map(({ type }, i) => (String(type).toLowerCase() === "integer" ? `${i + 1}` : `'"${i}"'`));
    await run(`INSERT INTO "${table}" (${names}) VALUES (${values.join(", ")})`);
  }
}

/** Every row, in the columns that `like` has. */
async function dump(run: Run, like?: Record<string, Row[]>): Promise<Record<string, Row[]>> {
  const found: Record<string, Row[]> = {};
  for (const table of like === undefined ? await tablesOf(run) : Object.keys(like)) {
    const columns = Object.keys(like?.[table]?.[0] ?? {}).map((name) => `"${name}"`);
    found[table] = await run(`SELECT ${columns.join(", ") || "*"} FROM "${table}"`);
  }
  return found;
}

it("D1 of the first version is brought up to date with its rows", async () => {
  const run: Run = async (statement) => (await DB.prepare(statement).all<Row>()).results;
  const upToDate = { tables: await tablesOf(run), indexes: await indexesOf(run) };
  for (const table of [...upToDate.tables, "d1_migrations"]) await run(`DROP TABLE "${table}"`);

  await applyD1Migrations(DB, TEST_MIGRATIONS.slice(0, 1));
  const first = await tablesOf(run);
  expect(first).toEqual(["addresses", "api_keys", "deposit_keys", "endpoint_waits", "sign_up_keys", "tenants"]);
  await fill(run);
  const before = await dump(run);
  expect(Object.values(before).map((rows) => rows.length)).toEqual(first.map(() => 1));

  await applyD1Migrations(DB, TEST_MIGRATIONS);
  expect(await dump(run, before)).toEqual(before);
  expect({ tables: await tablesOf(run), indexes: await indexesOf(run) }).toEqual(upToDate);
  const added = upToDate.tables.filter((table) => !first.includes(table));
  expect(added).toEqual([
    "live_attempts",
    "spend_members",
    "spent_outputs",
    "tenant_work",
    "wallet_nonces",
    "withdrawal_keys",
    "xpub_indexes",
  ]);
  for (const table of added) expect(await run(`SELECT * FROM "${table}"`)).toEqual([]);
  // Once more changes nothing.
  await applyD1Migrations(DB, TEST_MIGRATIONS);
  expect(await dump(run, before)).toEqual(before);
});

interface Migrations {
  readonly journal: { readonly entries: readonly { idx: number; when: number; tag: string; breakpoints: boolean }[] };
  readonly migrations: Readonly<Record<string, string>>;
}
const KINDS: readonly [string, DurableObjectNamespace, Migrations, readonly string[]][] = [
  [
    "tenant",
    TENANT as unknown as DurableObjectNamespace,
    tenantMigrations as Migrations,
    [
      "attempts",
      "audit_log",
      "coins",
      "counters",
      "deposit_events",
      "expiring_attempts",
      "expiring_payments",
      "incidents",
      "reconciliations",
      "sessions",
      "signers",
      "slots",
      "spend_attempts",
      "spend_inputs",
      "spend_members",
      "spends",
      "wallet_addresses",
      "wallets",
      "withdrawal_transitions",
      "withdrawals",
      "xpubs",
    ],
  ],
  ["scanner", CHAIN_SCANNER as unknown as DurableObjectNamespace, scannerMigrations as Migrations, ["payments"]],
  ["endpoint", WEBHOOK_ENDPOINT as unknown as DurableObjectNamespace, endpointMigrations as Migrations, []],
  ["monitor", MONITOR as unknown as DurableObjectNamespace, monitorMigrations as Migrations, ["calls", "incidents"]],
];

describe.each(KINDS)("the object of a %s", (kind, namespace, migrations, added) => {
  const stubOf = (name: string) => namespace.get(namespace.idFromName(`${kind}-${name}`));
  const runOn =
    (state: DurableObjectState): Run =>
    async (statement) =>
      state.storage.sql.exec(statement).toArray();
  const shapeOf = (name: string) =>
    runInDurableObject(stubOf(name), async (_, state) => {
      const run = runOn(state);
      return { tables: await tablesOf(run), indexes: await indexesOf(run) };
    });

  it("of the first version is brought up to date with its rows when it starts", async () => {
    const upToDate = await shapeOf("new");
    const old = stubOf("old");
    const before = await runInDurableObject(old, async (_, state) => {
      await state.storage.deleteAll();
      const [first] = migrations.journal.entries;
      const m0000 = migrations.migrations.m0000;
      if (first === undefined || m0000 === undefined) throw new Error("there is a first migration");
      await migrate(drizzle(state.storage), { journal: { entries: [first] }, migrations: { m0000 } });
      await fill(runOn(state));
      return dump(runOn(state));
    });
    expect(Object.keys(before)).toEqual(upToDate.tables.filter((table) => !added.includes(table)));
    await evictDurableObject(old);

    // Those of the scanner that were mined lie by the block now: tried by themselves below.
    if (kind === "scanner") before.transfers = [];
    await runInDurableObject(old, async (_, state) => {
      expect(await dump(runOn(state), before)).toEqual(before);
      for (const table of added.filter((name) => name !== "payments"))
        expect(await runOn(state)(`SELECT * FROM "${table}"`)).toEqual([]);
    });
    expect(await shapeOf("old")).toEqual(upToDate);
    // It starts again with nothing left to do.
    await evictDurableObject(old);
    await runInDurableObject(old, async (_, state) => {
      expect(await dump(runOn(state), before)).toEqual(before);
    });
  });
});

it("an endpoint of the first version that was gone says so in today's word, and keeps its secret and its rows", async () => {
  const of: readonly [DurableObjectNamespace, Migrations, string][] = [
    [WEBHOOK_ENDPOINT as unknown as DurableObjectNamespace, endpointMigrations as Migrations, "endpoint"],
    [TENANT as unknown as DurableObjectNamespace, tenantMigrations as Migrations, "endpoints"],
  ];
  for (const [namespace, migrations, table] of of) {
    const old = namespace.get(namespace.idFromName(`gone ${table}`));
    await runInDurableObject(old, async (_, state) => {
      await state.storage.deleteAll();
      const [first] = migrations.journal.entries;
      const m0000 = migrations.migrations.m0000;
      if (first === undefined || m0000 === undefined) throw new Error("there is a first migration");
      await migrate(drizzle(state.storage), { journal: { entries: [first] }, migrations: { m0000 } });
      const run: Run = async (statement) => state.storage.sql.exec(statement).toArray();
      await fill(run);
      await run(`UPDATE ${table} SET disabled_reason = 'The endpoint answered 410 Gone.'`);
    });
    await evictDurableObject(old);
    await runInDurableObject(old, async (_, { storage }) => {
      const [row] = storage.sql.exec(`SELECT * FROM ${table}`).toArray();
      expect(row).toMatchObject({ disabled_reason: "gone", signature: "v1" });
      if (table === "endpoints") {
        expect(row).toMatchObject({ public_key: null, api_version: "2026-11-01", revision: 0, disabled_at: null });
        expect(storage.sql.exec("SELECT token, key_version FROM signers").toArray()).toEqual([]);
        return;
      }
      expect(row).toMatchObject({ revision: 1, failing_since: null });
      const [secret] = storage.sql.exec("SELECT secret, key_version, public_key FROM secrets").toArray();
      expect(secret).toEqual({ secret: '"1"', key_version: null, public_key: null });
      expect(storage.sql.exec("SELECT id FROM deliveries").toArray()).toEqual([{ id: null }]);
    });
  }
});

it("a tenant of the version before has its deposits and ended withdrawals counted", async () => {
  const old = (TENANT as unknown as DurableObjectNamespace).get(TENANT.idFromName("before the tallies") as never);
  const { journal, migrations } = tenantMigrations as Migrations;
  await runInDurableObject(old, async (_, state) => {
    await state.storage.deleteAll();
    const entries = journal.entries.slice(0, 8);
    const earlier = Object.fromEntries(Object.entries(migrations).slice(0, 8));
    await migrate(drizzle(state.storage), { journal: { entries }, migrations: earlier });
    const run: Run = async (statement) => state.storage.sql.exec(statement).toArray();
    await fill(run);
    const copy = async (table: string, id: number, changed: Record<string, string>) => {
      const columns = (await run(`SELECT name FROM pragma_table_info('${table}')`)).map(({ name }) => String(name));
      const values = columns.map((name) =>
        name === "seq"
          ? `${100 + id}`
          : /^(id|tx_id|idempotency_key)$/.test(name)
            ? `'x${id}'`
            : (changed[name] ?? name),
      );
      await run(`INSERT INTO ${table} SELECT ${values.join(", ")} FROM ${table} LIMIT 1`);
    };
    const network = "'n'";
    for (const [i, status] of ["settled", "settled", "pending"].entries())
      await copy("deposits", i, { network, status: `'${status}'` });
    for (const [i, status] of ["confirmed", "failed", "funds_reserved", "confirmed"].entries())
      await copy("withdrawals", i, { network, state: `'${status}'` });
    await run(
      "INSERT INTO networks SELECT 'n', version, head, head_timestamp_s, finalized, window_from, 7 FROM networks",
    );
    await run(
      "INSERT INTO networks SELECT 'empty', version, head, head_timestamp_s, finalized, window_from, 7 FROM networks LIMIT 1",
    );
  });
  await evictDurableObject(old);
  const counted = await runInDurableObject(old, (_, { storage }) =>
    storage.sql.exec("SELECT network, tallies FROM networks ORDER BY network").toArray(),
  );
  expect(counted.slice(1)).toEqual([
    { network: "empty", tallies: '{"deposits":{},"withdrawals":{}}' },
    {
      network: "n",
      tallies: '{"deposits":{"pending":1,"settled":2},"withdrawals":{"confirmed":2,"failed":1}}',
    },
  ]);
});

/** An object as it was before the migrations from a number on, filled by these statements, and then brought up to date. */
async function upgraded<T>(
  [, namespace, { journal, migrations }]: (typeof KINDS)[number],
  from: number,
  filled: readonly string[],
  look: (sql: SqlStorage) => T,
): Promise<T> {
  const old = namespace.get(namespace.idFromName(`filled before ${from}`));
  await runInDurableObject(old, async (_, state) => {
    await state.storage.deleteAll();
    const entries = journal.entries.filter(({ idx }) => idx < from);
    await migrate(drizzle(state.storage), { journal: { entries: [...entries] }, migrations: { ...migrations } });
    for (const statement of filled) state.storage.sql.exec(statement);
  });
  await evictDurableObject(old);
  return runInDurableObject(old, (_, state) => look(state.storage.sql));
}

it("a tenant of before keeps what is due, its events and its keys, also those that are on the chain no more", async () => {
  const kind = KINDS.find(([name]) => name === "tenant");
  if (kind === undefined) throw new Error("there is a tenant");
  const deposit = (seq: number, status: string, due: number | null) =>
    `INSERT INTO deposits (seq, id, network, tx_id, transfer_index, address, account, asset, amount_units, status, epoch, rule,
       height, block_hash, timestamp_s, due_height, created_at)
     VALUES (${seq}, 'dep_${seq}', 'local', '0x${seq}', 'value', '0xa', 'a', 'native', '5', '${status}', 1, '3', 10, '0xb', 1, ${due}, 1)`;
  const found = await upgraded(
    kind,
    8,
    [
      "INSERT INTO networks VALUES ('local', 1, 12, 1, -1, 0, 0)",
      deposit(1, "settled", null),
      deposit(2, "pending", 14),
      deposit(3, "confirmed", 30),
      deposit(4, "reverted", null),
      ...[1, 2, 3].map(
        (
          n,
        ) => `INSERT INTO transfers (network, tx_id, transfer_index, address, asset, amount_units, height, block_hash, timestamp_s)
          VALUES ('local', '0x${n}', 'value', '0xa', 'native', '5', 10, '0xb', 1)`,
      ),
      "INSERT INTO events VALUES (1, 'evt_1', 'deposit.pending', 'dep_1', 1, '{}', 1)",
    ],
    (sql) => ({
      dues: sql.exec("SELECT dues FROM networks").one().dues,
      transfers: sql.exec("SELECT tx_id, gone FROM transfers ORDER BY tx_id").toArray(),
      lists: sql.exec("SELECT events FROM deposits").toArray(),
      events: sql.exec("SELECT id FROM events").toArray(),
    }),
  );
  expect(JSON.parse(String(found.dues))).toEqual({ height: [[14, 2, 3]], finalized: [] });
  expect(found.transfers).toEqual([1, 2, 3, 4].map((n) => ({ tx_id: `0x${n}`, gone: n === 4 ? 1 : 0 })));
  expect(found.lists).toEqual([1, 2, 3, 4].map(() => ({ events: null })));
  expect(found.events).toEqual([{ id: "evt_1" }]);
});

it("a scanner of before keeps its window's payments, by the block, and those that wait", async () => {
  const kind = KINDS.find(([name]) => name === "scanner");
  if (kind === undefined) throw new Error("there is a scanner");
  const transfer = (height: number, txId: string, tenant: number) =>
    `INSERT INTO transfers (height, tx_id, transfer_index, tenant, address, asset, amount_units, block_hash, timestamp_s, added_version)
     VALUES (${height}, '${txId}', 'value', ${tenant}, '0xa', 'native', '5', '0xb', 9, 3)`;
  const found = await upgraded(
    kind,
    3,
    [transfer(10, "0x1", 1), transfer(10, "0x2", 1), transfer(10, "0x3", 2), transfer(2 ** 52, "0x4", 1)],
    (sql) => ({
      mined: sql
        .exec("SELECT height, tenant, part, added_version, block_hash, timestamp_s, list FROM payments")
        .toArray(),
      waiting: sql.exec("SELECT tx_id FROM transfers").toArray(),
    }),
  );
  const row = { height: 10, part: 0, added_version: 3, block_hash: "0xb", timestamp_s: 9 };
  const entry = (txId: string) => [txId, "value", "0xa", "native", "5", 1, null];
  expect(found.mined.map(({ list, ...rest }) => ({ ...rest, list: JSON.parse(String(list)) }))).toEqual([
    { ...row, tenant: 1, list: [entry("0x1"), entry("0x2")] },
    { ...row, tenant: 2, list: [entry("0x3")] },
  ]);
  expect(found.waiting).toEqual([{ tx_id: "0x4" }]);
});

it("a wallet that was stopped for what its key signed elsewhere is known for it", async () => {
  const old = (TENANT as unknown as DurableObjectNamespace).get(TENANT.idFromName("before the incidents") as never);
  const { journal, migrations } = tenantMigrations as Migrations;
  const found = {
    a: ["stopped", "nonce 7 was spent by a transaction that is not ours: 0x1"],
    b: ["stopped", "nonces below 9 were spent by somebody else; the last of ours is 7"],
    c: ["stopped", "the signer did not sign what was asked for nonce 7: no"],
    d: ["active", "nonce 7 was spent by a transaction that is not ours: 0x1"],
  };
  await runInDurableObject(old, async (_, state) => {
    await state.storage.deleteAll();
    const entries = journal.entries.slice(0, 11);
    const earlier = Object.fromEntries(Object.entries(migrations).slice(0, 11));
    await migrate(drizzle(state.storage), { journal: { entries }, migrations: earlier });
    const run: Run = async (statement) => state.storage.sql.exec(statement).toArray();
    await fill(run);
    const columns = (await run("SELECT name FROM pragma_table_info('wallets')")).map(({ name }) => String(name));
    for (const [sender, [status, incident]] of Object.entries(found)) {
      const given: Record<string, string> = { sender, status: status ?? "", incident: incident ?? "" };
      const values = columns.map((name) => (given[name] === undefined ? name : `'${given[name]}'`));
      await run(`INSERT INTO wallets SELECT ${values.join(", ")} FROM wallets LIMIT 1`);
    }
  });
  await evictDurableObject(old);
  const stopped = await runInDurableObject(old, (_, { storage }) =>
    storage.sql.exec("SELECT sender FROM wallets WHERE stopped_for = 'foreign_spend' ORDER BY sender").toArray(),
  );
  expect(stopped).toEqual([{ sender: "a" }, { sender: "b" }]);
});
