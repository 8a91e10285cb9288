/**
 * Owns: the Worker's log on disk, for its user alone: the file that is written and the one before it, each of a
 * bounded size. Lines are gathered for a moment and written together, so that a busy service does not wait for them;
 * what a kill -9 takes with it is that moment.
 */

import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

const MAX_BYTES = 10 * 1024 * 1024;
const GATHER_MS = 100;
/** Gathered text is written at once when it is longer. */
const MAX_GATHERED_CHARS = 256 * 1024;

/** @param {string} path @returns {{ add: (line: string) => void, flush: () => void }} neither throws: a full disk ends no service */
export function openLogFile(path, maxBytes = MAX_BYTES) {
  let gathered = "";
  let timer = null;
  let size = 0;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    size = statSync(path).size;
  } catch {
    // There is none yet.
  }

  function flush() {
    clearTimeout(timer);
    timer = null;
    const text = gathered;
    gathered = "";
    if (text === "") return;
    try {
      if (size > 0 && size + text.length > maxBytes) {
        renameSync(path, `${path}.1`);
        size = 0;
      }
      appendFileSync(path, text, { mode: 0o600 });
      size += Buffer.byteLength(text);
    } catch {
      // The service goes on without its log.
    }
  }

  function add(line) {
    gathered += `${line}\n`;
    if (gathered.length > MAX_GATHERED_CHARS) flush();
    else timer ??= setTimeout(flush, GATHER_MS);
  }

  return { add, flush };
}
