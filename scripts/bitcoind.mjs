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
import { environmentOf, findProgram, mustRun } from "./debian-program.mjs";
import { sidSources } from "./debian-sources.mjs";
import { Stop } from "./install.mjs";

/** @type {import("./debian-program.mjs").Wanted} */
const BITCOIND = {
  name: "bitcoind",
  setting: "SLUICE_BITCOIND",
  edition: "1",
  packages: ["bitcoin-knots"],
  sources: sidSources,
  keep: keepWhatRuns,
  version: /^Bitcoin .*version v/,
  ask: ["-version"],
  notice: "Unpacking a Bitcoin node for the tests from Debian's packages (about half a minute, only once) ...",
};

/** @param {Parameters<typeof findProgram>[1]} [options] */
export function findBitcoind(options) {
  return findProgram(BITCOIND, options);
}

/** @param {{ path: string } | { missing: string }} found */
export function bitcoindEnvironment(found) {
  return environmentOf(BITCOIND, found);
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
