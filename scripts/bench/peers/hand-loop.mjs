// What one writes by hand: viem, a poll each POLL_MS, every new block with its transactions, one signed POST for each
// payment to the address. It remembers nothing, retries nothing, follows no reorganisation and proves nothing.
import { createHmac, randomUUID } from "node:crypto";
import { createPublicClient, http } from "viem";

const { RPC, HOOK, SECRET, ADDRESS, POLL_MS } = process.env;
const client = createPublicClient({ transport: http(RPC) });
const key = Buffer.from(SECRET.slice("whsec_".length), "base64");

let read = await client.getBlockNumber();
console.log(JSON.stringify({ ready: true }));
for (;;) {
  const startedAt = performance.now();
  const head = await client.getBlockNumber({ cacheTime: 0 });
  while (read < head) {
    const block = await client.getBlock({ blockNumber: read + 1n, includeTransactions: true });
    for (const tx of block.transactions) {
      if (tx.to?.toLowerCase() === ADDRESS && tx.value > 0n) void tell(tx);
    }
    read += 1n;
  }
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, startedAt + Number(POLL_MS) - performance.now())));
}

async function tell(tx) {
  const id = randomUUID();
  const timestamp = String(Math.floor(Date.now() / 1000));
  const body = JSON.stringify({ type: "deposit.confirmed", data: { tx_id: tx.hash, amount: String(tx.value) } });
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
  await fetch(HOOK, { method: "POST", headers, body });
}
