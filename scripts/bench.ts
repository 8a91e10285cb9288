/**
 * Two figures of the deposit line on this machine, the real service against a loopback anvil:
 *
 * - catching up: how fast 2,001 blocks with 20,010 token transfers are read, checked and committed, with
 *   one transfer in a hundred to a watched address and with every one;
 * - latency: from a mined block to the webhook's arrival.
 *
 * `npm run bench`, about two minutes. Not a test: it asserts nothing about time.
 */

import { readFileSync } from "node:fs";
import { type Anvil, DEV_ACCOUNTS, type Hex, hex, startAnvil } from "../test/support/anvil.ts";
import { startReceiver } from "../test/support/receiver.ts";
import { type Service, startService } from "../test/support/service.ts";
import { type Contract, deploy } from "../test/support/tokens.ts";

const BLOCKS = 2_001;
const LOGS_PER_BLOCK = 10;
const ROUNDS = 40;
const POLL_MS = 100;
/** Longer than a run: the scanner reads when it is told to, not by itself. */
const NEVER_MS = 3_600_000;

const receiver = (n: number): Hex => `0x${(0xa11ce000 + n).toString(16).padStart(40, "0")}`;

async function benchCatchingUp(name: string, watchedEvery: number, native: boolean): Promise<void> {
  const anvil = await startAnvil();
  const NETWORKS = JSON.stringify({ local: { poll_ms: NEVER_MS, native, internal: false } });
  const service = await startService({ environment: { RPC_LOCAL: anvil.url, NETWORKS } });
  try {
    const token = await deploy(anvil, "Token", ["Bench", "BEN", 6]);
    await token.send("mint", [DEV_ACCOUNTS[0], 10n ** 18n]);
    const { key } = await service.signUp();
    await must(service, "POST", "/v1/assets", key, { network: "local", contract: token.address });
    const receivers = 1_000;
    for (let n = 0; n < receivers; n += watchedEvery) {
      await must(service, "POST", "/v1/addresses", key, { network: "local", address: receiver(n) });
    }
    // Each new address has woken the scanner; it must be at rest before the chain grows.
    await rest(2_000);
    await anvil.rpc("evm_setAutomine", [false]);
    await fill(anvil, token, receivers);
    const head = await anvil.height();

    const before = await heightRead(service, key);
    const startedAt = performance.now();
    // A new address wakes the scanner.
    const waking = must(service, "POST", "/v1/addresses", key, { network: "local", address: receiver(receivers + 1) });
    while ((await heightRead(service, key)) < head) await rest(5);
    const seconds = (performance.now() - startedAt) / 1_000;
    while ((await newestDeposit(service, key)) < head - receivers / LOGS_PER_BLOCK) await rest(5);
    const toldAfter = (performance.now() - startedAt) / 1_000;
    await waking;
    const blocks = head - before;
    const logs = BLOCKS * LOGS_PER_BLOCK;
    console.log(
      `catching up, ${name}: ${blocks} blocks, ${logs} logs in ${seconds.toFixed(2)} s: ` +
        `${Math.round(blocks / seconds)} blocks/s, ${Math.round(logs / seconds)} logs/s, ` +
        `all ${Math.floor(logs / watchedEvery)} deposits told after ${toldAfter.toFixed(2)} s, ` +
        `runtime's peak memory ${peakMemoryMiB(service)} MiB`,
    );
  } finally {
    await service.stop();
    await anvil.stop();
  }
}

/** One transaction a block, ten transfers each, to the receivers in turn. */
async function fill(anvil: Anvil, token: Contract, receivers: number): Promise<void> {
  let next = 0;
  const amounts = Array.from({ length: LOGS_PER_BLOCK }, () => 1_000_000n);
  const before = await anvil.height();
  for (let block = 0; block < BLOCKS; block++) {
    const to = Array.from({ length: LOGS_PER_BLOCK }, () => receiver(next++ % receivers));
    const data = token.encode("batch", [to, amounts]);
    await anvil.rpc("eth_sendTransaction", [{ from: DEV_ACCOUNTS[0], to: token.address, data, gas: hex(2_000_000) }]);
    await anvil.mine();
  }
  const filter = { fromBlock: hex(before + 1), toBlock: "latest", address: token.address };
  const logs = await anvil.rpc<unknown[]>("eth_getLogs", [filter]);
  if (logs.length !== BLOCKS * LOGS_PER_BLOCK) throw new Error(`the chain holds ${logs.length} logs`);
}

async function benchLatency(): Promise<void> {
  const anvil = await startAnvil(["--no-mining"]);
  const NETWORKS = JSON.stringify({ local: { poll_ms: POLL_MS, confirmations: 1 } });
  const service = await startService({ environment: { RPC_LOCAL: anvil.url, NETWORKS } });
  const merchant = await startReceiver();
  try {
    const { key } = await service.signUp();
    await must(service, "POST", "/v1/webhook-endpoints", key, {
      url: `${merchant.url}/hook`,
      events: ["deposit.confirmed"],
    });
    await must(service, "POST", "/v1/addresses", key, { network: "local", address: receiver(0) });
    const delays: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await anvil.send({ to: receiver(0), value: 1n });
      await rest(Math.random() * POLL_MS);
      await anvil.mine();
      const minedAt = Date.now();
      const requests = await merchant.waitFor(round + 1, 20_000);
      delays.push((requests[round]?.at ?? Number.NaN) - minedAt);
    }
    delays.sort((a, b) => a - b);
    const at = (share: number) => delays[Math.min(delays.length - 1, Math.floor(delays.length * share))];
    const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length;
    console.log(
      `mined block to webhook, polling each ${POLL_MS} ms, ${ROUNDS} rounds: ` +
        `median ${at(0.5)} ms, 95th ${at(0.95)} ms, mean ${mean.toFixed(0)} ms ` +
        `(${(mean - POLL_MS / 2).toFixed(0)} ms beyond the mean wait for the poll)`,
    );
  } finally {
    await service.stop();
    await merchant.close();
    await anvil.stop();
  }
}

async function heightRead(service: Service, key: string): Promise<number> {
  const { body } = await service.api<{ data: { scanned_to: number | null }[] }>("GET", "/v1/networks", { key });
  return body.data[0]?.scanned_to ?? -1;
}

/** Height of the last deposit the merchant can see: observations come in chain order. */
async function newestDeposit(service: Service, key: string): Promise<number> {
  const { body } = await service.api<{ data: { block_height: number }[] }>("GET", "/v1/deposits?limit=1", { key });
  return body.data[0]?.block_height ?? -1;
}

async function must(service: Service, method: string, path: string, key: string, body: unknown): Promise<void> {
  const answer = await service.api(method, path, { key, body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}

/** Highest resident size that workerd has had, as the kernel counts it. */
function peakMemoryMiB(service: Service): number {
  let peak = 0;
  for (const pid of service.processes()) {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    if (!/^Name:\s+workerd/m.test(status)) continue;
    peak = Math.max(peak, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024);
  }
  return Math.round(peak);
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

await benchCatchingUp("one log in a hundred watched, tokens alone", 100, false);
await benchCatchingUp("one log in a hundred watched, tokens and native", 100, true);
await benchCatchingUp("every log watched, tokens alone", 1, false);
await benchLatency();
