/**
 * Owns: `npm run simulate`. Builds the simulator once and runs seeds of it in as many processes as there are
 * cores. Prints the story of every seed that failed; the exit code says whether one did.
 *
 *   npm run simulate -- --seed 1 --runs 1000 --events 1500 [--processes 2] [--report file.json] [--reach]
 *
 * With --reach it is a failure, too, when the run never met something that a long one must meet.
 */

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { neverReached } from "../test/simulation/reach.ts";
import { buildSimulation } from "./simulation-build.mjs";

/** A process is fast when it has run some of them. Short enough that no process is left alone for long. */
const MOST_SEEDS_PER_PROCESS = 100;
const LEAST_SEEDS_PER_PROCESS = 10;
const STORY_LINES = 60;
/** Counts of what the product and its people did. All others are of faults. */
const OF_THE_PRODUCT = /^(step|event|outcome|attempt|cell|people) /;

/**
 * @param {{ seed: number, runs: number, events: number, processes: number, env?: Record<string, string> }} wanted
 * @param {(result: any) => void} onResult called for each seed, in no order
 */
export async function simulateSeeds({ seed, runs, events, processes, env = {} }, onResult, builtFile) {
  const file = builtFile ?? (await buildSimulation());
  let next = seed;
  const end = seed + runs;
  const worker = async () => {
    while (next < end) {
      const first = next;
      const share = Math.ceil((end - first) / (2 * processes));
      const count = Math.min(MOST_SEEDS_PER_PROCESS, Math.max(LEAST_SEEDS_PER_PROCESS, share), end - first);
      next += count;
      await runProcess(file, [first, count, events], env, onResult);
    }
  };
  await Promise.all(Array.from({ length: processes }, worker));
}

/** @param {readonly (string | number)[]} args as in test/simulation/main.ts */
export function runProcess(file, args, env, onResult) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--no-warnings", file, ...args.map(String)], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env },
    });
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (line) => {
      // What the product prints on its way is not a result.
      if (line.startsWith('{"seed":')) onResult(JSON.parse(line));
    });
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve(undefined) : reject(new Error(`${args[1]} seeds from ${args[0]} ended with ${code}`)),
    );
  });
}

export function summaryOf(results, tookMs) {
  const reach = {};
  let events = 0;
  let faults = 0;
  for (const result of results) {
    events += result.events;
    for (const [name, count] of Object.entries(result.reach)) {
      reach[name] = (reach[name] ?? 0) + count;
      if (!OF_THE_PRODUCT.test(name)) faults += count;
    }
  }
  const failed = results.filter((result) => result.violations.length > 0);
  return { seeds: results.length, events, faults, failed: failed.map(({ seed }) => seed), tookMs, reach };
}

async function main() {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: "1" },
      runs: { type: "string", default: "100" },
      events: { type: "string", default: "1500" },
      processes: { type: "string", default: String(Math.min(2, availableParallelism())) },
      report: { type: "string" },
      reach: { type: "boolean", default: false },
    },
  });
  const wanted = {
    seed: Number(values.seed),
    runs: Number(values.runs),
    events: Number(values.events),
    processes: Number(values.processes),
  };
  for (const [name, value] of Object.entries(wanted)) {
    if (!Number.isSafeInteger(value) || value < 0)
      throw new Error(`--${name}: expected a whole number, got ${values[name]}`);
  }
  const began = performance.now();
  const results = [];
  await simulateSeeds(wanted, (result) => {
    results.push(result);
    if (result.violations.length > 0) tell(result);
    else if (results.length % 50 === 0) console.log(`${results.length} seeds`);
  });
  results.sort((a, b) => a.seed - b.seed);
  const summary = summaryOf(results, Math.round(performance.now() - began));
  const { reach, ...short } = summary;
  const faultKinds = Object.keys(reach).filter((name) => !OF_THE_PRODUCT.test(name)).length;
  console.log(JSON.stringify({ ...short, faultKinds }));
  const unmet = values.reach ? neverReached(reach) : [];
  for (const name of unmet) console.log(`never reached: ${name}`);
  if (wanted.runs === 1) console.log(`digest ${results[0]?.digest}`);
  if (values.report !== undefined)
    writeFileSync(values.report, `${JSON.stringify({ ...summary, results }, null, 1)}\n`);
  process.exit(summary.failed.length > 0 || unmet.length > 0 ? 1 : 0);
}

function tell({ seed, violations, story }) {
  console.log(`\nseed ${seed}: ${violations.length} violations`);
  for (const violation of violations.slice(0, 10)) console.log(`  ${violation}`);
  console.log("what happened last:");
  for (const line of story.slice(-STORY_LINES)) console.log(`  ${line}`);
  console.log(`again: npm run simulate -- --seed ${seed} --runs 1`);
}

if (process.argv[1]?.endsWith("simulate.mjs")) await main();
