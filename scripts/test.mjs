/**
 * Owns: `npm test`. Installs what is missing, then runs what `npm run check` runs: formatter and linter, types,
 * all tests. With arguments it runs the tests they select, and those alone: `npm test -- test/core`.
 *
 * The last line says `N passed, N failed`, for people and programs that read the end of a log; tests that did not
 * run are counted there and named above it. No package of the system's is needed: EVM chain and runtime come with
 * npm, the Bitcoin node and the browser from Debian's archive (bitcoind.mjs, chromium.mjs).
 */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { askedToEnd } from "./asked-to-end.mjs";
import { bitcoindEnvironment, findBitcoind, missingNotice } from "./bitcoind.mjs";
import { chromiumEnvironment, findChromium, noChromiumNotice } from "./chromium.mjs";
import { ensureInstalled, PROJECT, Stop, toolEnvironment, toolNode } from "./install.mjs";

const VITEST = join(PROJECT, "node_modules", "vitest", "vitest.mjs");

async function main() {
  const asked = askedToEnd();
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  try {
    await ensureInstalled(asked);
    const report = join(folder, "report.json");
    const selected = process.argv.slice(2);
    const code =
      selected.length === 0
        ? await run("npm", ["run", "check"], { ...(await programs(asked)), SLUICE_TEST_REPORT: report }, asked)
        : await run(toolNode(), [VITEST, "run", ...selected], { SLUICE_TEST_REPORT: report }, asked);
    // Selected by name, all others are skipped: not worth a line each.
    const byName = selected.some((one) => /^(-t|--test-?name-?pattern)/i.test(one));
    console.log(summary(report, code, !byName));
    return code;
  } catch (error) {
    console.error(error instanceof Stop ? error.message : error);
    console.log("0 passed, 1 failed");
    return 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Looked for once, before all; a selection of tests looks when one of them wants one. */
async function programs(signal) {
  const bitcoind = await findBitcoind({ signal });
  if ("missing" in bitcoind) console.error(missingNotice(bitcoind.missing));
  const chromium = await findChromium({ signal });
  if ("missing" in chromium) console.error(noChromiumNotice(chromium.missing));
  return { ...bitcoindEnvironment(bitcoind), ...chromiumEnvironment(chromium) };
}

/** Runs to the end, also when asked to stop: then the child is, and its code is not 0. */
function run(command, args, environment, signal) {
  return new Promise((resolve, reject) => {
    const env = { ...toolEnvironment(), ...environment };
    const child = spawn(command, args, { cwd: PROJECT, env, stdio: "inherit" });
    signal.addEventListener("abort", () => child.kill("SIGTERM"));
    child.once("error", (error) => reject(new Stop(`${command} could not be run: ${error.message}`)));
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

/** What fails without being a test, a type or a file that does not load, counts as one failure. */
function summary(report, code, namesSkipped) {
  let counts;
  try {
    counts = JSON.parse(readFileSync(report, "utf8"));
  } catch {
    return "0 passed, 1 failed";
  }
  const failed = Math.max(counts.numFailedTests, code === 0 ? 0 : 1);
  const skipped = counts.numPendingTests + counts.numTodoTests;
  if (namesSkipped) {
    for (const file of counts.testResults) {
      for (const test of file.assertionResults) {
        if (!["passed", "failed"].includes(test.status))
          console.log(`skipped: ${relative(PROJECT, file.name)}: ${test.fullName}`);
      }
    }
  }
  return `${counts.numPassedTests} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`;
}

process.exit(await main());
