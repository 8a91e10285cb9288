/**
 * The deposit line, live: a block with a payment is mined at a random moment between two polls, and a webhook about it
 * is received and verified. Beside it, in the same blocks, a loop written by hand; and below both, the wait for the
 * poll, which nobody who polls can spare.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type Anvil, DEV_ACCOUNTS, startAnvil } from "../../test/support/anvil.ts";
import { PROJECT } from "../install.mjs";
import { type Merchant, startMerchant } from "./live-merchant.ts";
import { type Asked, type Provider, startProvider } from "./live-provider.ts";
import { openShop, PAID } from "./live-shop.ts";
import { type Bench, type BenchOptions, type Goal, quantile, type Row } from "./result.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const STRANGER = DEV_ACCOUNTS[2];

export const bench: Bench = {
  about: "from a mined block to a verified webhook, and what a block costs in calls to the provider",
  run: async ({ quick, say }) => {
    const blocks = quick ? 20 : 200;
    const variants = [
      { pollMs: 200, tenants: 1, blocks, overlapping: false },
      { pollMs: 200, tenants: 10_000, blocks, overlapping: false },
      { pollMs: 1_000, tenants: 1, blocks, overlapping: true },
    ];
    const rows: Row[] = [];
    const goals: Goal[] = [];
    for (const variant of variants) {
      const measured = await measure(variant, say);
      rows.push(...measured.rows);
      goals.push(...measured.goals);
    }
    return { rows, goals, notes: NOTES };
  },
};

const NOTES = [
  "Each block holds one native payment, confirmed at 1 block. At a poll of 200 ms a block is mined at a random moment after the webhooks",
  "of the one before it; at 1,000 ms at random intervals of 0 to 500 ms, whatever is under way. Mined = when anvil was asked to mine.",
  "poll_wait: from there to the first request of the poll that finds it. after: from that request to the verified webhook.",
  "http: HTTP requests; calls: JSON-RPC calls in them (a batch is one request). Counted by a provider in between, for the poll that finds",
  "the block, its own question where the chain stands included; idle: a poll that finds none.",
  "9,999 of the 10,000 tenants are rows written into the scanner's database while the service was down; the one that is paid signed up.",
  "hand-written: viem, a poll each P, no database, no retry, no reorganisations, no check of anything it reads.",
];

interface Variant {
  readonly pollMs: number;
  readonly tenants: number;
  readonly blocks: number;
  /** Blocks come without waiting for what was told of the one before. */
  readonly overlapping: boolean;
}

interface Mined {
  readonly txId: string;
  /** `performance.now()` when anvil was asked to mine, and when it had. */
  readonly from: number;
  readonly to: number;
}

interface Subject {
  readonly name: string;
  readonly provider: Provider;
  readonly merchant: Merchant;
}

async function measure(variant: Variant, say: BenchOptions["say"]): Promise<{ rows: Row[]; goals: Goal[] }> {
  const { pollMs, tenants } = variant;
  const name = `P ${pollMs} ms, ${tenants} ${tenants === 1 ? "tenant" : "tenants"}`;
  say(name);
  const chain = await startAnvil(["--no-mining"]);
  const network = { poll_ms: pollMs, confirmations: 1 };
  const shop = await openShop({ node: chain.url, network, events: ["deposit.confirmed"], tenants });
  const loop = await startLoop(chain.url, pollMs);
  try {
    const subjects: Subject[] = [{ name: "sluice", ...shop }, loop];
    await chain.mine();
    await rest(2 * pollMs + 500);
    const mined = await mineAll(chain, variant, subjects);
    const empty = await mineAlone(chain, pollMs, null);
    const foreign = await mineAlone(chain, pollMs, STRANGER);
    const rows = subjects.map((subject) => ({
      variant: name,
      subject: subject.name,
      figures: { ...latencies(subject, mined), ...costs(subject, variant, { mined, empty, foreign }) },
    }));
    rows.push({ variant: name, subject: "the wait alone", figures: { p50_ms: pollMs / 2, p99_ms: pollMs * 0.99 } });
    const figures: Readonly<Record<string, number>> = rows[0]?.figures ?? {};
    return { rows, goals: goalsOf(name, variant, figures) };
  } finally {
    await loop.stop();
    await shop.stop();
    await chain.stop();
  }
}

function goalsOf(name: string, { pollMs, overlapping }: Variant, figures: Readonly<Record<string, number>>): Goal[] {
  const atMost = (figure: string, bound: number): Goal => {
    return { name: `${name}, ${figure}`, measured: figures[figure] ?? Number.NaN, relation: "<=", bound };
  };
  const times = [atMost("p50_ms", pollMs / 2 + 20), atMost("p99_ms", pollMs + 50)];
  return overlapping ? times : [...times, atMost("http", 2)];
}

