/**
 * A shop's receiver of Sluice's webhooks, with Express and SQLite. The line in the books, the balance and the inbox's
 * mark are one transaction, and the answer comes after it: the program may be killed at any moment, and each
 * deposit is credited once, each reversal taken back once.
 */

import { DatabaseSync } from "node:sqlite";
import express from "express";
import { Inbox, Sluice, type SluiceEvent, sqliteStorage, Webhooks, WebhookVerificationError } from "sluice";

const {
  DATABASE = "shop.sqlite",
  PORT = "3000",
  SLUICE_WEBHOOK_SECRET = "",
  SLUICE_API_KEY = "",
  SLUICE_URL = "http://127.0.0.1:8787",
} = process.env;

const db = new DatabaseSync(DATABASE);
db.exec(`
  PRAGMA journal_mode = WAL;
  -- What was acknowledged is on the disk, also after a power failure.
  PRAGMA synchronous = FULL;
  PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS entries (event TEXT NOT NULL, account TEXT NOT NULL, asset TEXT NOT NULL, units TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS balances (account TEXT NOT NULL, asset TEXT NOT NULL, units TEXT NOT NULL, PRIMARY KEY (account, asset)) STRICT;
`);
const enter = db.prepare("INSERT INTO entries VALUES (?, ?, ?, ?)");
const balance = db.prepare("SELECT units FROM balances WHERE account = ? AND asset = ?");
const setBalance = db.prepare("INSERT OR REPLACE INTO balances VALUES (?, ?, ?)");

const inbox = new Inbox({
  storage: sqliteStorage(db),
  // With a key, what a webhook left out is read from the event feed at once.
  feed: SLUICE_API_KEY === "" ? undefined : new Sluice({ apiKey: SLUICE_API_KEY, baseUrl: SLUICE_URL }).events,
  apply,
});

/** Runs inside the inbox's transaction. */
function apply(event: SluiceEvent): void {
  if (event.type === "deposit.confirmed") book(event, BigInt(event.data.amount_units));
  if (event.type === "deposit.reverted") book(event, -BigInt(event.data.amount_units));
}

/** Units are text: 18 decimals soon pass what an INTEGER of SQLite holds. */
function book({ id, data }: Extract<SluiceEvent, { type: `deposit.${string}` }>, units: bigint): void {
  const asset = `${data.network}/${data.asset}`;
  const before = BigInt(String(balance.get(data.account, asset)?.units ?? "0"));
  enter.run(id, data.account, asset, String(units));
  setBalance.run(data.account, asset, String(before + units));
}

const app = express();

// Raw: the signature is over the bytes as they came. No other body parser may stand before it.
app.post("/webhooks", express.raw({ type: "application/json", limit: "64kb" }), async (request, response) => {
  let event: SluiceEvent;
  try {
    event = await Webhooks.verify(request.body, request.headers, SLUICE_WEBHOOK_SECRET);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    response.status(400).send(error.reason);
    return;
  }
  // Whatever it throws is a 500 of Express: nothing was committed, and the event comes again.
  const received = await inbox.receive(event);
  if (received.outcome === "gap") response.set("retry-after", String(received.retryAfterS));
  response.status(received.status).end();
});

const server = app.listen(Number(PORT), "127.0.0.1", (error) => {
  if (error !== undefined) throw error;
  const address = server.address();
  console.log(`listens on ${typeof address === "object" ? address?.port : address}`);
});
