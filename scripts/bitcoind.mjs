/**
 * Owns: where the tests' Bitcoin node comes from. `findBitcoind` gives one that has been seen to start, or says why
 * there is none.
 *
 * It is Debian's `bitcoin-knots`, of suite sid, from the mirror this machine's apt already uses, with the libraries it
 * needs. apt works on a state of its own and checks signatures as ever; nothing of the system's is installed or
 * changed, and no root is needed. The result is kept for all checkouts of this user, outside of any of them: 30 MB.
 * It is for tests alone: Knots follows rules of its own on the main chain.
 *
 * Settings: `SLUICE_BITCOIND`, a bitcoind to use instead; `SLUICE_BITCOIND_CACHE`, the folder to keep it in.
 *
 * Node's built-in modules only, Node 20 and later.
 */

import { spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import { sidSources } from "./debian-sources.mjs";
import { Stop } from "./install.mjs";
import { tryLock } from "./lock.mjs";

/** Raised when what is kept must be made anew everywhere: a node that is already there is never replaced. */
const EDITION = 1;
const PACKAGE = "bitcoin-knots";
const INSTALL_WITHIN_MS = 300_000;
const WAIT_FOR_OTHER_INSTALL_MS = INSTALL_WITHIN_MS + 10_000;
const VERSION_WITHIN_MS = 30_000;
/** Set by who has looked already and has told the reader. */
const MISSING = "SLUICE_BITCOIND_MISSING";

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
    const found = await versionOf(given);
    if ("version" in found) return { path: given, version: found.version };
    throw new Stop(`SLUICE_BITCOIND names ${given}, which does not start: ${found.failed}`);
  }
  if (environment[MISSING]) return { missing: environment[MISSING] };
  if (process.platform !== "linux")
    return { missing: `it comes from Debian's packages, and this is ${process.platform}` };
  try {
    const deadline = AbortSignal.timeout(INSTALL_WITHIN_MS);
    const ends = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    return await kept(cacheFolder(environment), apt, say, ends);
  } catch (error) {
    if (signal?.aborted) throw new Stop("Asked to end.");
    // A fault of this file must not pass for a machine that has no node.
    if (!(error instanceof Stop) && !isOfTheWorld(error)) throw error;
    return { missing: reasonOf(error) };
  }
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

function cacheFolder(environment) {
  if (environment.SLUICE_BITCOIND_CACHE) return environment.SLUICE_BITCOIND_CACHE;
  // A relative path is to be ignored (XDG Base Directory Specification).
  const xdg = environment.XDG_CACHE_HOME;
  const caches = xdg && isAbsolute(xdg) ? xdg : join(environment.HOME || homedir(), ".cache");
  return join(caches, "sluice");
}

/** The node in the folder, put there first if need be: whole or not at all, and once when two want it at once. */
async function kept(folder, apt, say, signal) {
  const home = join(folder, `bitcoind-${EDITION}-${process.arch}`);
  const path = join(home, "bitcoind");
  const before = await versionOf(path);
  if ("version" in before) return { path, version: before.version };
  mkdirSync(folder, { recursive: true });
  return alone(`${home}.lock`, signal, async () => {
    const meanwhile = await versionOf(path);
    if ("version" in meanwhile) return { path, version: meanwhile.version };
    removeDrafts(folder, basename(home));
    // A name of its own: an apt whose parent was killed may still be writing into the last one.
    const draft = mkdtempSync(`${home}.new-`);
    try {
      await unpack(draft, apt, say, signal);
      const made = await versionOf(join(draft, "bitcoind"));
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

async function unpack(folder, apt, say, signal) {
  const work = join(folder, "work");
  const root = join(work, "root");
  for (const part of ["root", "lists/partial", "archives/partial", "sources"])
    mkdirSync(join(work, part), { recursive: true });
  const sources = sidSources(apt);
  if (sources.length === 0) throw new Stop(`apt's sources in ${apt} name no Debian mirror`);
  for (const { name, text } of sources) writeFileSync(join(work, "sources", name), text);
  writeFileSync(join(work, "status"), "");
  writeFileSync(join(work, "apt.conf"), await aptConfig(work, signal));
  const environment = { APT_CONFIG: join(work, "apt.conf"), LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };

  say("Unpacking a Bitcoin node for the tests from Debian's packages (about half a minute, only once) ...");
  // One mirror of several may fail: what counts is whether the package can be had.
  const updated = await run("apt-get", ["-q", "update"], environment, signal);
  const fetched = await run("apt-get", ["-q", "-y", "--download-only", "install", PACKAGE], environment, signal);
  if (fetched.code !== 0) throw new Stop(`apt could not fetch ${PACKAGE}: ${complaints(updated, fetched)}`);
  const archives = readdirSync(join(work, "archives")).filter((name) => name.endsWith(".deb"));
  for (const name of archives) await mustRun("dpkg-deb", ["-x", join(work, "archives", name), root], signal);

  await keepWhatRuns(root, folder, signal);
  rmSync(work, { recursive: true, force: true });
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

/** A node that cannot be started is as good as none; `failed` says what came instead of a version. */
async function versionOf(path) {
  try {
    const { code, stdout, stderr } = await run(path, ["-version"], {}, AbortSignal.timeout(VERSION_WITHIN_MS));
    const line = stdout.split("\n")[0].trim();
    if (code === 0 && /^Bitcoin .*version v/.test(line)) return { version: line };
    return { failed: lastLine(stderr) || `it answers -version with "${line}" and code ${code}` };
  } catch (error) {
    return { failed: reasonOf(error) };
  }
}

async function mustRun(command, args, signal) {
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
