/**
 * Owns: files that say which live process holds something. A holder that was killed holds nothing, even
 * when its pid has been given to another process since.
 *
 * Node's built-in modules only: used before anything is installed.
 */

import { execFileSync } from "node:child_process";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

const SETTLE_MS = 20;

/**
 * Takes the lock or says who has it. Never waits.
 * @param {string} path the lock file; its folder exists
 * @returns {{ release: () => void } | { holder: number }} the holder as its pid
 */
export function tryLock(path) {
  const mine = JSON.stringify({ pid: process.pid, started: startedAt(process.pid) });
  const draft = `${path}.${process.pid}`;
  // Linked into place whole: a reader never meets a lock that is still being written.
  writeFileSync(draft, mine, { mode: 0o600 });
  try {
    for (;;) {
      try {
        linkSync(draft, path);
        // Whoever takes over a stale lock may, for an instant, have had this one in hand by mistake.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SETTLE_MS);
        if (read(path) !== mine) continue;
        return { release: () => void (read(path) === mine && rmSync(path, { force: true })) };
      } catch (error) {
        if (error.code !== "EEXIST") throw error;
      }
      const theirs = read(path);
      const holder = theirs === null ? null : liveHolder(theirs);
      if (holder !== null) return { holder };
      if (theirs !== null) removeIfStill(path, theirs, `${draft}.stale`);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Somebody else may have replaced a stale lock in the meantime: theirs is put back. */
function removeIfStill(path, content, aside) {
  try {
    renameSync(path, aside);
  } catch (error) {
    if (error.code === "ENOENT") return;
    throw error;
  }
  if (read(aside) !== content) {
    try {
      linkSync(aside, path);
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
  }
  rmSync(aside, { force: true });
}

function liveHolder(text) {
  let lock;
  try {
    lock = JSON.parse(text);
  } catch {
    return null;
  }
  return Number.isInteger(lock.pid) && lock.pid > 0 && startedAt(lock.pid) === lock.started ? lock.pid : null;
}

/**
 * When a process started, as its system tells it: with the pid it names one process for ever. Null when
 * there is none, or when it is dead and only waits to be collected by its parent.
 */
function startedAt(pid) {
  try {
    if (process.platform !== "linux") {
      return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || null;
    }
    // proc(5): after the command in brackets comes the state, and 19 fields later the start time.
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? null : fields[19];
  } catch {
    return null;
  }
}

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}
