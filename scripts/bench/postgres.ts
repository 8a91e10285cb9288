/**
 * A PostgreSQL server as it comes: durable (`fsync` and `synchronous_commit` are on), on a Unix socket in a folder of its own.
 * Nothing is left when it ends.
 */

import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atExit } from "../../test/support/at-exit.ts";

/** Where Debian puts its versions. */
const INSTALLED = "/usr/lib/postgresql";
const READY_WITHIN_MS = 15_000;

export interface Postgres {
  /** The folder with the socket. */
  readonly socket: string;
  readonly user: string;
  readonly version: string;
  stop(): Promise<void>;
}

/** Null where the machine has none. @throws Error when it does not start */
export async function startPostgres(): Promise<Postgres | null> {
  const programs = installedPrograms();
  if (programs === null) return null;
  const folder = mkdtempSync(join(tmpdir(), "sluice-postgres-"));
  const owner = nobodyIfRoot(folder);
  const as = { ...owner, cwd: folder };
  const data = join(folder, "data");
  execFileSync(join(programs, "initdb"), ["-D", data, "-U", "bench", "--auth=trust", "-E", "UTF8", "--locale=C"], {
    ...as,
    stdio: "ignore",
  });
  const child = spawn(join(programs, "postgres"), ["-D", data, "-c", "listen_addresses=", "-k", folder], {
    ...as,
    stdio: "ignore",
  });
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const sweep = () => {
    child.kill("SIGQUIT");
    rmSync(folder, { recursive: true, force: true });
  };
  const forget = atExit(sweep);
  for (const until = Date.now() + READY_WITHIN_MS; !isReady(programs, folder); ) {
    if (Date.now() > until) throw new Error("PostgreSQL does not come up");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const version = execFileSync(join(programs, "postgres"), ["--version"], { encoding: "utf8" }).trim();
  return {
    socket: folder,
    user: "bench",
    version,
    async stop() {
      child.kill("SIGINT");
      await gone;
      forget();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function installedPrograms(): string | null {
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED) : [];
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0];
  const programs = newest === undefined ? null : join(INSTALLED, newest, "bin");
  return programs !== null && existsSync(join(programs, "initdb")) ? programs : null;
}

function isReady(programs: string, folder: string): boolean {
  try {
    execFileSync(join(programs, "pg_isready"), ["-h", folder, "-q"]);
    return true;
  } catch {
    return false;
  }
}

/** PostgreSQL refuses to run as root. */
function nobodyIfRoot(folder: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ["-u", "-g"].map((what) => Number(execFileSync("id", [what, "nobody"], { encoding: "utf8" })));
  if (uid === undefined || gid === undefined) return {};
  chownSync(folder, uid, gid);
  return { uid, gid };
}
