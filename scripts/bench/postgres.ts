/**
 * A PostgreSQL of the benchmarks' own: Debian's, as it is installed, with a cluster in a folder of its own, on a free port, and with
 * its default settings: every commit is durable.
 */

import { execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atExit } from "../../test/support/at-exit.ts";
import { freePort } from "../../test/support/ports.ts";

const INSTALLED = "/usr/lib/postgresql";
const START_WITHIN_MS = 15_000;
/** It refuses to run as root; the user `nobody` of Debian. */
const NOBODY = { uid: 65534, gid: 65534 };

export interface Postgres {
  /** Connection string of its superuser to the database `postgres`. */
  readonly url: string;
  /** The folder of its Unix socket, and the user to be there. */
  readonly socket: string;
  readonly port: number;
  readonly user: string;
  /** As it names itself. */
  readonly version: string;
  stop(): void;
}

/** @throws Error when this machine has none */
export async function startPostgres(): Promise<Postgres> {
  const programs = programsFolder();
  const folder = mkdtempSync(join(tmpdir(), "sluice-postgres-"));
  const user = process.getuid?.() === 0 ? NOBODY : {};
  chmodSync(folder, 0o700);
  if ("uid" in user) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const data = join(folder, "data");
  const options = { cwd: folder, ...user, env: { PATH: programs, LC_ALL: "C" } } as const;
  execFileSync(join(programs, "initdb"), ["-D", data, "-U", "bench", "--auth=trust", "-E", "UTF8", "--no-sync"], {
    ...options,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const port = await freePort();
  const args = ["-D", data, "-p", String(port), "-c", "listen_addresses=127.0.0.1", "-k", folder];
  const child = spawn(join(programs, "postgres"), args, { ...options, stdio: "ignore" });
  const sweep = () => {
    // Its immediate shutdown: the children go with it.
    child.kill("SIGQUIT");
    for (let tries = 0; existsSync(join(data, "postmaster.pid")) && tries < 100; tries++) pause(20);
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const forget = atExit(sweep);
  const isReady = () => {
    try {
      execFileSync(join(programs, "pg_isready"), ["-q", "-h", "127.0.0.1", "-p", String(port), "-U", "bench"], options);
      return true;
    } catch {
      return false;
    }
  };
  for (const from = Date.now(); !isReady(); ) {
    if (Date.now() - from > START_WITHIN_MS || child.exitCode !== null) throw new Error("PostgreSQL did not start");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const said = execFileSync(join(programs, "postgres"), ["--version"], { ...options, encoding: "utf8" });
  return {
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    socket: folder,
    port,
    user: "bench",
    version: `PostgreSQL ${/(\d+\.\d+)/.exec(said)?.[1]}`,
    stop() {
      forget();
      sweep();
    },
  };
}

/** Of the newest version that is installed. */
function programsFolder(): string {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions
    .map((version) => join(INSTALLED, version, "bin"))
    .find((bin) => existsSync(join(bin, "initdb")));
  if (found === undefined) throw new Error(`no PostgreSQL in ${INSTALLED}: apt-get install postgresql`);
  return found;
}

/** Also where nothing may be awaited. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
