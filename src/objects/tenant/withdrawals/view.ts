/** A withdrawal as merchants see it, with every step it took and everything that was signed for it. */

import { formatAmount, unitsFromText } from "../../../core/amount.ts";
import { NATIVE } from "../../../core/transfer.ts";
import type { WithdrawalAttemptView, WithdrawalView } from "../../../core/views.ts";
import { type AttemptRow, attemptsOf, type SlotRow, slotAt } from "../../../store/tenant/slot-store.ts";
import { stepsOf, type WithdrawalRow } from "../../../store/tenant/withdrawal-store.ts";
import { mustFindAsset, type TenantContext } from "../context.ts";
import { iso, isoOrNull } from "../deposit-view.ts";

export function toWithdrawalView(c: TenantContext, row: Omit<WithdrawalRow, "seq">): WithdrawalView {
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
    transitions: stepsOf(c.db, row.id).map(({ from, to, reason, evidence, at }) => ({
      from,
      to,
      reason,
      evidence,
      at: iso(at),
    })),
    attempts: attemptViews(c, row),
  };
}

function attemptViews(c: TenantContext, row: Omit<WithdrawalRow, "seq">): WithdrawalAttemptView[] {
  if (row.sender === null || row.nonce === null) return [];
  const key = { network: row.network, sender: row.sender, nonce: row.nonce };
  const slot = slotAt(c.db, key);
  if (slot === undefined || slot.withdrawalId !== row.id) return [];
  return attemptsOf(c.db, key).map((attempt) => ({
    tx_id: attempt.txId,
    nonce: attempt.nonce,
    kind: attempt.kind,
    status: statusOf(attempt, slot),
    sent_at: isoOrNull(attempt.firstSentAt),
    outcome: attempt.outcome,
  }));
}

function statusOf(attempt: AttemptRow, slot: SlotRow): WithdrawalAttemptView["status"] {
  if (slot.minedTxId === attempt.txId) return "mined";
  if (slot.status === "final") return "void";
  return attempt.firstSentAt === null ? "signed" : "sent";
}
