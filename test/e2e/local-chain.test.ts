/**
 * The local chain behind `npm start` comes back as it was: to whoever has read it before, it must not look
 * reorganised, shorter, or emptied of receipts.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startLocalChain } from "../../scripts/local-chain.mjs";
import { type Chain, chainAt, type Receipt } from "../support/anvil.ts";
import { deploy } from "../support/tokens.ts";

const PAYEE = "0x00000000000000000000000000000000000a11ce";

let path: string;
let running: Awaited<ReturnType<typeof startLocalChain>> | null;

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), "sluice-chain-"));
  running = null;
});
afterEach(async () => {
  await running?.stop();
  rmSync(path, { recursive: true, force: true });
});

async function start(): Promise<Chain> {
  running = await startLocalChain({ path, environment: {} }, process.env);
  return chainAt(running.url);
}

/** Everything a reader can have seen of every block. */
async function everything(chain: Chain): Promise<string[]> {
  const seen: string[] = [];
  for (let height = await chain.height(); height >= 0; height--) {
    const tag = `0x${height.toString(16)}`;
    const block = await chain.rpc<{ hash: string }>("eth_getBlockByNumber", [tag, true]);
    const receipts = await chain.rpc<Receipt[]>("eth_getBlockReceipts", [tag]);
    const logs = await chain.rpc("eth_getLogs", [{ blockHash: block.hash }]);
    const traces =
      height === 0 ? null : await chain.rpc("debug_traceBlockByHash", [block.hash, { tracer: "callTracer" }]);
    seen.unshift(JSON.stringify({ block, receipts, logs, traces }));
  }
  return seen;
}

async function busyChain(): Promise<Chain> {
  const chain = await start();
  const token = await deploy(chain, "Token", ["Coin", "COIN", 6]);
  await token.send("mint", [PAYEE, 1_000n]);
  await token.send("twice", [PAYEE, 5n]);
  const payer = await deploy(chain, "Payer", []);
  await payer.send("pay", [[PAYEE, PAYEE], 7n], 14n);
  await chain.pay(PAYEE, 1n);
  await chain.reorg(2);
  await chain.mine(30);
  return chain;
}

it("is the same after an orderly end: blocks, receipts, logs and traces", async () => {
  const before = await everything(await busyChain());
  await running?.stop();
  const chain = await start();
  expect(await everything(chain)).toEqual(before);

  // And it goes on from there.
  const { blockNumber } = await chain.pay(PAYEE, 1n);
  expect(Number(blockNumber)).toBe(before.length);
  const block = await chain.rpc<{ parentHash: string; timestamp: string }>("eth_getBlockByNumber", ["latest", false]);
  expect(before.at(-1)).toContain(`"hash":"${block.parentHash}"`);
  expect(Math.abs(Number(block.timestamp) - Date.now() / 1000)).toBeLessThan(60);
  await chain.reorg(5);
  expect(await chain.height()).toBe(before.length);
});

it("is the same after kill -9, half a second after its last block", async () => {
  const chain = await busyChain();
  const before = await everything(chain);
  await new Promise((resolve) => setTimeout(resolve, 500));
  process.kill(running?.running.pid ?? 0, "SIGKILL");
  expect(String(await running?.ended)).toContain("ended unexpectedly: anvil ended with SIGKILL");
  expect(await everything(await start())).toEqual(before);
});

it("is the same when it is long, then without the states that debug traces need", async () => {
  const long = await start();
  await long.mine(255);
  const payer = await deploy(long, "Payer", []);
  const { blockNumber, blockHash } = await payer.send("pay", [[PAYEE], 7n], 7n);
  const seen = (chain: Chain) =>
    Promise.all([
      chain.rpc("eth_getBlockByNumber", ["0x1", true]),
      chain.rpc("eth_getBlockByNumber", [blockNumber, true]),
      chain.rpc("eth_getBlockReceipts", [blockNumber]),
      chain.rpc("trace_block", [blockNumber]),
    ]);
  const before = await seen(long);
  expect(JSON.stringify(before[3])).toContain('"traceAddress":[0]');
  await running?.stop();
  const after = await start();
  expect(await seen(after)).toEqual(before);
  const traces = await after.rpc("debug_traceBlockByHash", [blockHash, { tracer: "callTracer" }]);
  expect(JSON.stringify(traces)).toContain("Resource not found");
});

it("keeps a balance that was set without a block, over an orderly end", async () => {
  const chain = await start();
  await chain.rpc("anvil_setBalance", [PAYEE, "0x2a"]);
  await running?.stop();
  expect(await (await start()).rpc("eth_getBalance", [PAYEE, "latest"])).toBe("0x2a");
});

it("takes a port of its own when several start at once", async () => {
  const folders = Array.from({ length: 4 }, (_, i) => join(path, String(i)));
  const started = await Promise.all(folders.map((at) => startLocalChain({ path: at, environment: {} }, process.env)));
  try {
    expect(new Set(started.map(({ url }) => url)).size).toBe(4);
    await Promise.all(started.map(({ url }, i) => chainAt(url).mine(i + 1)));
    expect(await Promise.all(started.map(({ url }) => chainAt(url).height()))).toEqual([1, 2, 3, 4]);
  } finally {
    await Promise.all(started.map((chain) => chain.stop()));
  }
});

it("never begins anew over a state that it cannot read", async () => {
  await start();
  await running?.stop();
  for (const broken of [Buffer.from("not gzip"), Buffer.alloc(0)]) {
    writeFileSync(join(path, "chain", "state.json.gz"), broken);
    await expect(start()).rejects.toThrow(/cannot be read.*Move the whole data folder away/s);
  }
});
