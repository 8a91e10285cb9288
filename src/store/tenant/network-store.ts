/** Where a tenant stands on each network: the observation it committed last. */

import { eq, sql } from "drizzle-orm";
import type { TenantDb } from "./database.ts";
import { networks } from "./schema.ts";

export type NetworkRow = typeof networks.$inferSelect;

export function networkState(db: TenantDb, network: string): NetworkRow | undefined {
  return db.select().from(networks).where(eq(networks.network, network)).get();
}

export function putNetworkState(db: TenantDb, row: NetworkRow): void {
  const { network: _network, ...set } = row;
  db.insert(networks).values(row).onConflictDoUpdate({ target: networks.network, set }).run();
}

export function addDuplicates(db: TenantDb, network: string, count: number): void {
  if (count === 0) return;
  db.update(networks)
    .set({ duplicatesMet: sql`duplicates_met + ${count}` })
    .where(eq(networks.network, network))
    .run();
}

export function duplicatesByNetwork(db: TenantDb): Record<string, number> {
  return Object.fromEntries(
    db
      .select()
      .from(networks)
      .all()
      .map((row) => [row.network, row.duplicatesMet]),
  );
}
