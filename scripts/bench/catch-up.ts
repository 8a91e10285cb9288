/**
 * Catching up: how fast the real service reads, checks and commits a chain it is behind, from its first question to the
 * node to confirmed deposits with their ledger entries and events, beside three that only fill a table.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Service, startService, TEMPLATE } from "../../test/support/service.ts";
import { PROJECT } from "../install.mjs";
import { type ChainShape, EMPTY_BLOCKS, TOKEN, UNITS, watchedAddress } from "./catch-up-chain.ts";
import { type Data, environmentFor, makeData, withMoreWatches } from "./catch-up-data.ts";
import { type BenchNode, startNode } from "./catch-up-served.ts";
import { installPeers, peerVersion } from "./peers.ts";
import { type Bench, type BenchOptions, type BenchResult, type Goal, inTurns, median, type Row } from "./result.ts";

const FEW = 1_000;
const MANY = 1_000_000;
const SPARSE: ChainShape = { blocks: 2_001, logsPerBlock: 10, watchedLogs: 5_050, watchedAddresses: FEW };
const DENSE: ChainShape = { blocks: 500, logsPerBlock: 200, watchedLogs: 5_050, watchedAddresses: FEW };
const GIVE_UP_AFTER_MS = 120_000;
const LOOK_EVERY_MS = 10;

interface Run {
  readonly seconds: number;
  readonly requests: number;
  readonly calls: number;
}

export const bench: Bench = {
  about:
    "a chain the service is behind, from the first question to confirmed deposits and events; with 10^3 and 10^6 addresses",
  async run(options: BenchOptions): Promise<BenchResult> {
    installPeers();
    const parts: { rows: Row[]; medians: Map<string, Run> }[] = [];
    for (const [variant, shape] of [
      ["sparse", SPARSE],
      ["dense", DENSE],
    ] as const) {
      parts.push(await measure(variant, options.quick ? smaller(shape) : shape, options));
    }
    const sparse = parts[0]?.medians ?? new Map();
    return {
      rows: parts.flatMap((part) => part.rows),
      goals: goalsOf(sparse, options.quick ? smaller(SPARSE) : SPARSE),
      notes: [
        `sparse: ${SPARSE.blocks} blocks of ${SPARSE.logsPerBlock} Transfers; dense: ${DENSE.blocks} of ${DENSE.logsPerBlock}; each in a transaction of its own, ${SPARSE.watchedLogs} to ${FEW} watched addresses`,
        `subsquid ${peerVersion("@subsquid/evm-processor")}; it and "all" read every log of the token and find the watched ones by themselves, as sluice does; "filtered" asks the node for them, which no node takes a million of`,
        "sluice's seconds end when the merchant can read the last deposit, confirmed, with its ledger entries and events; the others' with a table of logs",
      ],
    };
  },
};

let data: { few: Data; many: Data } | undefined;

async function makeBoth(url: string, few: number, many: number) {
  const data = await makeData(url, few);
  return { few: data, many: withMoreWatches(data, many - few) };
}

async function measure(variant: string, shape: ChainShape, { rounds, quick, say }: BenchOptions) {
  say(`${variant}: making the chain and the data folders`);
  const node = await startNode(shape);
  try {
    await node.open(EMPTY_BLOCKS - 1);
    // Both chains begin alike: what stands at the head of one stands at the other's.
    data ??= await makeBoth(node.url, shape.watchedAddresses, quick ? 10_000 : MANY);
    const { few, many } = data;
    say(`${variant}: measuring`);
    const contestants = {
      sluice: () => catchUp(node, few, shape, say),
      "sluice, 10^6 addresses": () => catchUp(node, many, shape, say),
      "raw fetch, all": () => peer(node, "raw", "all", shape),
      "raw fetch, filtered": () => peer(node, "raw", "filtered", shape),
      subsquid: () => peer(node, "subsquid", "filtered", shape),
      "viem loop, all": () => peer(node, "viem", "all", shape),
      "viem loop, filtered": () => peer(node, "viem", "filtered", shape),
    };
    const results = await inTurns<Run>(rounds, contestants);
    const medians = new Map(Object.entries(results).map(([subject, runs]) => [subject, middle(runs)]));
    return { rows: [...medians].map(([subject, run]) => rowOf(variant, subject, run, shape)), medians };
  } finally {
    node.stop();
  }
}

async function catchUp(node: BenchNode, data: Data, shape: ChainShape, say: (line: string) => void): Promise<Run> {
  await node.open(EMPTY_BLOCKS - 1);
  process.env[TEMPLATE] = data.folder;
  const service = await startService({ environment: environmentFor(node.url) });
  try {
    const head = EMPTY_BLOCKS + shape.blocks - 1;
    // So that the objects are awake, as in a service that runs.
    await scannedTo(service, data.key);
    await node.open(head);
    // A new address wakes the scanner.
    const address = watchedAddress(-1);
    const waking = service.api("POST", "/v1/addresses", { key: data.key, body: { network: "local", address } });
    await until(async () => (await newestDeposit(service, data.key)) === head, service);
    const toldAt = Date.now();
    const { requests, calls, firstAt } = await node.count();
    const { status } = await waking;
    if (status !== 201 || firstAt === null) throw new Error(`the scanner was not woken: ${status}`);
    await check(service, data.key, shape);
    const run = {
      seconds: (toldAt - firstAt) / 1_000,
      requests,
      calls: sum(calls),
    };
    say(JSON.stringify({ ...run, calls }));
    return run;
  } finally {
    await service.stop();
  }
}

async function peer(node: BenchNode, name: string, mode: string, shape: ChainShape): Promise<Run> {
  await node.open(EMPTY_BLOCKS + shape.blocks - 1);
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-peer-"));
  const addresses = Array.from({ length: shape.watchedAddresses }, (_, n) => watchedAddress(n));
  const range = { from: EMPTY_BLOCKS, to: EMPTY_BLOCKS + shape.blocks - 1 };
  const file = join(folder, "peer.sqlite");
  const task = { url: node.url, token: TOKEN, ...range, addresses, mode, file, logsPerBlock: shape.logsPerBlock };
  try {
    const script = join(PROJECT, "scripts", "bench", "peers", `catch-up-${name}.mjs`);
    const { seconds, kept } = await runScript(script, task);
    if (kept !== shape.watchedLogs) throw new Error(`${name} kept ${kept} transfers of ${shape.watchedLogs}`);
    const { requests, calls } = await node.count();
    return { seconds, requests, calls: sum(calls) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The script's last line, which is JSON. */
