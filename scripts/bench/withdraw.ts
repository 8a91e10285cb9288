/**
 * How many withdrawals a tenant can ask for: the real API, one account that all of them are paid from, with each key claimed
 * in D1, the amount reserved, and the record, its steps, ledger entry and event committed. Beside it the same in PostgreSQL,
 * without an API in front, and a request that the Worker answers by itself.
 */

import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { PROJECT } from "../install.mjs";
import { installPeers, peerVersion } from "./peers.ts";
import { type Postgres, startPostgres } from "./postgres.ts";
import { type Bench, type BenchOptions, type BenchResult, inTurns, median, type Row } from "./result.ts";
import { load } from "./withdraw-load.ts";
import { openShop, runtimeProcess, type Shop } from "./withdraw-service.ts";

const CLIENTS = [1, 8, 64] as const;
const MOST = 64;

interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export const bench: Bench = {
  about: "withdrawals accepted per second, all of them from one account",
  run,
};

/** Its rows are left out where it does not start. */
function saying(say: (line: string) => void) {
  return (error: unknown): null => {
    say(String(error));
    return null;
  };
}

async function run({ rounds, quick, say }: BenchOptions): Promise<BenchResult> {
  const seconds = quick ? 1.5 : 3;
  installPeers();
  const [shop, postgres] = await Promise.all([openShop(), startPostgres().catch(saying(say))]);
  let accepted = 0;
  const withdraw = async (clients: number, forSeconds = seconds) => {
    const measured = await load(shop.service.port, clients, forSeconds, shop.nextWithdrawal);
    const taken = measured.statuses[201] ?? 0;
    if (taken !== measured.answers) throw new Error(`not all were accepted: ${JSON.stringify(measured.statuses)}`);
    accepted += taken;
    return measured;
  };
  try {
    await withdraw(8);
    const rows: Row[] = [];
    const perSecond = new Map<string, number>();
    for (const clients of CLIENTS) {
      say(`${clients} clients ...`);
      const results = await inTurns<Measured>(rounds, {
        sluice: () => withdraw(clients),
        hello: () => load(shop.service.port, clients, seconds / 2, shop.hello),
        ...(postgres === null ? {} : { postgres: () => withdrawFrom(postgres, clients, seconds) }),
      });
      for (const [subject, all] of Object.entries(results)) {
        const middle = (of: (one: Measured) => number) => median(all.map(of));
        perSecond.set(
          `${subject}/${clients}`,
          middle((one) => one.perSecond),
        );
        const figures = {
          per_second: middle((one) => one.perSecond),
          p50_ms: middle((one) => one.p50Ms),
          p99_ms: middle((one) => one.p99Ms),
        };
        rows.push({ variant: `${clients} clients`, subject, figures });
      }
    }
    const flushes = await flushesPer(shop, () => withdraw(MOST));
    if (flushes !== null) {
      rows.push({ variant: `${MOST} clients, traced`, subject: "sluice", figures: { ...flushes } });
    }
    await shop.check(accepted);
    const ratio = (perSecond.get(`sluice/${MOST}`) ?? 0) / (perSecond.get(`postgres/${MOST}`) ?? Number.NaN);
    return {
      rows,
      goals: [
        ...(postgres === null
          ? []
          : [{ name: `times PostgreSQL at ${MOST} clients`, measured: ratio, relation: ">=" as const, bound: 3 }]),
        ...(flushes === null
          ? []
          : [
              {
                name: `waits for the disk of the tenant's object, for each withdrawal at ${MOST} clients`,
                measured: flushes.tenant_fsyncs,
                relation: "<=" as const,
                bound: 0.1,
              },
            ]),
      ],
      notes: [
        `${accepted} withdrawals were accepted; the balance, the records, the events and the keys in D1 agree with that.`,
        "None is paid meanwhile: the chain's node does not answer.",
        "hello: GET /v1/withdrawals without a key, which the Worker refuses by itself.",
        postgres === null
          ? "PostgreSQL: none here."
          : `PostgreSQL: ${postgres.version}, fsync and synchronous_commit on, one function call a withdrawal over a Unix socket (pg ${peerVersion("pg")}).`,
        flushes === null ? "fsync: not counted, there is no strace." : "fsync: counted by strace in a run of its own.",
      ],
    };
  } finally {
    postgres?.stop();
    await shop.stop();
  }
}

async function withdrawFrom({ socket, port, user }: Postgres, clients: number, seconds: number): Promise<Measured> {
  const program = join(PROJECT, "scripts", "bench", "peers", "postgres-withdrawals.mjs");
  const args = [program, socket, String(port), user, String(clients), String(seconds)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}

/** Waits for the disk for each withdrawal, by whose file it was. Null without strace. */
async function flushesPer(
  { service }: Shop,
  work: () => Promise<{ readonly answers: number }>,
): Promise<{ readonly tenant_fsyncs: number; readonly d1_fsyncs: number } | null> {
  const args = ["-f", "-y", "-qq", "-e", "trace=fsync,fdatasync", "-p", String(runtimeProcess(service))];
  const tracer = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] });
  let seen = "";
  tracer.stderr.on("data", (text) => {
    seen += text;
  });
  const ended = new Promise<boolean>((resolve) => {
    tracer.once("error", () => resolve(false));
    tracer.once("exit", () => resolve(true));
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  const { answers } = await work();
  tracer.kill("SIGINT");
  if (!(await ended)) return null;
  const calls = seen.match(/f(?:data)?sync\(\d+<[^>]*>/g) ?? [];
  const of = (name: string) => calls.filter((call) => call.includes(name)).length / answers;
  return { tenant_fsyncs: of("-Tenant/"), d1_fsyncs: of("D1DatabaseObject/") };
}
