/**
 * A scenario is run once in calm, which records its steps, and then once for each way of hitting each of them. After
 * every hit it goes on by alarms and by clients that repeat their requests, and by nothing else, until it rests.
 */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { time } from "../line.ts";
import { Machine, type Point, patiently, type Seen, textOf, type Way, waysOf } from "./machine.ts";

export const WAYS: readonly Way[] = ["before", "after", "lost", "twice"];
export const MANY_CRASHES_MS = 900_000;
/** The suite hits so many of the reads with one name in each scenario; SLUICE_ALL_CRASHES=1 hits all of them. */
const READS_HIT = 2;
const MAX_ROUNDS = 40;
const MAX_TRIES = 8;
const MAX_FAILURES = 3;

/** Whether every point and every pair is played, which takes many minutes. */
export const isWhole = (env as unknown as { SLUICE_ALL_CRASHES: string }).SLUICE_ALL_CRASHES === "1";

/** A way for the step that was not taken, and one for the step whose answer nobody got; all of them with SLUICE_ALL_CRASHES=1. */
export const SOME_WAYS: readonly Way[] = isWhole ? WAYS : ["before", "lost"];

export interface Run {
  /** Everything that is asked and mined, up to the rest at the end. */
  act(): Promise<void>;
  /** What must hold of it then. */
  check(): Promise<void>;
}

export const machine = new Machine();

/** One run. @returns its steps */
export async function play(prepare: () => Promise<Run>, plan: readonly Point[] = []): Promise<readonly Seen[]> {
  const run = await prepare();
  await machine.quiet();
  machine.begin(plan);
  try {
    await run.act();
    await machine.quiet();
  } finally {
    machine.end();
  }
  await run.check();
  return machine.seen;
}

/**
 * Hits every step that the calm run takes, in one way, and says how many points that were.
 * @param steps some that must be among them: a boundary that is no step any more is missed here
 */
export async function hitAll(
  name: string,
  prepare: () => Promise<Run>,
  way: Way,
  steps: readonly string[],
): Promise<void> {
  const seen = await play(prepare);
  expect(seen.map((one) => one.name)).toEqual(expect.arrayContaining([...steps]));
  const points = seen
    .filter((one) => waysOf(one).includes(way) && (isWhole || !isRepeatedRead(one)))
    .map((one) => ({ ...one, way }));
  const all = way === "before" ? `: ${stepsOf(seen)}` : "";
  console.log(`crash points, ${name}, ${way}: ${points.length} points of ${seen.length} steps${all}`);
  await playEach(
    prepare,
    points.map((point) => [point]),
  );
}

/** A question to a node that was asked before, at the same place of an earlier look. */
function isRepeatedRead({ name, occurrence }: Seen): boolean {
  return /^rpc (?!eth_send|sendraw)/.test(name) && occurrence > READS_HIT;
}

/** Plays each plan. The first points are always reached; of the later ones, says how often. */
export async function playEach(prepare: () => Promise<Run>, plans: readonly (readonly Point[])[]): Promise<number> {
  const failures: string[] = [];
  let whole = 0;
  for (const plan of plans) {
    if (failures.length >= MAX_FAILURES) break;
    try {
      await play(prepare, plan);
      if (machine.hits.length === 0) throw new Error("the step was not taken");
      if (machine.hits.length === plan.length) whole++;
    } catch (error) {
      const after = machine.hits.length === 0 ? "" : ` (hit ${machine.hits.length})`;
      failures.push(`${plan.map(textOf).join(", then ")}${after}: ${error instanceof Error ? error.message : error}`);
    }
  }
  expect(failures).toEqual([]);
  return whole;
}

/** Made anew for each call: a stub of an object that ended stays broken. */
export type FreshStub = () => DurableObjectStub;

/** Rings what is due, so many milliseconds later, until it is so. Between rings something may be mined. */
export async function until(
  isSo: () => Promise<boolean>,
  objects: readonly FreshStub[],
  { stepMs = 20_000, between = () => {} }: { stepMs?: number; between?: () => void } = {},
): Promise<void> {
  await machine.quiet();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    if (await patiently(isSo)) return;
    between();
    await ringAll(objects, stepMs);
  }
  throw new Error(`it did not come to rest in ${MAX_ROUNDS} rounds`);
}

export async function ringAll(objects: readonly FreshStub[], afterMs: number): Promise<void> {
  time.now += afterMs;
  for (const stub of objects) await ring(stub);
}

/** The alarm, if it is due. One that does not come to its end is run again, as the platform does. */
async function ring(stub: FreshStub): Promise<void> {
  const at = await patiently(() => runInDurableObject(stub(), (_, { storage }) => storage.getAlarm()));
  if (at === null || at > time.now) return;
  try {
    await runDurableObjectAlarm(stub());
  } catch {
    await machine.quiet();
    await patiently(() =>
      runInDurableObject(stub(), async (_, { storage }) => {
        if ((await storage.getAlarm()) === null) await storage.setAlarm(time.now);
      }),
    );
  }
  await machine.quiet();
}

/** A client that repeats its request until it is answered well. */
export async function insist(request: () => Promise<Response>): Promise<unknown> {
  let last = "";
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const response = await request().catch((error: unknown) => String(error));
    await machine.quiet();
    if (typeof response !== "string" && response.ok) return response.json();
    last = typeof response === "string" ? response : `${response.status} ${await response.text()}`;
  }
  throw new Error(`the request was never answered: ${last}`);
}

/** How often each step was taken, for the reader of a test's output. */
function stepsOf(seen: readonly Seen[]): string {
  const counts = new Map<string, number>();
  for (const { name } of seen) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, times]) => (times === 1 ? name : `${name} x${times}`)).join(", ");
}
