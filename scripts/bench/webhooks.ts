/**
 * Deliveries a second: the product's endpoint objects beside a bare loop of the same signed requests in the same runtime, and
 * beside two job queues whose workers send the same requests. All send to one sink, at the same concurrency.
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { PROJECT } from "../install.mjs";
import { installPeers, peerVersion } from "./peers.ts";
import { type Postgres, startPostgres } from "./postgres.ts";
import { type Redis, startRedis } from "./redis.ts";
import { type Bench, inTurns, median, type Row } from "./result.ts";
import { type Arrived, type Sink, startSink, startWorker, type WorkerServer } from "./webhooks-server.ts";

/** What an endpoint has under way at most. */
const PER_ENDPOINT = 5;
const VARIANTS = [
  { name: "1 endpoint", endpoints: 1 },
  { name: "20 endpoints", endpoints: 20 },
] as const;
const DELIVERIES = 10_000;
const DELIVERIES_QUICK = 2_000;
const LOOK_EVERY_MS = 20;
const RATE = "deliveries_per_s";
const WHOLE_RATE = "with_filling_per_s";

interface World {
  readonly worker: WorkerServer;
  readonly sink: Sink;
  readonly redis: Redis;
  readonly postgres: Postgres;
}

interface Load {
  readonly endpoints: number;
  /** To each endpoint. */
  readonly each: number;
}

/** Seconds for all deliveries. */
interface Measured {
  /** The queue was full before. */
  readonly drain: number;
  /** From the first event that was handed over. */
  readonly whole?: number;
  readonly disorder: number;
}

export const bench: Bench = {
  about: "signed webhook deliveries a second to a loopback receiver, in order within each subject",
  async run({ rounds, quick, say }) {
    installPeers();
    const world: World = {
      worker: await startWorker(),
      sink: await startSink(),
      redis: await startRedis(),
      postgres: await startPostgres(),
    };
    try {
      const total = quick ? DELIVERIES_QUICK : DELIVERIES;
      const rows: Row[] = [];
      for (const { name, endpoints } of VARIANTS) {
        const load = { endpoints, each: Math.floor(total / endpoints) };
        rows.push(...rowsOf(name, load, await measure(world, load, rounds, (line) => say(`${name}: ${line}`))));
      }
      return { rows, goals: goalsOf(rows), notes: notesOf(world, total) };
    } finally {
      await world.worker.stop();
      world.sink.stop();
      world.redis.stop();
      world.postgres.stop();
    }
  },
};

function measure(world: World, load: Load, rounds: number, say: (line: string) => void) {
  const said = (name: string, once: () => Promise<Measured>) => async () => {
    const measured = await once();
    const rate = Math.round((load.each * load.endpoints) / measured.drain);
    say(`${name} ${rate}/s${measured.disorder > 0 ? `, ${measured.disorder} out of order` : ""}`);
    return measured;
  };
  return inTurns<Measured>(rounds, {
    sluice: said("sluice", () => sluice(world, load)),
    "bare loop": said("bare loop", () => bareLoop(world, load)),
    BullMQ: said("BullMQ", () => queue(world, load, "bullmq")),
    "pg-boss": said("pg-boss", () => queue(world, load, "pg-boss")),
  });
}

/**
 * Twice: with a queue that fills while the sink holds its first answers back, measured from their release; and from the first
 * event handed over. Both end when every delivery is committed as delivered.
 */
async function sluice({ worker, sink }: World, load: Load): Promise<Measured> {
  const once = async (held: boolean) => {
    const run = newRun();
    const ids = Array.from({ length: load.endpoints }, (_, n) => `we_${run}${n}`);
    const secrets: Record<string, string> = {};
    for (const id of ids) {
      const url = `http://127.0.0.1:${sink.port}/${id}`;
      secrets[`/${id}`] = (await worker.ask<{ secret: string }>("/configure", { id, url })).secret;
    }
    const arrived = sink.expect(load.each * load.endpoints, secrets, held);
    const from = now();
    await Promise.all(ids.map((id) => worker.ask("/hand-over", { id, run, count: load.each })));
    if (held) sink.release();
    const came = await arrived;
    for (const id of ids) {
      while ((await worker.ask<{ open: boolean }>("/open", { id })).open) await pause(LOOK_EVERY_MS);
    }
    const endedAt = now();
    await Promise.all(ids.map((id) => worker.ask("/close", { id })));
    assertWell(came);
    if (came.disorder > 0) throw new Error(`${came.disorder} events came before the one before them`);
    return (endedAt - (held ? came.releasedAt : from)) / 1_000;
  };
  return { drain: await once(true), whole: await once(false), disorder: 0 };
}

