/**
 * Owns: what is in `node_modules`. After `ensureInstalled` it is what `package-lock.json` says.
 *
 * Runs before anything is installed: Node's built-in modules only, Node 20 and later.
 */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { tryLock } from "./lock.mjs";

export const PROJECT = dirname(dirname(fileURLToPath(import.meta.url)));
const BIN = join(PROJECT, "node_modules", ".bin");
const OLDEST_NODE = 20;
/** wrangler and workerd's tools need this one; it comes with the packages on Linux. */
const OLDEST_TOOL_NODE = 22;
const WAIT_FOR_OTHER_INSTALL_MS = 600_000;

/** An end that the reader can do something about: printed without a stack. */
export class Stop extends Error {}

/**
 * Installs the packages when they are missing or are not those of the lock file. Two starts at once
 * install once.
 * @param {AbortSignal} signal ends a running installation
 * @throws Stop with what to do, when Node is too old or the registry cannot be reached.
 */
export async function ensureInstalled(signal) {
  const major = Number(process.versions.node.split(".")[0]);
  if (!(major >= OLDEST_NODE)) {
    throw new Stop(
      `Node ${process.versions.node} is too old. Install Node ${OLDEST_NODE} or later, then run this again.`,
    );
  }
  if (isInstalled()) return;
  await alone(async () => {
    if (!isInstalled()) await install(signal);
  });
}

/** Path of the Node that runs the tools: the project's own where it has one. */
export function toolNode() {
  const own = join(BIN, "node");
  if (existsSync(own)) return own;
  const major = Number(process.versions.node.split(".")[0]);
  if (major >= OLDEST_TOOL_NODE) return process.execPath;
  throw new Stop(
    `The packages bring no Node for ${process.platform}-${process.arch}, and Node ${process.versions.node} is too old for wrangler. Install Node ${OLDEST_TOOL_NODE} or later, then run this again.`,
  );
}

/** This process's environment with the project's own tools first on PATH. */
export function toolEnvironment() {
  return { ...process.env, PATH: [BIN, process.env.PATH ?? ""].join(delimiter) };
}

/**
 * npm leaves a copy of the lock beside the packages as the last act of an installation, so an
 * interrupted one has none. It lacks the optional packages of other platforms.
 */
function isInstalled() {
  const wanted = readPackages(join(PROJECT, "package-lock.json"));
  const found = readPackages(join(PROJECT, "node_modules", ".package-lock.json"));
  if (wanted === null) throw new Stop(`package-lock.json is missing in ${PROJECT}. Check the project out again.`);
  if (found === null) return false;
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === "") continue;
    const there = found[path];
    if (
      there === undefined ? !entry.optional : there.version !== entry.version || there.integrity !== entry.integrity
    ) {
      return false;
    }
  }
  return Object.keys(found).every((path) => path in wanted);
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages;
  } catch {
    return null;
  }
}

async function install(signal) {
  console.error("Installing packages (about a minute, only when they changed) ...");
  // npm must not run on the Node that it is about to remove from node_modules.
  const path = (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder !== BIN)
    .join(delimiter);
  const child = spawn("npm", ["ci", "--include=dev", "--include=optional", "--loglevel=error"], {
    cwd: PROJECT,
    env: { ...process.env, PATH: path },
    stdio: ["ignore", "ignore", "inherit"],
    signal,
  });
  const code = await new Promise((resolve, reject) => {
    child.once("error", (error) =>
      reject(
        new Stop(`npm could not be run (${error.message}). Install npm, which comes with Node, then run this again.`),
      ),
    );
    child.once("exit", (status, killedBy) => resolve(status ?? killedBy));
  });
  if (code !== 0) {
    throw new Stop(
      `Packages could not be installed: \`npm ci\` ended with ${code}. If the lines above speak of the network, check that the registry can be reached (npm config get registry), then run this again.`,
    );
  }
  if (!isInstalled()) {
    throw new Stop(
      "`npm ci` ended well, but node_modules is not what package-lock.json says. Remove node_modules and run this again.",
    );
  }
}

async function alone(work) {
  const folder = join(PROJECT, ".wrangler");
  mkdirSync(folder, { recursive: true });
  const until = Date.now() + WAIT_FOR_OTHER_INSTALL_MS;
  for (;;) {
    const lock = tryLock(join(folder, "install.lock"));
    if ("release" in lock) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    if (Date.now() > until)
      throw new Stop(
        `Process ${lock.holder} has been installing packages for ten minutes. End it, then run this again.`,
      );
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
