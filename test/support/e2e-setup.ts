/** Once for all end-to-end tests: a data folder with D1's schema, to begin from. */

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyMigrations } from "../../scripts/worker.mjs";
import { TEMPLATE } from "./service.ts";

export default async function prepare(): Promise<() => void> {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "sluice-template-")));
  await applyMigrations({ path, environment: {} }, new AbortController().signal);
  process.env[TEMPLATE] = path;
  return () => rmSync(path, { recursive: true, force: true });
}
