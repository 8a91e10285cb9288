/** Opens an endpoint object's SQLite with its schema brought up to date. */

import { type DrizzleSqliteDODatabase, drizzle } from "drizzle-orm/durable-sqlite";
import { migrate } from "drizzle-orm/durable-sqlite/migrator";
import migrations from "./migrations/migrations.js";

export type EndpointDb = DrizzleSqliteDODatabase;

export function openEndpointDb(storage: DurableObjectStorage): EndpointDb {
  return drizzle(storage);
}

/** Forward only. Call it before the first request is served. */
export async function migrateEndpointDb(db: EndpointDb): Promise<void> {
  await migrate(db, migrations);
}
