/**
 * What the benchmarks are run beside comes from npm, in a folder and with a lock file of its own: nobody who only runs
 * or tests the product installs it.
 */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PROJECT } from "../install.mjs";

const FOLDER = join(PROJECT, "scripts", "bench", "peers");

/** Installed on first use; where the lock file has changed, anew.  */
export function installPeers(): void {
  const kept = join(FOLDER, "node_modules", ".package-lock.json");
  if (existsSync(kept) && sameVersions(join(FOLDER, "package-lock.json"), kept)) return;
  console.error("  installing what is measured beside (about ten seconds, only once) ...");
  execFileSync("npm", ["ci", "--loglevel=error"], { cwd: FOLDER, stdio: ["ignore", "ignore", "inherit"] });
}

export function peerVersion(name: string): string {
  return JSON.parse(readFileSync(join(FOLDER, "node_modules", name, "package.json"), "utf8")).version;
}

function sameVersions(wanted: string, found: string): boolean {
  const [a, b] = [wanted, found].map((file) => JSON.parse(readFileSync(file, "utf8")).packages);
  return Object.entries<{ version?: string; optional?: boolean }>(a).every(
    ([path, entry]) => path === "" || entry.optional === true || b[path]?.version === entry.version,
  );
}
