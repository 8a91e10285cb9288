/**
 * The same withdrawals as one function of PostgreSQL each, so that a request costs one way there and back: the key, the
 * conditional update of the one balance, the withdrawal, its two steps, the ledger entry and the event in one transaction.
 *
 * argv: folder of the socket, port, user, clients, seconds. Prints what it did as JSON.
 */

import { randomUUID } from "node:crypto";
import pg from "pg";

const [socket, port, user, clients, seconds] = process.argv.slice(2);

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS balances (account text, network text, asset text, available numeric NOT NULL CHECK (available >= 0),
    reserved numeric NOT NULL, settled numeric NOT NULL, debt numeric NOT NULL, PRIMARY KEY (account, network, asset));
  CREATE TABLE IF NOT EXISTS idempotency_keys (account text, key text, fingerprint text NOT NULL, withdrawal_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (account, key));
  CREATE TABLE IF NOT EXISTS withdrawals (seq bigserial PRIMARY KEY, id text NOT NULL UNIQUE, account text NOT NULL,
    idempotency_key text NOT NULL, fingerprint text NOT NULL, network text NOT NULL, asset text NOT NULL,
    destination text NOT NULL, amount numeric NOT NULL, state text NOT NULL, metadata jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), UNIQUE (idempotency_key, account));
  CREATE INDEX IF NOT EXISTS withdrawals_account ON withdrawals (account);
  CREATE INDEX IF NOT EXISTS withdrawals_open ON withdrawals (network, state) WHERE state NOT IN ('confirmed', 'failed');
  CREATE INDEX IF NOT EXISTS withdrawals_recent ON withdrawals (asset, network, created_at);
  CREATE TABLE IF NOT EXISTS transitions (withdrawal_id text, number int, from_state text, to_state text NOT NULL,
    reason text NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (withdrawal_id, number));
  CREATE TABLE IF NOT EXISTS ledger_entries (seq bigserial PRIMARY KEY, journal_id text NOT NULL, line int NOT NULL,
    account text NOT NULL, network text NOT NULL, asset text NOT NULL, from_bucket text NOT NULL, to_bucket text NOT NULL,
    amount numeric NOT NULL, cause_type text NOT NULL, cause_id text NOT NULL, event_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), UNIQUE (journal_id, line));
  CREATE INDEX IF NOT EXISTS ledger_entries_account ON ledger_entries (account);
  CREATE TABLE IF NOT EXISTS events (sequence bigserial PRIMARY KEY, id text NOT NULL UNIQUE, type text NOT NULL,
    subject text NOT NULL, subject_sequence int NOT NULL, body text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (subject, subject_sequence));
  INSERT INTO balances VALUES ('hot', 'local', 'ETH', 5000000000000000000000, 0, 0, 0) ON CONFLICT DO NOTHING;
  CREATE OR REPLACE FUNCTION withdraw(k text, f text, w text, e text, amt numeric, event text) RETURNS text AS $$
  BEGIN
    INSERT INTO idempotency_keys (account, key, fingerprint, withdrawal_id) VALUES ('hot', k, f, w) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RETURN 'replayed'; END IF;
    INSERT INTO withdrawals (id, account, idempotency_key, fingerprint, network, asset, destination, amount, state, metadata)
      VALUES (w, 'hot', k, f, 'local', 'ETH', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', amt, 'funds_reserved', '{}');
    INSERT INTO transitions (withdrawal_id, number, from_state, to_state, reason)
      VALUES (w, 1, NULL, 'request_received', 'requested'), (w, 2, 'request_received', 'funds_reserved', 'reserved');
    INSERT INTO ledger_entries (journal_id, line, account, network, asset, from_bucket, to_bucket, amount, cause_type, cause_id, event_id)
      VALUES ('jrn_' || w, 0, 'hot', 'local', 'ETH', 'available', 'reserved', amt, 'withdrawal.reserved', w, e);
    INSERT INTO events (id, type, subject, subject_sequence, body) VALUES (e, 'withdrawal.updated', w, 1, event);
    -- Last: everybody waits for this row from here to the end of the commit.
    UPDATE balances SET available = available - amt, reserved = reserved + amt
      WHERE account = 'hot' AND network = 'local' AND asset = 'ETH' AND available >= amt;
    IF NOT FOUND THEN RAISE EXCEPTION 'insufficient funds'; END IF;
    RETURN 'accepted';
  END $$ LANGUAGE plpgsql`;

const connect = async () => {
  const client = new pg.Client({ host: socket, port: Number(port), user, database: "postgres" });
  await client.connect();
  return client;
};

const first = await connect();
await first.query(SCHEMA);
const countKeys = async () => Number((await first.query("SELECT count(*) AS n FROM withdrawals")).rows[0].n);
const before = await countKeys();

const lines = await Promise.all(Array.from({ length: Number(clients) }, connect));
const latencies = [];
const body = JSON.stringify({ type: "withdrawal.updated", data: "x".repeat(900) });
const from = performance.now();
const until = from + Number(seconds) * 1_000;
await Promise.all(
  lines.map(async (client) => {
    while (performance.now() < until) {
      const sent = performance.now();
      const id = randomUUID();
      const { rows } = await client.query({
        name: "withdraw",
        text: "SELECT withdraw($1, $2, $3, $4, $5, $6) AS done",
        values: [`payout-${id}`, "f".repeat(64), `wd_${id}`, `evt_${id}`, "1000000000000", body],
      });
      if (rows[0].done !== "accepted") throw new Error(rows[0].done);
      latencies.push(performance.now() - sent);
    }
  }),
);
const took = (performance.now() - from) / 1_000;
const { rows } = await first.query("SELECT reserved = (SELECT sum(amount) FROM withdrawals) AS agree FROM balances");
if (rows[0].agree !== true || (await countKeys()) - before !== latencies.length)
  throw new Error("the books do not agree");
await Promise.all([first, ...lines].map((client) => client.end()));

latencies.sort((a, b) => a - b);
const at = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))];
console.log(JSON.stringify({ perSecond: latencies.length / took, p50Ms: at(0.5), p99Ms: at(0.99) }));
