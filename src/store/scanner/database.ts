/** Opens a scanner object's SQLite with its schema brought up to date. */

import { type DrizzleSqliteDODatabase, drizzle } from "drizzle-orm/durable-sqlite";
import { migrate } from "drizzle-orm/durable-sqlite/migrator";
import migrations from "./migrations/migrations.js";
import * as schema from "./schema.ts";

export type ScannerDb = DrizzleSqliteDODatabase<typeof schema>;

export function openScannerDb(storage: DurableObjectStorage): ScannerDb {
  return drizzle(storage, { schema });
}

/** Forward only. Call it before the first request is served. */
export async function migrateScannerDb(db: ScannerDb): Promise<void> {
  await migrate(db, migrations);
}
