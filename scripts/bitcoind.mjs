/**
 * Owns: where the tests' Bitcoin node comes from. `findBitcoind` gives one that has been seen to start, or says why
 * there is none.
 *
 * It is Debian's `bitcoin-knots`, of suite sid, from the mirror this machine's apt already uses, with the libraries it
 * needs: 30 MB. It is for tests alone: Knots follows rules of its own on the main chain.
 *
 * Settings: `SLUICE_BITCOIND`, a bitcoind to use instead; `SLUICE_BITCOIND_CACHE`, the folder to keep it in.
 *
 * Node's built-in modules only, Node 20 and later.
 */

import { chmodSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { findProgram, mustRun, versionOf } from "./debian-program.mjs";
import { sidSources } from "./debian-sources.mjs";
import { Stop } from "./install.mjs";

/** Set by who has looked already and has told the reader. */
const MISSING = "SLUICE_BITCOIND_MISSING";

/** @type {import("./debian-program.mjs").Wanted} */
const BITCOIND = {
  name: "bitcoind",
  edition: "1",
  packages: ["bitcoin-knots"],
  sources: sidSources,
  keep: keepWhatRuns,
  version: /^Bitcoin .*version v/,
  ask: ["-version"],
  notice: "Unpacking a Bitcoin node for the tests from Debian's packages (about half a minute, only once) ...",
};

/**
 * @param {object} [options]
 * @param {Record<string, string | undefined>} [options.environment]
 * @param {AbortSignal} [options.signal] ends a running installation
 * @param {string} [options.apt] apt's configuration folder
 * @param {(line: string) => void} [options.say] takes what is shown while it is fetched
 * @returns {Promise<{ path: string, version: string } | { missing: string }>} `version` is the node's own line;
 *   `missing` is a sentence for people
 * @throws Stop when SLUICE_BITCOIND does not start: who names a node wants that one
 */
export async function findBitcoind({ environment = process.env, signal, apt = "/etc/apt", say = console.error } = {}) {
  const given = environment.SLUICE_BITCOIND;
  if (given) {
    const found = await versionOf(given, BITCOIND);
    if ("version" in found) return { path: given, version: found.version };
    throw new Stop(`SLUICE_BITCOIND names ${given}, which does not start: ${found.failed}`);
  }
  if (environment[MISSING]) return { missing: environment[MISSING] };
  return findProgram(BITCOIND, { environment, signal, apt, say });
}

/**
 * What a child that runs tests must have in its environment, so that it does not look again.
 * @param {{ path: string } | { missing: string }} found
 * @returns {Record<string, string>}
 */
export function bitcoindEnvironment(found) {
  return "path" in found ? { SLUICE_BITCOIND: found.path } : { [MISSING]: found.missing };
}

/** @param {string} missing */
export function missingNotice(missing) {
  return `No Bitcoin node, so the tests that need one are skipped: ${missing}. SLUICE_BITCOIND=/path/to/bitcoind names another.`;
}

/** The program, what its loader finds for it, the loader, and a script that starts it through that loader. */
async function keepWhatRuns(root, folder, signal) {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  const program = join(root, "usr", "bin", "bitcoind");
  const loader = files.find((entry) => /^ld-linux.*\.so\.\d+$/.test(entry.name) && entry.isFile());
  if (loader === undefined) throw new Stop("the packages bring no loader (ld-linux)");
  const loaderPath = join(loader.parentPath ?? loader.path, loader.name);
  const libraries = dirname(loaderPath);
  const listed = await mustRun(loaderPath, ["--library-path", libraries, "--list", program], signal);
  const found = [...listed.stdout.matchAll(/ => (\S+) \(0x/g)].map(([, path]) => path);
  mkdirSync(join(folder, "lib"));
  for (const path of new Set([...found, loaderPath])) copyFileSync(path, join(folder, "lib", basename(path)));
  copyFileSync(program, join(folder, "lib", "bitcoind"));
  writeFileSync(
    join(folder, "bitcoind"),
    `#!/bin/sh\nlib=$(dirname "$(readlink -f "$0")")/lib\nexec "$lib/${loader.name}" --library-path "$lib" "$lib/bitcoind" "$@"\n`,
  );
  for (const name of ["bitcoind", "lib/bitcoind", `lib/${loader.name}`]) chmodSync(join(folder, name), 0o755);
}
