/**
 * Owns: `npm run mutants`. Builds the simulator once for each seeded bug and runs seeds of it until one shows that
 * something is wrong. The exit code says whether a bug went unseen by all of them.
 *
 *   npm run mutants -- [--only name,name] [--seeds 100] [--events 1500] [--processes 2] [--report file.json]
 */

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { mutants } from "../test/simulation/mutants/all.ts";
import { editsOf } from "../test/simulation/mutants/mutant.ts";
import { PROJECT } from "./install.mjs";
import { buildSimulation } from "./simulation-build.mjs";

/** A seed takes a second or two, many times that on a busy machine. One that takes so long goes round in circles. */
const SEED_DEADLINE_MS = 300_000;

/**
 * @typedef {{ mutant: string, seeds: number, by: string, saw: string }} Found `by`: an invariant, "rest" for a world
 *   that never rests, "500", "throws", "hangs", or "nothing"
 */

/**
 * Runs seeds 1, 2, 3, ... in one process until one fails.
 * @returns {Promise<Omit<Found, "mutant">>}
 */
function firstFailure(file, seeds, events) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ["--no-warnings", file, "1", String(seeds), String(events)], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let done = 0;
    let errors = "";
    let timer = setTimeout(() => end("hangs", ""), SEED_DEADLINE_MS);
    let found = /** @type {Omit<Found, "mutant"> | null} */ (null);
    const end = (by, saw) => {
      found ??= { seeds: by === "nothing" ? done : done + 1, by, saw };
      child.kill("SIGKILL");
    };
    child.stderr.on("data", (data) => {
      errors = `${errors}${data}`.slice(-2_000);
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (found !== null || !line.startsWith('{"seed":')) return;
      const { violations } = JSON.parse(line);
      if (violations.length > 0) return end(nameOf(violations[0]), violations[0]);
      done++;
      clearTimeout(timer);
      timer = setTimeout(() => end("hangs", ""), SEED_DEADLINE_MS);
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      if (found === null) end(code === 0 ? "nothing" : "throws", errors.trim().split("\n").at(-1) ?? "");
      resolve(/** @type {Omit<Found, "mutant">} */ (found));
    });
  });
}

/** What a violation is of. */
function nameOf(violation) {
  const invariant = /\bI\d+\b/.exec(violation)?.[0];
  if (invariant !== undefined) return invariant;
  const other = /\b(approval|signature|key|address)\b/.exec(violation)?.[0];
  if (other !== undefined) return other;
  if (/never done|came to rest|never opened|never answered/.test(violation)) return "rest";
  if (/\b500 for\b/.test(violation)) return "500";
  return violation.split(" ").slice(0, 3).join(" ");
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      seeds: { type: "string", default: "100" },
      events: { type: "string", default: "1500" },
      processes: { type: "string", default: String(Math.min(2, availableParallelism())) },
      report: { type: "string" },
    },
  });
  const only = values.only?.split(",") ?? null;
  const chosen = mutants.filter(({ name }) => only === null || only.includes(name));
  if (chosen.length === 0) throw new Error(`--only: expected names of mutants, got ${values.only}`);
  /** @type {Found[]} */
  const results = [];
  const left = [...chosen];
  const tryAll = async (_, place) => {
    const outDir = join(PROJECT, "node_modules", ".cache", `sluice-mutant-${place}`);
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) await tryOne(mutant, outDir);
  };
  const tryOne = async (mutant, outDir) => {
    const file = await buildSimulation({ outDir, edits: editsOf(mutant) });
    const found = { mutant: mutant.name, ...(await firstFailure(file, Number(values.seeds), Number(values.events))) };
    results.push(found);
    const isExpected = found.by === "nothing" || mutant.breaks.includes(found.by);
    const after = `${String(found.seeds).padStart(3)} ${found.seeds === 1 ? "seed " : "seeds"}`;
    const expected = isExpected ? "" : ` (expected ${mutant.breaks.join(", ")})`;
    console.log(
      `${mutant.name.padEnd(46)} ${after}  ${found.by}${expected}  ${found.saw.split("\n")[0]?.slice(0, 120)}`,
    );
  };
  await Promise.all(Array.from({ length: Number(values.processes) }, tryAll));
  const alive = results.filter(({ by }) => by === "nothing").map(({ mutant }) => mutant);
  const seeds = results.filter(({ by }) => by !== "nothing").map((found) => found.seeds);
  seeds.sort((a, b) => a - b);
  const middle = seeds[Math.floor(seeds.length / 2)] ?? 0;
  console.log(
    `${seeds.length} of ${results.length} seen, half of them after ${middle} seeds; most: ${seeds.at(-1) ?? 0}`,
  );
  if (alive.length > 0) console.log(`unseen: ${alive.join(", ")}`);
  if (values.report !== undefined) writeFileSync(values.report, `${JSON.stringify(results, null, 1)}\n`);
  process.exit(alive.length > 0 ? 1 : 0);
}

if (process.argv[1]?.endsWith("mutants.mjs")) await main();
