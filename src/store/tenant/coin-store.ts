/** Addresses of hot wallets that are sets of coins, and what the chain says was paid to them. */

import { and, asc, eq, isNull, sql } from "drizzle-orm";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { coins, spendInputs, walletAddresses } from "./schema.ts";

export type WalletAddressRow = typeof walletAddresses.$inferSelect;
export type CoinRow = typeof coins.$inferSelect;
export type CoinKey = Pick<CoinRow, "network" | "txId" | "vout">;

const addressAt = prepared((db: TenantDb) =>
  db
    .select()
    .from(walletAddresses)
    .where(
      and(
        eq(walletAddresses.network, sql.placeholder("network")),
        eq(walletAddresses.address, sql.placeholder("address")),
      ),
    )
    .prepare(),
);

export function walletAddressRow(db: TenantDb, network: string, address: string): WalletAddressRow | undefined {
  return addressAt(db).get({ network, address });
}

export function insertWalletAddress(db: TenantDb, row: Omit<WalletAddressRow, "watchedFrom">): void {
  db.insert(walletAddresses)
    .values({ ...row, watchedFrom: null })
    .onConflictDoNothing()
    .run();
}

export function setWalletWatched(
  db: TenantDb,
  { network, address }: Pick<WalletAddressRow, "network" | "address">,
  watchedFrom: number,
): void {
  db.update(walletAddresses)
    .set({ watchedFrom })
    .where(
      and(
        eq(walletAddresses.network, network),
        eq(walletAddresses.address, address),
        isNull(walletAddresses.watchedFrom),
      ),
    )
    .run();
}

/** Whether the network has any wallet of coins here. */
export function hasWalletAddresses(db: TenantDb, network: string): boolean {
  return (
    db
      .select({ path: walletAddresses.path })
      .from(walletAddresses)
      .where(eq(walletAddresses.network, network))
      .limit(1)
      .get() !== undefined
  );
}

export function putCoin(db: TenantDb, row: CoinRow): void {
  const { network, txId, vout, ...set } = row;
  db.insert(coins)
    .values({ network, txId, vout, ...set })
    .onConflictDoUpdate({ target: [coins.network, coins.txId, coins.vout], set })
    .run();
}

export function removeCoin(db: TenantDb, key: CoinKey): void {
  db.delete(coins).where(coinIs(key)).run();
}

export function coinAt(db: TenantDb, key: CoinKey): CoinRow | undefined {
  return db.select().from(coins).where(coinIs(key)).get();
}

/** All that the chain says is there, or was and is spent since. */
export function coinsOf(db: TenantDb, network: string): CoinRow[] {
  return db.select().from(coins).where(eq(coins.network, network)).all();
}

export function coinsFrom(db: TenantDb, network: string, height: number): CoinRow[] {
  return db
    .select()
    .from(coins)
    .where(and(eq(coins.network, network), sql`${coins.height} >= ${height}`))
    .all();
}

/** Those that no spend has, by their place on the chain. */
export function freeCoins(db: TenantDb, network: string): CoinRow[] {
  return db
    .select()
    .from(coins)
    .where(
      and(
        eq(coins.network, network),
        sql`NOT EXISTS (SELECT 1 FROM ${spendInputs} AS i WHERE i.network = ${coins.network} AND i.tx_id = ${coins.txId} AND i.vout = ${coins.vout})`,
      ),
    )
    .orderBy(asc(coins.height), asc(coins.txId), asc(coins.vout))
    .all();
}

function coinIs({ network, txId, vout }: CoinKey) {
  return and(eq(coins.network, network), eq(coins.txId, txId), eq(coins.vout, vout));
}