function runScript(script: string, task: object): Promise<{ seconds: number; kept: number }> {
  const child = spawn(process.execPath, ["--no-warnings", script], { stdio: ["pipe", "pipe", "ignore"] });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stdin.end(JSON.stringify(task));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      const last = output.trim().split("\n").at(-1) ?? "";
      if (code === 0 && last.startsWith("{")) resolve(JSON.parse(last));
      else reject(new Error(`${script} ended with ${code}: ${output.slice(-500)}`));
    });
  });
}

async function scannedTo(service: Service, key: string): Promise<number> {
  const { body } = await service.api<{ data: { scanned_to: number | null }[] }>("GET", "/v1/networks", { key });
  return body.data[0]?.scanned_to ?? -1;
}

/** Height of the last deposit the merchant can read, once it is confirmed: observations come in chain order. */
async function newestDeposit(service: Service, key: string): Promise<number> {
  type Deposits = { readonly data: readonly { readonly block_height: number; readonly status: string }[] };
  const { body } = await service.api<Deposits>("GET", "/v1/deposits?limit=1", { key });
  const [newest] = body.data;
  return newest !== undefined && newest.status !== "pending" ? newest.block_height : -1;
}

/** All that was paid stands in the ledger. */
async function check(service: Service, key: string, shape: ChainShape): Promise<void> {
  type Balances = { readonly data: readonly { readonly available: string }[]; readonly next_cursor: string | null };
  let millionths = 0;
  for (let cursor: string | null = ""; cursor !== null; ) {
    const path: string = `/v1/balances?limit=100${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
    const { body } = await service.api<Balances>("GET", path, { key });
    for (const { available } of body.data) millionths += Math.round(Number(available) * 1e6);
    cursor = body.next_cursor;
  }
  const wanted = Number(UNITS) * shape.watchedLogs;
  if (millionths !== wanted) throw new Error(`${millionths} units were credited of ${wanted}`);
}

async function until(holds: () => Promise<boolean>, service: Service): Promise<void> {
  const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`not caught up:\n${service.output().slice(-2_000)}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

function middle(runs: readonly Run[]): Run {
  const of = (figure: (run: Run) => number) => median(runs.map(figure));
  return { seconds: of((r) => r.seconds), requests: of((r) => r.requests), calls: of((r) => r.calls) };
}

function rowOf(variant: string, subject: string, run: Run, shape: ChainShape): Row {
  const figures = {
    seconds: run.seconds,
    "blocks/s": Math.round(shape.blocks / run.seconds),
    "logs/s": Math.round((shape.blocks * shape.logsPerBlock) / run.seconds),
    http_requests: run.requests,
    rpc_calls: run.calls,
  };
  return { variant, subject, figures };
}

function goalsOf(sparse: ReadonlyMap<string, Run>, shape: ChainShape): Goal[] {
  const seconds = (subject: string) => sparse.get(subject)?.seconds ?? Number.NaN;
  const requests = sparse.get("sluice")?.requests ?? Number.NaN;
  const rate = (name: string, than: string, subject: string, bound: number): Goal => ({
    name,
    measured: seconds(than) / seconds(subject),
    relation: ">=",
    bound,
  });
  return [
    rate("rate against subsquid", "subsquid", "sluice", 4),
    rate("rate against raw fetch of all logs", "raw fetch, all", "sluice", 0.5),
    rate("rate at 10^6 addresses against 10^3", "sluice", "sluice, 10^6 addresses", 0.8),
    { name: "HTTP requests per 1,000 blocks", measured: (1_000 * requests) / shape.blocks, relation: "<=", bound: 25 },
  ];
}

function smaller(shape: ChainShape): ChainShape {
  return { ...shape, blocks: Math.ceil(shape.blocks / 10), watchedLogs: shape.watchedLogs / 10, watchedAddresses: 100 };
}

function sum(calls: Readonly<Record<string, number>>): number {
  return Object.values(calls).reduce((total, n) => total + n, 0);
}
