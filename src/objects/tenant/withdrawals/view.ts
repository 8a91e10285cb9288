/** A withdrawal as merchants see it, with every step it took and everything that was signed for it. */

import { formatAmount, unitsFromText } from "../../../core/amount.ts";
import { NATIVE } from "../../../core/transfer.ts";
import type { WithdrawalView } from "../../../core/views.ts";
import { type Step, stepsOf, type WithdrawalRow } from "../../../store/tenant/withdrawal-store.ts";
import { mustFindAsset, type TenantContext } from "../context.ts";
import { iso } from "../deposit-view.ts";
import { recordsOf } from "./records.ts";

/** @param steps those it took, oldest first */
export function toWithdrawalView(
  c: TenantContext,
  row: Omit<WithdrawalRow, "seq">,
  steps: readonly Step[] = stepsOf(c.db, row.id),
): WithdrawalView {
  const asset = mustFindAsset(c, row.network, row.asset);
  const coin = mustFindAsset(c, row.network, NATIVE);
  return {
    id: row.id,
    network: row.network,
    asset: asset.symbol,
    account: row.account,
    destination: row.destination,
    amount: formatAmount(unitsFromText(row.amountUnits), asset.decimals),
    amount_units: row.amountUnits,
    state: row.state,
    idempotency_key: row.idempotencyKey,
    external_id: row.externalId,
    metadata: row.metadata,
    tx_id: row.txId,
    fee: row.feeUnits === null ? null : formatAmount(unitsFromText(row.feeUnits), coin.decimals),
    fee_units: row.feeUnits,
    waiting_for: row.waitingFor,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
    transitions: steps.map(({ from, to, reason, evidence, at }) => ({
      from,
      to,
      reason,
      evidence,
      at: iso(at),
    })),
    attempts: recordsOf(c, row.network).attempts(c, row),
  };
}
