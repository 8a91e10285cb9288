/**
 * A Redis of the benchmarks' own: Debian's, the machine's or unpacked once into the cache, on a free port and in a folder of its
 * own. It appends what is written to a file and syncs it once a second, as its documentation advises for data that matter.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atExit } from "../../test/support/at-exit.ts";
import { freePort } from "../../test/support/ports.ts";
import { findProgram } from "../debian-program.mjs";
import { names, ownSources } from "../debian-sources.mjs";

const REDIS = {
  name: "redis-server",
  setting: "SLUICE_REDIS",
  installed: "/usr/bin/redis-server",
  edition: "1",
  packages: ["redis-server"],
  sources: ownSources,
  // The suite is the machine's own, and so is the C library.
  takes: (archive: string) => !/^(libc6|libc-bin|libcrypt1|perl|adduser|passwd|sysvinit-utils|lsb-base)/.test(archive),
  keep: keepWhatRuns,
  version: /^Redis server v=/,
  ask: ["--version"],
  notice: "Unpacking Redis for the benchmarks from Debian's packages (a few seconds, only once) ...",
};
const START_WITHIN_MS = 10_000;

export interface Redis {
  readonly port: number;
  /** As it names itself. */
  readonly version: string;
  stop(): void;
}

/** @throws Error when this machine has none and cannot get one */
export async function startRedis(): Promise<Redis> {
  const found = await findProgram(REDIS);
  if ("missing" in found) throw new Error(`no Redis: ${found.missing}`);
  const folder = mkdtempSync(join(tmpdir(), "sluice-redis-"));
  const port = await freePort();
  const options = { port, dir: folder, bind: "127.0.0.1", appendonly: "yes", appendfsync: "everysec", save: "" };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(found.path, args, { stdio: "ignore" });
  const sweep = () => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const forget = atExit(sweep);
  await untilOpen(child, port);
  const version = `Redis ${/v=(\S+)/.exec(found.version)?.[1]}`;
  return {
    port,
    version,
    stop() {
      forget();
      sweep();
    },
  };
}

async function untilOpen(child: ChildProcess, port: number): Promise<void> {
  for (const from = Date.now(); Date.now() - from < START_WITHIN_MS && child.exitCode === null; ) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true));
      socket.once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("Redis did not start");
}

/** All of it, and a script that names its libraries. */
async function keepWhatRuns(root: string, folder: string): Promise<void> {
  renameSync(root, join(folder, "root"));
  const libraries = ["lib", "usr/lib"].flatMap((place) =>
    names(join(folder, "root", place))
      .filter((name: string) => name.endsWith("-linux-gnu"))
      .map((name: string) => `$home/root/${place}/${name}`),
  );
  writeFileSync(
    join(folder, "redis-server"),
    `#!/bin/sh\nhome=$(dirname "$(readlink -f "$0")")\nexport LD_LIBRARY_PATH="${libraries.join(":")}"\nexec "$home/root/usr/bin/redis-server" "$@"\n`,
  );
  chmodSync(join(folder, "redis-server"), 0o755);
}