async function bareLoop({ worker, sink }: World, load: Load): Promise<Measured> {
  const run = newRun();
  const secret = newSecret();
  const paths = Array.from({ length: load.endpoints }, (_, n) => `/bare-${n}`);
  const arrived = sink.expect(
    load.each * load.endpoints,
    Object.fromEntries(paths.map((path) => [path, secret])),
    false,
  );
  await Promise.all(
    paths.map((path) => {
      const url = `http://127.0.0.1:${sink.port}${path}`;
      return worker.ask("/bare", { url, secret, run, count: load.each, concurrency: PER_ENDPOINT });
    }),
  );
  const endedAt = now();
  const came = await arrived;
  assertWell(came);
  return { drain: (endedAt - came.firstAt) / 1_000, disorder: came.disorder };
}

async function queue({ sink, redis, postgres }: World, load: Load, peer: "bullmq" | "pg-boss"): Promise<Measured> {
  const run = newRun();
  const secret = newSecret();
  const secrets = Object.fromEntries(Array.from({ length: load.endpoints }, (_, n) => [`/${peer}-${n}`, secret]));
  const arrived = sink.expect(load.each * load.endpoints, secrets, false);
  const wanted = {
    ...{ redisPort: redis.port, postgres: postgres.url, sinkPort: sink.port, secrets, run },
    ...{ each: load.each, concurrency: load.endpoints * PER_ENDPOINT },
  };
  const { fillMs, drainMs } = await runPeer(peer, wanted);
  const came = await arrived;
  assertWell(came);
  return { drain: drainMs / 1_000, whole: (fillMs + drainMs) / 1_000, disorder: came.disorder };
}

function runPeer(peer: string, wanted: object): Promise<{ fillMs: number; drainMs: number }> {
  const path = join(PROJECT, "scripts", "bench", "peers", `${peer}.mjs`);
  const child = spawn(process.execPath, [path, JSON.stringify(wanted)], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (chunk) => {
    said += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve(JSON.parse(said)) : reject(new Error(`${peer} ended: ${code}`)),
    );
  });
}

function rowsOf(variant: string, load: Load, results: Record<string, Measured[]>): Row[] {
  const total = load.each * load.endpoints;
  return Object.entries(results).map(([subject, measured]) => {
    const wholes = measured.flatMap(({ whole }) => (whole === undefined ? [] : [whole]));
    return {
      variant,
      subject,
      figures: {
        [RATE]: Math.round(total / median(measured.map(({ drain }) => drain))),
        ...(wholes.length === 0 ? {} : { [WHOLE_RATE]: Math.round(total / median(wholes)) }),
        out_of_order: median(measured.map(({ disorder }) => disorder)),
      },
    };
  });
}

function goalsOf(rows: readonly Row[]) {
  const rate = (endpoints: number, subject: string) => {
    const variant = VARIANTS.find((one) => one.endpoints === endpoints)?.name;
    return rows.find((row) => row.variant === variant && row.subject === subject)?.figures[RATE] ?? Number.NaN;
  };
  const relation = ">=" as const;
  return [
    {
      name: "1 endpoint, share of the bare loop",
      measured: rate(1, "sluice") / rate(1, "bare loop"),
      relation,
      bound: 0.6,
    },
    ...["BullMQ", "pg-boss"].map((peer) => {
      const measured = rate(20, "sluice") / rate(20, peer);
      return { name: `20 endpoints, times ${peer}`, measured, relation, bound: 1.5 };
    }),
  ];
}

function notesOf({ redis, postgres }: World, total: number): string[] {
  return [
    `${total} deliveries of 1 KB in all, 4 events to a subject, ${PER_ENDPOINT} requests under way to each endpoint; the references have as many in all.`,
    `${RATE}: the queue was full before; until the last one is committed as delivered. ${WHOLE_RATE}: filling included, which the references do first and sluice meanwhile.`,
    `BullMQ ${peerVersion("bullmq")} on ${redis.version} (append-only file, synced each second); pg-boss ${peerVersion("pg-boss")} on ${postgres.version} (defaults), fetching and completing a hundred at a time.`,
    "out_of_order: events that came before the one before them in their subject. Neither queue keeps that order; sluice does, and fails the run otherwise.",
  ];
}

function assertWell({ checked, forged }: Arrived): void {
  if (checked === 0 || forged > 0) throw new Error(`of ${checked} signatures checked, ${forged} do not fit`);
}

/** Names that no other run has: four characters. */
function newRun(): string {
  return randomBytes(2).toString("hex");
}

function newSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

/** Unix ms with its fraction. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
