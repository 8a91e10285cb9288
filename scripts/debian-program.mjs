/**
 * Owns: programs for the tests that come from Debian's archive: unpacked once into a folder of this user's, outside of any
 * checkout, whole or not at all, and once when two want the same at once.
 *
 * apt works on a state of its own and checks signatures as ever; nothing of the system's is installed or changed, and
 * no root is needed.
 *
 * Node's built-in modules only, Node 20 and later.
 */

import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, isAbsolute, join } from "node:path";
import { Stop } from "./install.mjs";
import { tryLock } from "./lock.mjs";

const INSTALL_WITHIN_MS = 300_000;
const WAIT_FOR_OTHER_INSTALL_MS = INSTALL_WITHIN_MS + 10_000;
const VERSION_WITHIN_MS = 30_000;

/**
 * @typedef {object} Wanted
 * @property {string} name of the program's file
 * @property {string} setting of the environment, which names one to use instead
 * @property {string} [installed] where a machine has it that has it
 * @property {string} edition of the folder: raised when what is kept must be made anew everywhere
 * @property {readonly string[]} packages of which it is made
 * @property {(apt: string) => { name: string, text: string }[]} sources where apt finds them; none: there is no mirror
 * @property {(archive: string) => boolean} [takes] whether a package that they need is unpacked too; all unless said
 * @property {(root: string, folder: string, signal: AbortSignal) => Promise<void>} keep puts what runs, with the program itself, from the
 *   unpacked root into the folder
 * @property {RegExp} version what it says of itself when asked
 * @property {readonly string[]} ask for that
 * @property {string} notice shown while it is fetched
 */

/**
 * @typedef {{ path: string, version: string } | { missing: string }} Found `version` is the program's own line; `missing` is
 *   a sentence for people
 */

/**
 * One that has been seen to start: who names one in `setting` wants that one; else the one that is installed, and else the
 * one in the cache, put there first if need be. Who has looked already in vain is not looked for again.
 * @param {Wanted} wanted
 * @param {object} [options]
 * @param {Record<string, string | undefined>} [options.environment]
 * @param {AbortSignal} [options.signal] ends a running installation
 * @param {string} [options.apt] apt's configuration folder
 * @param {(line: string) => void} [options.say] takes what is shown while it is fetched
 * @returns {Promise<Found>}
 * @throws Stop when the one that is named does not start
 */
export async function findProgram(wanted, options = {}) {
  const { environment = process.env, signal, apt = "/etc/apt", say = console.error } = options;
  const { setting, installed } = wanted;
  const named = environment[setting];
  if (named) {
    const found = await versionOf(named, wanted);
    if ("version" in found) return { path: named, version: found.version };
    throw new Stop(`${setting} names ${named}, which does not start: ${found.failed}`);
  }
  const missing = environment[missingSetting(wanted)];
  if (missing) return { missing };
  if (installed !== undefined) {
    const found = await versionOf(installed, wanted);
    if ("version" in found) return { path: installed, version: found.version };
  }
  return fromCache(wanted, { environment, signal, apt, say });
}

/**
 * What a child that runs tests must have in its environment, so that it does not look again.
 * @param {Wanted} wanted
 * @param {{ path: string } | { missing: string }} found
 * @returns {Record<string, string>}
 */
export function environmentOf(wanted, found) {
  return "path" in found ? { [wanted.setting]: found.path } : { [missingSetting(wanted)]: found.missing };
}

/** Set by who has looked already and has told the reader. */
function missingSetting({ setting }) {
  return `${setting}_MISSING`;
}

/**
 * @param {Wanted} wanted
 * @param {{ environment: Record<string, string | undefined>, signal?: AbortSignal, apt: string, say: (line: string) => void }} options
 * @returns {Promise<Found>}
 */
async function fromCache(wanted, { environment, signal, apt, say }) {
  if (process.platform !== "linux")
    return { missing: `it comes from Debian's packages, and this is ${process.platform}` };
  try {
    const deadline = AbortSignal.timeout(INSTALL_WITHIN_MS);
    const ends = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    return await kept(wanted, cacheFolder(environment), apt, say, ends);
  } catch (error) {
    if (signal?.aborted) throw new Stop("Asked to end.");
    // A fault of this file must not pass for a machine that has no such program.
    if (!(error instanceof Stop) && !isOfTheWorld(error)) throw error;
    return { missing: reasonOf(error) };
  }
}

function cacheFolder(environment) {
  if (environment.SLUICE_BITCOIND_CACHE) return environment.SLUICE_BITCOIND_CACHE;
  // A relative path is to be ignored (XDG Base Directory Specification).
  const xdg = environment.XDG_CACHE_HOME;
  const caches = xdg && isAbsolute(xdg) ? xdg : join(environment.HOME || homedir(), ".cache");
  return join(caches, "sluice");
}

