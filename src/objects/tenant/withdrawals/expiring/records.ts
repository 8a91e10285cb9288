/** What was signed for a withdrawal whose transactions expire. */

import type { WithdrawalAttemptView } from "../../../../core/views.ts";
import {
  type ExpiringAttemptRow,
  expiringAttemptsOf,
  withdrawalsOfExpiringTx,
} from "../../../../store/tenant/expiring-store.ts";
import { isoOrNull } from "../../deposit-view.ts";
import type { PaymentRecords } from "../payout-line.ts";

export const expiringRecords: PaymentRecords = {
  attempts: (c, row) =>
    expiringAttemptsOf(c.db, row.id).map((attempt) => ({
      tx_id: attempt.txId,
      nonce: null,
      kind: "payment",
      status: statusOf(attempt),
      sent_at: isoOrNull(attempt.firstSentAt),
      outcome: attempt.outcome,
    })),

  withdrawalsOfTx: (c, txId) => withdrawalsOfExpiringTx(c.db, txId),
};

function statusOf({ status, raw, firstSentAt }: ExpiringAttemptRow): WithdrawalAttemptView["status"] {
  switch (status) {
    case "landed":
      return "mined";
    case "dead":
    case "void":
      return "void";
    case "live":
      // A copy of this object that is gone may have sent it.
      return raw === null || firstSentAt !== null ? "sent" : "signed";
  }
}
