/** Tokens a tenant listed itself. A listing is never taken back: stored rows name its contract. */

import { and, eq } from "drizzle-orm";
import type { TenantDb } from "./database.ts";
import { assets } from "./schema.ts";

export type AssetRow = typeof assets.$inferSelect;

export function assetByContract(db: TenantDb, network: string, contract: string): AssetRow | undefined {
  return db
    .select()
    .from(assets)
    .where(and(eq(assets.network, network), eq(assets.contract, contract)))
    .get();
}

export function assetsBySymbol(db: TenantDb, symbol: string): AssetRow[] {
  return db.select().from(assets).where(eq(assets.symbol, symbol)).all();
}

export function listOwnAssets(db: TenantDb, network: string): AssetRow[] {
  return db.select().from(assets).where(eq(assets.network, network)).orderBy(assets.contract).all();
}

export function insertAsset(db: TenantDb, row: AssetRow): void {
  db.insert(assets).values(row).run();
}