async function kept(wanted, folder, apt, say, signal) {
  const home = join(folder, `${wanted.name}-${wanted.edition}-${process.arch}`);
  const path = join(home, wanted.name);
  const before = await versionOf(path, wanted);
  if ("version" in before) return { path, version: before.version };
  mkdirSync(folder, { recursive: true });
  return alone(`${home}.lock`, signal, async () => {
    const meanwhile = await versionOf(path, wanted);
    if ("version" in meanwhile) return { path, version: meanwhile.version };
    removeDrafts(folder, basename(home));
    // A name of its own: an apt whose parent was killed may still be writing into the last one.
    const draft = mkdtempSync(`${home}.new-`);
    try {
      await unpack(wanted, draft, apt, say, signal);
      const made = await versionOf(join(draft, wanted.name), wanted);
      if (!("version" in made)) throw new Stop(`what was unpacked does not start: ${made.failed}`);
      rmSync(home, { recursive: true, force: true });
      chmodSync(draft, 0o755);
      renameSync(draft, home);
      return { path, version: made.version };
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  });
}

/** Those of attempts that were killed. One that somebody still writes into is for the next to remove. */
function removeDrafts(folder, name) {
  for (const entry of readdirSync(folder).filter((other) => other.startsWith(`${name}.new-`))) {
    try {
      rmSync(join(folder, entry), { recursive: true, force: true });
    } catch {}
  }
}

async function unpack(wanted, folder, apt, say, signal) {
  const work = join(folder, "work");
  const root = join(work, "root");
  for (const part of ["root", "lists/partial", "archives/partial", "sources"])
    mkdirSync(join(work, part), { recursive: true });
  const sources = wanted.sources(apt);
  if (sources.length === 0) throw new Stop(`apt's sources in ${apt} name no Debian mirror`);
  for (const { name, text } of sources) writeFileSync(join(work, "sources", name), text);
  writeFileSync(join(work, "status"), "");
  writeFileSync(join(work, "apt.conf"), await aptConfig(work, signal));
  const environment = { APT_CONFIG: join(work, "apt.conf"), LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };

  say(wanted.notice);
  // One mirror of several may fail: what counts is whether the package can be had.
  const updated = await run("apt-get", ["-q", "update"], environment, signal);
  const fetched = await run(
    "apt-get",
    ["-q", "-y", "--download-only", "install", ...wanted.packages],
    environment,
    signal,
  );
  if (fetched.code !== 0) throw new Stop(`apt could not fetch ${wanted.packages[0]}: ${complaints(updated, fetched)}`);
  const archives = readdirSync(join(work, "archives")).filter((name) => name.endsWith(".deb"));
  for (const name of archives.filter((one) => wanted.takes?.(one) ?? true))
    await mustRun("dpkg-deb", ["-x", join(work, "archives", name), root], signal);

  await wanted.keep(root, folder, signal);
  rmSync(work, { recursive: true, force: true });
}

/** Everything apt writes lies in `work`. How the machine reaches its mirrors (proxies, timeouts) stays as it is. */
async function aptConfig(work, signal) {
  const machine = await mustRun("apt-config", ["dump"], signal);
  const reaching = machine.stdout
    .split("\n")
    .filter((line) => /^Acquire::(?!IndexTargets|Languages|Retries)/.test(line));
  const own = {
    "Dir::State": work,
    "Dir::State::lists": "lists",
    "Dir::State::status": "status",
    "Dir::Cache": work,
    "Dir::Cache::archives": "archives",
    "Dir::Etc::sourcelist": "/dev/null",
    "Dir::Etc::sourceparts": join(work, "sources"),
    "Dir::Etc::preferences": "/dev/null",
    "Dir::Etc::preferencesparts": "/dev/null",
    // Hooks and settings of the machine's own installations.
    "Dir::Etc::main": "/dev/null",
    "Dir::Etc::parts": "/dev/null",
    "Acquire::Languages": "none",
    "Acquire::Retries": "1",
    "APT::Install-Recommends": "false",
    // Root would hand the download to a user who cannot write here; nobody else can.
    "APT::Sandbox::User": "root",
    "Debug::NoLocking": "true",
  };
  return [...reaching, ...Object.entries(own).map(([key, value]) => `${key} "${value}";`), ""].join("\n");
}

/**
 * A program that cannot be started is as good as none; `failed` says what came instead of a version.
 * @returns {Promise<{ version: string } | { failed: string }>}
 */
async function versionOf(path, { version, ask }) {
  try {
    const { code, stdout, stderr } = await run(path, ask, {}, AbortSignal.timeout(VERSION_WITHIN_MS));
    const line = stdout.split("\n")[0].trim();
    if (code === 0 && version.test(line)) return { version: line };
    return { failed: lastLine(stderr) || `it answers ${ask.join(" ")} with "${line}" and code ${code}` };
  } catch (error) {
    return { failed: reasonOf(error) };
  }
}

export async function mustRun(command, args, signal) {
  const done = await run(command, args, {}, signal);
  if (done.code !== 0) throw new Stop(`${basename(command)} ended with ${done.code}: ${lastLine(done.stderr)}`);
  return done;
}

/** @returns {Promise<{ code: number | string, stdout: string, stderr: string }>} */
function run(command, args, environment, signal) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
      signal,
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
    });
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    child.once("error", (error) => reject(error.code === "ENOENT" ? new Stop(`there is no ${command}`) : error));
    child.once("close", (code, killedBy) => resolve({ code: code ?? killedBy, stdout, stderr }));
  });
}

/** What apt says went wrong first: the rest follows from it. */
function complaints(...runs) {
  const lines = runs.flatMap(({ stderr }) => stderr.split("\n")).filter((line) => /^[EW]: /.test(line));
  return (
    lines
      .slice(0, 2)
      .map((line) => line.slice(3).replace(/\.$/, ""))
      .join("; ") || "it does not say why"
  );
}

function lastLine(text) {
  return text.trim().split("\n").at(-1) ?? "";
}

/** From the system, with its code (ENOSPC), or from a deadline. */
function isOfTheWorld(error) {
  return isDeadline(error) || typeof error.syscall === "string";
}

function isDeadline(error) {
  return error.name === "TimeoutError" || error.name === "AbortError";
}

function reasonOf(error) {
  if (isDeadline(error)) return `it could not be unpacked within ${INSTALL_WITHIN_MS / 1000} s`;
  return error.message;
}

async function alone(path, signal, work) {
  const until = Date.now() + WAIT_FOR_OTHER_INSTALL_MS;
  for (;;) {
    const lock = tryLock(path);
    if ("release" in lock) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    if (Date.now() > until) throw new Stop(`process ${lock.holder} does not end unpacking it`);
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
