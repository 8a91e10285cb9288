/** A deposit as merchants see it. */

import { formatAmount, unitsFromText } from "../../core/amount.ts";
import { UNMINED } from "../../core/transfer.ts";
import type { DepositView } from "../../core/views.ts";
import { confirmationsAt, depthAsked } from "../../core/watcher.ts";
import { type DepositRow, toTold } from "../../store/tenant/deposit-store.ts";
import type { AssetFacts } from "./context.ts";

/** @param head highest block read on the deposit's network; only the count of confirmations follows it */
export function toDepositView(row: Omit<DepositRow, "seq">, asset: AssetFacts, head: number): DepositView {
  const isUnmined = row.height === UNMINED;
  return {
    id: row.id,
    network: row.network,
    asset: asset.symbol,
    tx_id: row.txId,
    transfer_index: row.transferIndex,
    address: row.address,
    account: row.account,
    amount: formatAmount(unitsFromText(row.amountUnits), asset.decimals),
    amount_units: row.amountUnits,
    status: row.status,
    epoch: row.epoch,
    confirmations: confirmationsAt(row, head),
    confirmations_required: row.rule === "finalized" ? null : depthAsked(toTold(row)),
    block_height: isUnmined ? null : row.height,
    block_hash: isUnmined ? null : row.blockHash,
    memo: row.memo,
    created_at: iso(row.createdAt),
    confirmed_at: isoOrNull(row.confirmedAt),
    reverted_at: isoOrNull(row.revertedAt),
    settled_at: isoOrNull(row.settledAt),
  };
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}
