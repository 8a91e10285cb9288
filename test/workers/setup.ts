/** Gives every test file a D1 with the project's own schema. After `reset()` call `migrate()` again. */

import { applyD1Migrations, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { keepQuiet } from "../../src/objects/reporter.ts";

export async function migrate(): Promise<void> {
  const { DB, TEST_MIGRATIONS } = env as unknown as { DB: D1Database; TEST_MIGRATIONS: D1Migration[] };
  await applyD1Migrations(DB, TEST_MIGRATIONS);
}

// A report that is to go out soon keeps its object from being evicted. Tests of the monitor let them speak.
keepQuiet(true);
await migrate();
