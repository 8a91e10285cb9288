/**
 * Subsquid's EVM processor from the node alone, filtered by the watched addresses, with a database of its own kind: the least
 * that the processor asks of one, in SQLite. Ends when the range is read.
 */

import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { EvmBatchProcessor } from "@subsquid/evm-processor";

const { url, token, from, to, addresses, file } = JSON.parse(readFileSync(0, "utf8"));
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

const db = new DatabaseSync(file);
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  CREATE TABLE status (height INTEGER, hash TEXT);
  CREATE TABLE transfers (block INTEGER, log INTEGER, tx TEXT, sender TEXT, receiver TEXT, amount TEXT, PRIMARY KEY (block, log))`);
const putTransfer = db.prepare("INSERT INTO transfers VALUES (?, ?, ?, ?, ?, ?)");
const putStatus = db.prepare("INSERT INTO status VALUES (?, ?)");
const topics = addresses.map((address) => `0x${address.slice(2).padStart(64, "0")}`);

let kept = 0;
const database = {
  async connect() {
    return { height: -1, hash: "0x" };
  },
  async transact({ nextHead }, run) {
    db.exec("BEGIN");
    await run(db);
    putStatus.run(nextHead.height, nextHead.hash);
    db.exec("COMMIT");
    if (nextHead.height >= to) done();
  },
};
const startedAt = performance.now();
new EvmBatchProcessor()
  .setRpcEndpoint({ url, capacity: 4, maxBatchCallSize: 100 })
  .setFinalityConfirmation(0)
  .setFields({ log: { topics: true, data: true, transactionHash: true } })
  .addLog({ address: [token], topic0: [TRANSFER], topic2: topics, range: { from, to } })
  .setBlockRange({ from, to })
  .run(database, async ({ blocks }) => {
    for (const block of blocks) {
      for (const { logIndex, transactionHash, topics: said, data } of block.logs) {
        putTransfer.run(block.header.height, logIndex, transactionHash, said[1], said[2], BigInt(data).toString());
        kept++;
      }
    }
  });

function done() {
  process.stdout.write(`${JSON.stringify({ seconds: (performance.now() - startedAt) / 1_000, kept })}\n`, () =>
    process.exit(),
  );
}
