/** What was signed for a withdrawal that is paid with coins. */

import type { WithdrawalAttemptView } from "../../../../core/views.ts";
import {
  memberOf,
  membersOf,
  type SpendAttemptRow,
  type SpendRow,
  spendAt,
  spendAttemptsOf,
  spendsOfTx,
} from "../../../../store/tenant/spend-store.ts";
import { isoOrNull } from "../../deposit-view.ts";
import type { PaymentRecords } from "../payout-line.ts";

export const coinRecords: PaymentRecords = {
  attempts(c, row) {
    const member = memberOf(c.db, row.id);
    const spend = member && spendAt(c.db, member);
    if (spend === undefined) return [];
    return spendAttemptsOf(c.db, spend).map((attempt) => ({
      tx_id: idOf(attempt, spend),
      nonce: null,
      kind: attempt.pays.includes(row.id) ? "payment" : "burn",
      status: statusOf(attempt, spend),
      sent_at: isoOrNull(attempt.firstSentAt),
      outcome: attempt.outcome,
    }));
  },

  withdrawalsOfTx(c, txId) {
    const members = spendsOfTx(c.db, txId).flatMap((spend) => membersOf(c.db, spend));
    return [...new Set(members.map(({ withdrawalId }) => withdrawalId))];
  },
};

/** The id that the chain has it under may be another than it was signed with. */
function idOf({ attempt, txId }: SpendAttemptRow, { minedAttempt, minedTxId }: SpendRow): string {
  return attempt === minedAttempt ? (minedTxId ?? txId) : txId;
}

function statusOf(attempt: SpendAttemptRow, spend: SpendRow): WithdrawalAttemptView["status"] {
  if (spend.minedAttempt === attempt.attempt) return "mined";
  if (spend.status === "final") return "void";
  return attempt.firstSentAt === null ? "signed" : "sent";
}
