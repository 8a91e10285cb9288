/** Opens a scanner object's SQLite with its schema brought up to date. */

import { type DrizzleSqliteDODatabase, drizzle } from "drizzle-orm/durable-sqlite";
import { migrate } from "drizzle-orm/durable-sqlite/migrator";
import migrations from "./migrations/migrations.js";

export type ScannerDb = DrizzleSqliteDODatabase;

export function openScannerDb(storage: DurableObjectStorage): ScannerDb {
  return drizzle(storage);
}

/** Forward only. Call it before the first request is served. */
export async function migrateScannerDb(db: ScannerDb): Promise<void> {
  await migrate(db, migrations);
}
