/** What was signed for a withdrawal whose payment has a nonce. */

import type { WithdrawalAttemptView } from "../../../../core/views.ts";
import {
  type AttemptRow,
  attemptsOf,
  type SlotRow,
  slotAt,
  withdrawalsOfTx,
} from "../../../../store/tenant/slot-store.ts";
import { isoOrNull } from "../../deposit-view.ts";
import type { PaymentRecords } from "../payout-line.ts";

export const nonceRecords: PaymentRecords = {
  attempts(c, row) {
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
  },

  withdrawalsOfTx: (c, txId) => withdrawalsOfTx(c.db, txId),
};

function statusOf(attempt: AttemptRow, slot: SlotRow): WithdrawalAttemptView["status"] {
  if (slot.minedTxId === attempt.txId) return "mined";
  if (slot.status === "final") return "void";
  return attempt.firstSentAt === null ? "signed" : "sent";
}
