/**
 * What a shop writes first: viem's getLogs in ranges and getBlock for each height, batched by viem, into SQLite. `filtered`
 * asks for the watched addresses' logs alone, `all` for every log of the token.
 */

import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { createPublicClient, http, parseAbiItem } from "viem";

const { url, token, from, to, addresses, mode, file, logsPerBlock } = JSON.parse(readFileSync(0, "utf8"));
/** viem refuses an answer above ten megabytes, and a log has some six hundred bytes. */
const MOST_LOGS_PER_STEP = 5_000;
const BLOCKS_PER_STEP = Math.max(1, Math.min(100, Math.floor(MOST_LOGS_PER_STEP / logsPerBlock)));
const event = parseAbiItem("event Transfer(address indexed from, address indexed to, uint256 value)");

const db = new DatabaseSync(file);
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  CREATE TABLE blocks (height INTEGER PRIMARY KEY, hash TEXT, parent TEXT, time INTEGER);
  CREATE TABLE transfers (block INTEGER, log INTEGER, tx TEXT, sender TEXT, receiver TEXT, amount TEXT, PRIMARY KEY (block, log))`);
const putBlock = db.prepare("INSERT INTO blocks VALUES (?, ?, ?, ?)");
const putTransfer = db.prepare("INSERT INTO transfers VALUES (?, ?, ?, ?, ?, ?)");
const watched = new Set(addresses.map((address) => address.toLowerCase()));
const client = createPublicClient({ transport: http(url, { batch: { batchSize: 100, wait: 0 } }) });

const startedAt = performance.now();
let kept = 0;
for (let first = from; first <= to; first += BLOCKS_PER_STEP) {
  const last = Math.min(to, first + BLOCKS_PER_STEP - 1);
  const receivers = mode === "filtered" ? { args: { to: addresses } } : {};
  const [logs, blocks] = await Promise.all([
    client.getLogs({ address: token, event, ...receivers, fromBlock: BigInt(first), toBlock: BigInt(last) }),
    Promise.all(
      Array.from({ length: last - first + 1 }, (_, n) => client.getBlock({ blockNumber: BigInt(first + n) })),
    ),
  ]);
  db.exec("BEGIN");
  for (const b of blocks) putBlock.run(Number(b.number), b.hash, b.parentHash, Number(b.timestamp));
  for (const { blockNumber, logIndex, transactionHash, args } of logs) {
    if (!watched.has(args.to.toLowerCase())) continue;
    putTransfer.run(Number(blockNumber), logIndex, transactionHash, args.from, args.to, args.value.toString());
    kept++;
  }
  db.exec("COMMIT");
}
console.log(JSON.stringify({ seconds: (performance.now() - startedAt) / 1_000, kept }));
