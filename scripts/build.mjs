/**
 * Owns: the Worker's bundle and its console as wrangler makes them, with what `wrangler.toml` says about it, made once for each
 * state of the sources and kept: a start that finds it needs neither wrangler nor a bundler.
 *
 * A bundle is put in its place whole, so that whoever finds one can use it.
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { PROJECT, Stop } from "./install.mjs";
import { quietEnvironment, runTool } from "./tool.mjs";

const WRANGLER = join(PROJECT, "node_modules", "wrangler", "bin", "wrangler.js");
/** Beside the packages that it is made with: a checkout that is thrown away takes its builds along. */
const BUILDS = join(PROJECT, "node_modules", ".cache", "sluice-worker");
/** Other states of the sources that were built last: going back to one is as quick as staying. */
const KEPT = 4;
const MAKING = ".making-";
/** Nothing is made for so long: whoever began it was killed. */
const ABANDONED_MS = 3_600_000;
/** The file that tells how the modules are to be run. */
export const OPTIONS_FILE = "options.json";
/** The folder with the console's files. */
export const CONSOLE_FOLDER = "console";

/**
 * @param {AbortSignal} signal
 * @returns {Promise<string>} the folder with the modules and their options
 * @throws Stop with wrangler's own words
 */
export async function builtWorker(signal) {
  mkdirSync(BUILDS, { recursive: true });
  for (;;) {
    const digest = digestOfSources();
    const place = join(BUILDS, digest);
    if (existsSync(place)) return place;
    await build(place, () => digestOfSources() === digest, signal);
    forgetOldest(BUILDS);
  }
}

/** @param {() => boolean} isAsBegun whether the sources are still those that the place is named after */
async function build(place, isAsBegun, signal) {
  const making = mkdtempSync(join(BUILDS, MAKING));
  const pages = join(making, CONSOLE_FOLDER);
  try {
    // The same program twice, side by side: it tells the options to a program only, and bundles on the command line only.
    await Promise.all([
      tool([WRANGLER, "deploy", "--dry-run", "--outdir", making, "--assets", pages], signal, { SLUICE_CONSOLE: pages }),
      tool([join(PROJECT, "scripts", "worker-options.mjs"), join(making, OPTIONS_FILE)], signal),
    ]);
    // What was edited meanwhile is in the bundle or is not: nobody can tell.
    if (isAsBegun()) putInPlace(making, place);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/** Somebody else may have made the same meanwhile. */
function putInPlace(made, place) {
  try {
    renameSync(made, place);
  } catch (error) {
    if (!existsSync(place)) throw error;
  }
}

/** Of the builds all but the last ones, and what somebody began to make and never ended. */
export function forgetOldest(folder) {
  const found = readdirSync(folder)
    .map((name) => ({ name, path: join(folder, name), at: madeAt(join(folder, name)) }))
    .sort((a, b) => b.at - a.at);
  const builds = found.filter(({ name }) => !name.startsWith("."));
  const abandoned = found.filter(({ name, at }) => name.startsWith(MAKING) && at < Date.now() - ABANDONED_MS);
  for (const { path } of [...builds.slice(KEPT), ...abandoned]) rmSync(path, { recursive: true, force: true });
}

/** Another start may have removed it meanwhile. */
function madeAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Everything that the bundle is made of: sources, settings of the Worker, the locked libraries, and what makes it. */
function digestOfSources() {
  const digest = createHash("sha256");
  const add = (name) =>
    digest
      .update(`${name}\0`)
      .update(readFileSync(join(PROJECT, name)))
      .update("\0");
  const makers = ["scripts/build.mjs", "scripts/tool.mjs", "scripts/worker-options.mjs"];
  for (const name of ["wrangler.toml", "package.json", "package-lock.json", "tsconfig.json", ...makers]) add(name);
  for (const entry of readdirSync(join(PROJECT, "src"), { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))
    .sort()) {
    add(entry.slice(PROJECT.length + 1));
  }
  return digest.digest("hex").slice(0, 32);
}

async function tool(args, signal, environment = {}) {
  const { code, says } = await runTool(args, { ...quietEnvironment(), ...environment }, signal);
  if (code !== 0) throw new Stop(`The Worker could not be built:\n${says}`);
}
