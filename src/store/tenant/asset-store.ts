/** Tokens a tenant listed itself. A listing is never taken back: stored rows name its contract. */

import { and, eq, sql } from "drizzle-orm";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { assets } from "./schema.ts";

export type AssetRow = typeof assets.$inferSelect;

const byContract = prepared((db: TenantDb) =>
  db
    .select()
    .from(assets)
    .where(and(eq(assets.network, sql.placeholder("network")), eq(assets.contract, sql.placeholder("contract"))))
    .prepare(),
);
const bySymbol = prepared((db: TenantDb) =>
  db
    .select()
    .from(assets)
    .where(eq(assets.symbol, sql.placeholder("symbol")))
    .prepare(),
);

export function assetByContract(db: TenantDb, network: string, contract: string): AssetRow | undefined {
  return byContract(db).get({ network, contract });
}

export function assetsBySymbol(db: TenantDb, symbol: string): AssetRow[] {
  return bySymbol(db).all({ symbol });
}

export function listOwnAssets(db: TenantDb, network: string): AssetRow[] {
  return db.select().from(assets).where(eq(assets.network, network)).orderBy(assets.contract).all();
}

export function insertAsset(db: TenantDb, row: AssetRow): void {
  db.insert(assets).values(row).run();
}
