/** What a reading looks for, and whose a payment is. Addresses stay in SQLite, asked in one statement. */

import type { Interest, PoolTransfer } from "../../chains/port.ts";
import { NATIVE, type Transfer, UNMINED } from "../../core/transfer.ts";
import type { OwnedTransfer } from "../../store/scanner/transfer-store.ts";
import { intervalsOf, listedTokens, type WatchRow, watchedAmong } from "../../store/scanner/watch-store.ts";
import type { ScannerContext } from "./context.ts";

/** Everything any tenant watches; with a job, what its tenant (or its one address) watches now. */
export function interestOf(s: ScannerContext, job: { tenant: number; address: string | null } | null): Interest {
  const listed = listedBy(s);
  const contracts = new Set(s.network.tokens.map((token) => token.contract));
  for (const [contract, by] of listed) {
    if (job === null || by.has(job.tenant)) contracts.add(contract);
  }
  return {
    contracts,
    native: s.network.native,
    internal: s.network.internal,
    watched: (candidates) => {
      if (job?.address == null) return watchedAmong(s.db, candidates, job?.tenant ?? null);
      return new Set(candidates.has(job.address) ? [job.address] : []);
    },
  };
}

/** Whether an asset credits a tenant: the coin, a built-in token, or one it listed itself. */
export function credits(s: ScannerContext, asset: string, tenant: number): boolean {
  if (asset === NATIVE) return true;
  if (s.network.tokens.some((token) => token.contract === asset)) return true;
  return listedBy(s).get(asset)?.has(tenant) ?? false;
}

/**
 * Gives each transfer to the tenant that owned its address at its height. A key that a reorganisation
 * moved, or that waited, stays with the tenant that had it, even when it is now mined before the watch began
 * or after it ended: the claim on it is that tenant's.
 */
export function attribute(
  s: ScannerContext,
  transfers: readonly Transfer[],
  timestampAt: (height: number) => number,
  hadBefore: (transfer: Transfer) => number | null,
): OwnedTransfer[] {
  const intervals = intervalsOf(s.db, new Set(transfers.map((t) => t.address)));
  const owned: OwnedTransfer[] = [];
  for (const transfer of transfers) {
    const tenant = hadBefore(transfer) ?? ownerAt(intervals.get(transfer.address) ?? [], transfer.height);
    if (tenant === null || !credits(s, transfer.asset, tenant)) continue;
    owned.push({ ...transfer, tenant, timestamp: timestampAt(transfer.height) });
  }
  return owned;
}

/**
 * Gives each payment that waits to the tenant that watches its address now and would own it in the next block: one
 * whose watch is to begin later, after another tenant's has run out, does not own it yet.
 */
export function attributeUnmined(
  s: ScannerContext,
  transfers: readonly PoolTransfer[],
  nextHeight: number,
): OwnedTransfer[] {
  const intervals = intervalsOf(s.db, new Set(transfers.map((t) => t.address)));
  return transfers.flatMap((transfer) => {
    const open = intervals.get(transfer.address)?.find((r) => r.untilHeight === null && r.fromHeight <= nextHeight);
    if (open === undefined || !credits(s, transfer.asset, open.tenant)) return [];
    return { ...transfer, height: UNMINED, blockHash: "", tenant: open.tenant, timestamp: 0 };
  });
}

function ownerAt(rows: readonly WatchRow[], height: number): number | null {
  const row = rows.find((r) => r.fromHeight <= height && (r.untilHeight === null || height <= r.untilHeight));
  return row?.tenant ?? null;
}

function listedBy(s: ScannerContext): ReadonlyMap<string, ReadonlySet<number>> {
  s.memory.listed ??= listedTokens(s.db);
  return s.memory.listed;
}