async function mineAll(chain: Anvil, variant: Variant, subjects: readonly Subject[]): Promise<Mined[]> {
  const mined: Mined[] = [];
  const hear = (txId: string) =>
    Promise.all(subjects.map(({ merchant }) => merchant.heard((told) => told.txId === txId)));
  for (let n = 0; n < variant.blocks; n++) {
    const block = await mineWith(chain, PAID, (Math.random() * variant.pollMs) / (variant.overlapping ? 2 : 1));
    mined.push(block);
    if (!variant.overlapping) await hear(block.txId);
  }
  for (const { txId } of mined) await hear(txId);
  return mined;
}

/** Blocks of which each has a poll of its own. */
async function mineAlone(chain: Anvil, pollMs: number, to: string | null): Promise<Mined[]> {
  const mined: Mined[] = [];
  for (let n = 0; n < 10; n++) {
    mined.push(await mineWith(chain, to, Math.random() * pollMs));
    await rest(pollMs + 100);
  }
  return mined;
}

async function mineWith(chain: Anvil, to: string | null, afterMs: number): Promise<Mined> {
  const txId = to === null ? "" : await chain.send({ to: to as `0x${string}`, value: 1n });
  await rest(afterMs);
  const from = performance.now();
  await chain.mine();
  return { txId, from, to: performance.now() };
}

function latencies({ provider, merchant }: Subject, mined: readonly Mined[]): Record<string, number> {
  const polls = provider.asked.filter(({ beginsPoll }) => beginsPoll);
  const told = new Map(merchant.told.map(({ txId, at }) => [txId, at]));
  const whole: number[] = [];
  const waits: number[] = [];
  const afters: number[] = [];
  for (const { txId, from } of mined) {
    const toldAt = told.get(txId) ?? Number.NaN;
    const pollAt = polls.find(({ at }) => at >= from)?.at ?? Number.NaN;
    whole.push(toldAt - from);
    waits.push(pollAt - from);
    afters.push(toldAt - pollAt);
  }
  return {
    p50_ms: quantile(whole, 0.5),
    p99_ms: quantile(whole, 0.99),
    poll_wait_p50_ms: quantile(waits, 0.5),
    after_p50_ms: quantile(afters, 0.5),
    after_p99_ms: quantile(afters, 0.99),
  };
}

/** Means over blocks, when each has a poll of its own. */
function costs(
  { provider }: Subject,
  { overlapping }: Variant,
  { mined, empty, foreign }: Readonly<Record<"mined" | "empty" | "foreign", readonly Mined[]>>,
): Record<string, number> {
  const polls = pollsIn(provider.asked);
  const found = new Set<Poll>();
  const costOf = (blocks: readonly Mined[]) => {
    const costs = blocks.map((block) => {
      const poll = pollThatFinds(polls, block);
      found.add(poll);
      return poll;
    });
    const mean = (of: (poll: Poll) => number) => costs.reduce((sum, poll) => sum + of(poll), 0) / costs.length;
    return { http: mean(({ requests }) => requests), calls: mean(({ calls }) => calls) };
  };
  const ours = costOf(mined);
  const [none, others] = [costOf(empty), costOf(foreign)];
  const idle = polls.filter((poll) => !found.has(poll) && poll.at > (mined[0]?.from ?? 0));
  return {
    ...(overlapping ? {} : { http: ours.http, calls: ours.calls }),
    empty_http: none.http,
    empty_calls: none.calls,
    foreign_http: others.http,
    foreign_calls: others.calls,
    idle_http: idle.reduce((sum, { requests }) => sum + requests, 0) / idle.length,
    idle_calls: idle.reduce((sum, { calls }) => sum + calls, 0) / idle.length,
  };
}

interface Poll {
  readonly at: number;
  requests: number;
  calls: number;
}

function pollsIn(asked: readonly Asked[]): Poll[] {
  const polls: Poll[] = [];
  for (const { at, methods, beginsPoll } of asked) {
    if (beginsPoll) polls.push({ at, requests: 0, calls: 0 });
    const poll = polls.at(-1);
    if (poll === undefined) continue;
    poll.requests++;
    poll.calls += methods.length;
  }
  return polls;
}

/** Of a poll that began while anvil mined it cannot be said: the larger one of it and the next has the block. */
function pollThatFinds(polls: readonly Poll[], { from, to }: Mined): Poll {
  const after = polls.findIndex(({ at }) => at >= to);
  const known = polls.slice(0, after + 1).filter(({ at }) => at >= from - 5);
  const [largest] = known.sort((a, b) => b.requests - a.requests);
  if (after === -1 || largest === undefined) throw new Error("no poll came after a block");
  return largest;
}

async function startLoop(node: string, pollMs: number): Promise<Subject & { stop(): Promise<void> }> {
  const provider = await startProvider(node);
  const merchant = await startMerchant();
  merchant.setSecret(SECRET);
  const child = spawn(process.execPath, [join(PROJECT, "scripts", "bench", "peers", "hand-loop.mjs")], {
    env: { RPC: provider.url, HOOK: merchant.url, SECRET, ADDRESS: PAID, POLL_MS: String(pollMs) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return {
    name: "hand-written",
    provider,
    merchant,
    stop: async () => {
      child.kill("SIGKILL");
      await merchant.close();
      await provider.close();
    },
  };
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
