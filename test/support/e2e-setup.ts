/** Once for all end-to-end tests: the Worker's bundle, and a data folder with D1's schema to begin from. */

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtWorker } from "../../scripts/build.mjs";
import { applyMigrations } from "../../scripts/worker.mjs";
import { TEMPLATE } from "./service.ts";

export default async function prepare(): Promise<() => void> {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "sluice-template-")));
  const { signal } = new AbortController();
  await Promise.all([builtWorker(signal), applyMigrations({ path, environment: {} }, signal)]);
  process.env[TEMPLATE] = path;
  return () => rmSync(path, { recursive: true, force: true });
}
