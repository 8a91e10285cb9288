/**
 * A small process that outlives the test process by one act: when that ends, in whatever way, it kills what it was told
 * of and removes a folder. It knows by its input, which the system closes.
 *
 * For programs whose end must not hang on handlers of the test process: a runner that is told to stop, or is killed,
 * kills its workers with SIGKILL within half a second.
 */

import { spawn } from "node:child_process";
import type { Socket } from "node:net";

export interface Guard {
  /** The one process to kill; null when there is none any more. */
  watch(pid: number | null): void;
  /** Kills and removes now, and waits until that is done. */
  finish(): Promise<void>;
}

// A process that was just killed may for a moment still write.
const SCRIPT = `
while read -r line; do pid=$line; done
test -n "$pid" && kill -9 "$pid"
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`;

/** @param folder removed with all that is in it */
export function startGuard(folder: string): Guard {
  // In a session of its own: Ctrl-C in a terminal is not for it.
  const child = spawn("sh", ["-c", SCRIPT, "sh", folder], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  child.unref();
  (child.stdin as Socket).unref();
  return {
    watch: (pid) => void child.stdin.write(`${pid ?? ""}\n`),
    async finish() {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}
