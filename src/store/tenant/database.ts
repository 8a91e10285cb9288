/** Opens a tenant object's SQLite with its schema brought up to date. */

import { type DrizzleSqliteDODatabase, drizzle } from "drizzle-orm/durable-sqlite";
import { migrate } from "drizzle-orm/durable-sqlite/migrator";
import migrations from "./migrations/migrations.js";

export type TenantDb = DrizzleSqliteDODatabase;

export function openTenantDb(storage: DurableObjectStorage): TenantDb {
  return drizzle(storage);
}

/** Forward only. Call it before the first request is served. */
export async function migrateTenantDb(db: TenantDb): Promise<void> {
  await migrate(db, migrations);
}
