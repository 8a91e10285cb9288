/** Where a tenant stands on each network: the observation it committed last. */

import { eq, sql } from "drizzle-orm";
import { type Moved, type Tallies, tallied } from "../../core/tallies.ts";
import type { DepositStatus } from "../../core/views.ts";
import { isOpen, type WithdrawalState } from "../../core/withdrawal.ts";
import type { TenantDb } from "./database.ts";
import { deposits, networks, withdrawals } from "./schema.ts";

export type NetworkRow = typeof networks.$inferSelect;

export function networkState(db: TenantDb, network: string): NetworkRow | undefined {
  return db.select().from(networks).where(eq(networks.network, network)).get();
}

export function putNetworkState(db: TenantDb, row: NetworkRow): void {
  const { network: _network, ...set } = row;
  db.insert(networks).values(row).onConflictDoUpdate({ target: networks.network, set }).run();
}

/** What a backfill found, in one write. A network that was never observed is counted by its first observation. */
export function addFound(
  db: TenantDb,
  network: string,
  { duplicates, moved }: { readonly duplicates: number; readonly moved: readonly Moved<DepositStatus>[] },
): void {
  const state = networkState(db, network);
  if (state === undefined || (duplicates === 0 && moved.length === 0)) return;
  const { tallies } = state;
  db.update(networks)
    .set({
      duplicatesMet: sql`duplicates_met + ${duplicates}`,
      ...(moved.length === 0 ? {} : { tallies: { ...tallies, deposits: tallied(tallies.deposits, moved) } }),
    })
    .where(eq(networks.network, network))
    .run();
}

/** In the commit that ends a withdrawal, or that opens it again. A step from one open state to another writes nothing. */
export function tallyWithdrawal(db: TenantDb, network: string, from: WithdrawalState, to: WithdrawalState): void {
  if (isOpen(from) && isOpen(to)) return;
  const state = networkState(db, network);
  if (state === undefined) return;
  const { tallies } = state;
  const moved = [{ from: isOpen(from) ? null : from, to: isOpen(to) ? null : to }];
  db.update(networks)
    .set({ tallies: { ...tallies, withdrawals: tallied(tallies.withdrawals, moved) } })
    .where(eq(networks.network, network))
    .run();
}

/** Counted from the rows: once, when a network is observed for the first time and has rows all the same. */
export function countedTallies(db: TenantDb, network: string): Tallies {
  const n = sql<number>`count(*)`;
  const byStatus = db
    .select({ status: deposits.status, n })
    .from(deposits)
    .where(eq(deposits.network, network))
    .groupBy(deposits.status)
    .all();
  const byState = db
    .select({ state: withdrawals.state, n })
    .from(withdrawals)
    .where(eq(withdrawals.network, network))
    .groupBy(withdrawals.state)
    .all();
  return {
    deposits: Object.fromEntries(byStatus.map((row) => [row.status, row.n])),
    withdrawals: Object.fromEntries(byState.filter(({ state }) => !isOpen(state)).map((row) => [row.state, row.n])),
  };
}

export function allNetworkStates(db: TenantDb): NetworkRow[] {
  return db.select().from(networks).all();
}

export function duplicatesByNetwork(db: TenantDb): Record<string, number> {
  return Object.fromEntries(allNetworkStates(db).map((row) => [row.network, row.duplicatesMet]));
}
