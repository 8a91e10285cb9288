/**
 * `npm run bench -- [name ...] [--rounds 5] [--quick] [--json folder]`: the benchmarks one after the other, all of them when none
 * is named. Prints a table for each, and writes it as JSON into `dist/bench/`. Only one runs on a machine at a time.
 *
 * Not a test: a goal that is missed is said, and the exit code is 0; it is 1 when a benchmark itself fails.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PROJECT } from "../install.mjs";
import { tryLock } from "../lock.mjs";
import { type Bench, isMet, tableOf } from "./result.ts";

const BENCHES: Readonly<Record<string, () => Promise<{ readonly bench: Bench }>>> = {
  "catch-up": () => import("./catch-up.ts"),
  live: () => import("./live.ts"),
  reorg: () => import("./reorg.ts"),
  withdraw: () => import("./withdraw.ts"),
  webhooks: () => import("./webhooks.ts"),
  cost: () => import("./cost.ts"),
  growth: () => import("./growth.ts"),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    quick: { type: "boolean", default: false },
    json: { type: "string", default: join(PROJECT, "dist", "bench") },
  },
});

const rounds = Number(values.rounds);
const unknown = positionals.filter((name) => !Object.hasOwn(BENCHES, name));
if (unknown.length > 0 || !Number.isInteger(rounds) || rounds < 1) {
  console.error(
    `usage: npm run bench -- [${Object.keys(BENCHES).join("|")} ...] [--rounds 5] [--quick] [--json folder]`,
  );
  process.exit(2);
}

await alone();
for (const name of positionals.length === 0 ? Object.keys(BENCHES) : positionals) {
  const { bench } = (await BENCHES[name]?.()) ?? {};
  if (bench === undefined) continue;
  console.log(`\n${name}: ${bench.about}\n`);
  const startedAt = new Date();
  try {
    const result = await bench.run({ rounds, quick: values.quick, say: (line) => console.error(`  ${line}`) });
    console.log(tableOf(result));
    mkdirSync(values.json, { recursive: true });
    const goals = result.goals.map((goal) => ({ ...goal, met: isMet(goal) }));
    const machine = { cores: cpus().length, model: cpus()[0]?.model ?? "unknown" };
    const written = { name, at: startedAt.toISOString(), rounds, quick: values.quick, machine, ...result, goals };
    writeFileSync(join(values.json, `${name}.json`), `${JSON.stringify(written, null, 2)}\n`);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
}
process.exit();

/** Two at once would measure each other. */
async function alone(): Promise<void> {
  for (let waited = 0; ; waited++) {
    const lock = tryLock(join(tmpdir(), "sluice-bench.lock"));
    if ("release" in lock) {
      process.once("exit", lock.release);
      return;
    }
    if (waited === 0) console.error(`waiting for the benchmark of process ${lock.holder} to end ...`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
