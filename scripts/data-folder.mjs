/**
 * Owns: the data folder as a place on disk. One start at a time holds it, only its user may read it, a
 * file in it is whole or absent, and what an earlier start left running on it is ended before the next
 * begins.
 */

import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Stop } from "./install.mjs";
import { tryLock } from "./lock.mjs";

/** Set in the environment of every child, and so of its children: by it they are found again. */
const INSTANCE = "SLUICE_INSTANCE";
const SECRET_BYTES = 32;
const END_WITHIN_MS = 3_000;
const OTHER_ENDS_WITHIN_MS = 4_000;

/**
 * @param {string} path made with mode 700 when missing
 * @returns {Promise<{ path: string, environment: Record<string, string>, release: () => void }>}
 *   `environment` is what every child must be started with
 * @throws Stop when another start holds the folder and does not let go, or when it cannot be written
 */
export async function openDataFolder(path) {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const folder = realpathSync(path);
    // One that was just told to end may still be at it.
    const until = Date.now() + OTHER_ENDS_WITHIN_MS;
    for (;;) {
      const lock = tryLock(join(folder, "lock"));
      if ("release" in lock) {
        return { path: folder, environment: { [INSTANCE]: instanceOf(folder) }, release: lock.release };
      }
      if (Date.now() > until) {
        throw new Stop(
          `Sluice is already running on ${folder} (process ${lock.holder}). Stop it first, or choose another folder with DATA_DIR.`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } catch (error) {
    if (error instanceof Stop) throw error;
    throw new Stop(`The data folder ${path} cannot be used: ${error.message}. Choose another with DATA_DIR.`);
  }
}

/**
 * A secret of this folder: the one given, or one made once and kept. A folder from before there was such a secret
 * gets one.
 * @param {string | undefined} given from the environment; never written to disk
 */
export function secretOf(folder, name, given, make = randomHex) {
  if (given) return given;
  const path = join(folder, name);
  const kept = readIfThere(path)?.toString("utf8").trim();
  if (kept) return kept;
  const secret = make();
  writeWhole(path, `${secret}\n`);
  return secret;
}

function randomHex() {
  return randomBytes(SECRET_BYTES).toString("hex");
}

/** A first root key in the form of `SECRETS_KEY`. */
export function firstRootKey() {
  return `1:${randomBytes(SECRET_BYTES).toString("base64")}`;
}

/** Replaces a file so that also after a power cut it is the old one or the new one. Mode 600. */
export function writeWhole(path, content) {
  const draft = `${path}.${process.pid}.new`;
  const file = openSync(draft, "w", 0o600);
  try {
    const bytes = Buffer.from(content);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

export function readIfThere(path) {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

/**
 * Ends every process that an earlier start left running on the folder, and waits until none is left. Only
 * the holder of the folder may call this.
 * @param {number} graceMs how long they may take to end by themselves, storing what they have
 */
export async function endLeftovers(path, graceMs) {
  const from = Date.now();
  for (;;) {
    const pids = processesOn(path);
    if (pids.length === 0) return;
    const waitedMs = Date.now() - from;
    if (waitedMs > graceMs + END_WITHIN_MS) {
      throw new Stop(`Processes of an earlier start do not end: ${pids.join(", ")}. End them, then run this again.`);
    }
    if (waitedMs >= graceMs) for (const pid of pids) killQuietly(pid);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function killQuietly(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}

/**
 * Everything that was started with the folder's `environment`. It is known by that, which no other program
 * has, rather than by a recorded pid, which may have been given to another since.
 * @param {string} path the real path of the folder
 * @returns {number[]} pids; none where there is no /proc: there the children's own watch must do
 */
export function processesOn(path) {
  if (process.platform !== "linux") return [];
  const mark = `\0${INSTANCE}=${instanceOf(path)}\0`;
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && `\0${environmentOf(pid)}`.includes(mark));
}

function instanceOf(path) {
  return createHash("sha256").update(path).digest("hex").slice(0, 32);
}

function environmentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    // Gone, or another user's.
    return "";
  }
}
