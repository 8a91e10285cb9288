/** Hot wallets, who signs for them, and counters. A wallet's numbers only ever rise. */

import { and, eq, isNotNull, sql } from "drizzle-orm";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { counters, signers, wallets } from "./schema.ts";

export type WalletRow = typeof wallets.$inferSelect;
export type SignerRow = typeof signers.$inferSelect;

const firstDue = prepared((db: TenantDb) =>
  db.select({ value: sql<number | null>`min(due_at)` }).from(wallets).prepare(),
);

const allDue = prepared((db: TenantDb) =>
  db
    .select()
    .from(wallets)
    .where(and(isNotNull(wallets.dueAt), sql`${wallets.dueAt} <= ${sql.placeholder("now")}`))
    .prepare(),
);
const walletAt = prepared((db: TenantDb) =>
  db
    .select()
    .from(wallets)
    .where(and(eq(wallets.network, sql.placeholder("network")), eq(wallets.sender, sql.placeholder("sender"))))
    .prepare(),
);
const signerOn = prepared((db: TenantDb) =>
  db
    .select()
    .from(signers)
    .where(eq(signers.network, sql.placeholder("network")))
    .prepare(),
);

export function walletRow(db: TenantDb, network: string, sender: string): WalletRow | undefined {
  return walletAt(db).get({ network, sender });
}

export function insertWallet(db: TenantDb, network: string, sender: string): WalletRow {
  const row: WalletRow = {
    network,
    sender,
    nextNonce: 0,
    usedBelow: -1,
    status: "active",
    incident: null,
    stoppedFor: null,
    dueAt: null,
    gapSince: null,
  };
  db.insert(wallets).values(row).onConflictDoNothing().run();
  return walletRow(db, network, sender) ?? row;
}

export function changeWallet(
  db: TenantDb,
  wallet: Pick<WalletRow, "network" | "sender">,
  changes: Partial<Pick<WalletRow, "status" | "incident" | "stoppedFor" | "dueAt" | "gapSince">>,
): void {
  db.update(wallets)
    .set(changes)
    .where(and(eq(wallets.network, wallet.network), eq(wallets.sender, wallet.sender)))
    .run();
}

/** Raises the counters to at least these. */
export function raiseWallet(
  db: TenantDb,
  wallet: Pick<WalletRow, "network" | "sender">,
  least: { readonly nextNonce?: number; readonly usedBelow?: number },
): void {
  const { nextNonce = 0, usedBelow = 0 } = least;
  db.update(wallets)
    .set({
      nextNonce: sql`max(${wallets.nextNonce}, ${nextNonce})`,
      usedBelow: sql`max(${wallets.usedBelow}, ${usedBelow})`,
    })
    .where(and(eq(wallets.network, wallet.network), eq(wallets.sender, wallet.sender)))
    .run();
}

export function dueWallets(db: TenantDb, now: number): WalletRow[] {
  return allDue(db).all({ now });
}

/** Unix milliseconds of the next look at any wallet; null when nothing is under way. */
export function nextWalletDue(db: TenantDb): number | null {
  return firstDue(db).get()?.value ?? null;
}

export function allWallets(db: TenantDb): WalletRow[] {
  return db.select().from(wallets).all();
}

export function signerRow(db: TenantDb, network: string): SignerRow | undefined {
  return signerOn(db).get({ network });
}

export function putSigner(db: TenantDb, row: SignerRow): void {
  const { url, address, token, keyVersion } = row;
  db.insert(signers)
    .values(row)
    .onConflictDoUpdate({ target: signers.network, set: { url, address, token, keyVersion } })
    .run();
}

/** The same token, sealed anew. One that was changed meanwhile stays as it is. */
export function resealToken(
  db: TenantDb,
  before: Pick<SignerRow, "network" | "token">,
  sealed: { readonly text: string; readonly keyVersion: string },
): void {
  if (before.token === null) return;
  db.update(signers)
    .set({ token: sealed.text, keyVersion: sealed.keyVersion })
    .where(and(eq(signers.network, before.network), eq(signers.token, before.token)))
    .run();
}

export function removeSigner(db: TenantDb, network: string): void {
  db.delete(signers).where(eq(signers.network, network)).run();
}

export type CounterName =
  | "withdrawal_key_conflicts"
  | "withdrawal_key_replays"
  | "repeated_broadcasts"
  | "nonce_conflicts"
  | "coin_conflicts"
  | "attempt_conflicts"
  | "foreign_spends";

export function count(db: TenantDb, name: CounterName, by = 1): void {
  db.insert(counters)
    .values({ name, value: by })
    .onConflictDoUpdate({ target: counters.name, set: { value: sql`value + ${by}` } })
    .run();
}

export function allCounters(db: TenantDb): Record<string, number> {
  return Object.fromEntries(
    db
      .select()
      .from(counters)
      .all()
      .map((row) => [row.name, row.value]),
  );
}
