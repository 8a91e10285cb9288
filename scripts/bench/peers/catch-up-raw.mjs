/**
 * The least that reading a chain can be: fetch, JSON.parse, one prepared INSERT, one transaction a batch. It checks nothing.
 * `filtered` asks the node for the watched addresses' logs alone; `all` asks for every log of the token, and finds
 * the watched ones among them by itself, as one must who watches more than a filter holds.
 */

import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const { url, token, from, to, addresses, mode, file } = JSON.parse(readFileSync(0, "utf8"));
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const BLOCKS_PER_BATCH = 100;
const PARALLEL = 4;

const db = new DatabaseSync(file);
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  CREATE TABLE blocks (height INTEGER PRIMARY KEY, hash TEXT, parent TEXT, time INTEGER);
  CREATE TABLE transfers (block INTEGER, log INTEGER, tx TEXT, sender TEXT, receiver TEXT, amount TEXT, PRIMARY KEY (block, log))`);
const putBlock = db.prepare("INSERT INTO blocks VALUES (?, ?, ?, ?)");
const putTransfer = db.prepare("INSERT INTO transfers VALUES (?, ?, ?, ?, ?, ?)");
const topics = addresses.map((address) => `0x${address.slice(2).padStart(64, "0")}`);
const watched = new Set(topics);

const startedAt = performance.now();
let next = from;
let kept = 0;
async function lane() {
  while (next <= to) {
    const first = next;
    const last = Math.min(to, first + BLOCKS_PER_BATCH - 1);
    next = last + 1;
    const receivers = mode === "filtered" ? [topics] : [];
    const filter = {
      address: token,
      topics: [TRANSFER, null, ...receivers],
      fromBlock: hex(first),
      toBlock: hex(last),
    };
    const calls = [{ jsonrpc: "2.0", id: 0, method: "eth_getLogs", params: [filter] }];
    for (let height = first; height <= last; height++)
      calls.push({ jsonrpc: "2.0", id: calls.length, method: "eth_getBlockByNumber", params: [hex(height), false] });
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(calls),
    });
    const [{ result: logs }, ...headers] = await answer.json();
    db.exec("BEGIN");
    for (const { result: b } of headers) putBlock.run(Number(b.number), b.hash, b.parentHash, Number(b.timestamp));
    for (const log of logs) {
      if (!watched.has(log.topics[2])) continue;
      const amount = BigInt(log.data).toString();
      const [, sender, receiver] = log.topics;
      putTransfer.run(Number(log.blockNumber), Number(log.logIndex), log.transactionHash, sender, receiver, amount);
      kept++;
    }
    db.exec("COMMIT");
  }
}
await Promise.all(Array.from({ length: PARALLEL }, lane));
console.log(JSON.stringify({ seconds: (performance.now() - startedAt) / 1_000, kept }));

function hex(value) {
  return `0x${value.toString(16)}`;
}
