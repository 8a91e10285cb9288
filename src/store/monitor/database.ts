/** Opens the monitor's SQLite with its schema brought up to date. */

import { type DrizzleSqliteDODatabase, drizzle } from "drizzle-orm/durable-sqlite";
import { migrate } from "drizzle-orm/durable-sqlite/migrator";
import migrations from "./migrations/migrations.js";

export type MonitorDb = DrizzleSqliteDODatabase;

export function openMonitorDb(storage: DurableObjectStorage): MonitorDb {
  return drizzle(storage);
}

/** Forward only. Call it before the first request is served. */
export async function migrateMonitorDb(db: MonitorDb): Promise<void> {
  await migrate(db, migrations);
}
