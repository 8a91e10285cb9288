/**
 * A program with a SQLite database of its own that credits deposits with `DepositWatcher`. One transaction holds
 * the credit and the watcher's state, so it may be killed at any moment and started again: each deposit is credited
 * once, and each reversal taken back once.
 *
 *   DATABASE=deposits.db RPC_URL=http://127.0.0.1:8545 node examples/watcher-sqlite/watch.ts
 *
 * The addresses are the rows of its table `addresses`. Outside this repository the import is from "sluice/watcher".
 */

import { DatabaseSync } from "node:sqlite";
import {
  ChainFault,
  DepositWatcher,
  evmSource,
  type PollResult,
  type WatchedAddress,
  type WatcherState,
} from "../../src/watcher/index.ts";

const { DATABASE = "deposits.db", RPC_URL = "http://127.0.0.1:8545", POLL_MS = "1000" } = process.env;

const db = new DatabaseSync(DATABASE);
db.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS addresses (address TEXT PRIMARY KEY, start_height INTEGER);
  CREATE TABLE IF NOT EXISTS watcher (network TEXT PRIMARY KEY, revision INTEGER NOT NULL, state TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS entries (
    network TEXT NOT NULL, tx_id TEXT NOT NULL, transfer_index TEXT NOT NULL,
    epoch INTEGER NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('credit', 'reversal')),
    address TEXT NOT NULL, asset TEXT NOT NULL, amount_units TEXT NOT NULL,
    PRIMARY KEY (network, tx_id, transfer_index, epoch, kind)
  ) STRICT;
`);

const insertEntry = db.prepare("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
const replaceState = db.prepare("UPDATE watcher SET revision = ?, state = ? WHERE network = ? AND revision = ?");
const source = evmSource({ urls: [RPC_URL], network: "local" });
db.prepare("INSERT OR IGNORE INTO watcher VALUES (?, 0, 'null')").run(source.network.id);

/** Credits, reversals and state: all of it or nothing, and only over the state that the poll began with. */
function commit({ reverted, confirmed, baseRevision, state }: PollResult): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const [kind, list] of [["reversal", reverted] as const, ["credit", confirmed] as const]) {
      for (const d of list) {
        const units = d.amountUnits.toString();
        insertEntry.run(d.network, d.txId, d.transferIndex, d.epoch, kind, d.address, d.asset, units);
      }
    }
    const { changes } = replaceState.run(state.revision, JSON.stringify(state), state.network, baseRevision);
    if (changes !== 1) throw new Error(`another program has moved the state on from revision ${baseRevision}`);
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

function addresses(): WatchedAddress[] {
  const rows = db.prepare("SELECT address, start_height FROM addresses").all();
  return rows.map((row) => ({
    address: String(row.address),
    ...(row.start_height === null ? {} : { startHeight: Number(row.start_height) }),
  }));
}

function storedState(): WatcherState | null {
  const row = db.prepare("SELECT state FROM watcher WHERE network = ?").get(source.network.id);
  return JSON.parse(String(row?.state)) as WatcherState | null;
}

const watcher = new DepositWatcher(source, addresses(), {
  policy: { default: 3 },
  reorgDepth: 20,
  state: storedState(),
});

for (;;) {
  let more = false;
  try {
    // One by one: a call takes no hundred thousand arguments.
    for (const address of addresses()) watcher.add(address);
    ({ more } = await watcher.poll(commit));
  } catch (error) {
    // A provider that fails is asked again. Whatever else happens ends the program: it starts from what is stored.
    if (!(error instanceof ChainFault) || !error.retryable) throw error;
    console.error(error.message);
  }
  if (!more) await new Promise((resolve) => setTimeout(resolve, Number(POLL_MS)));
}
