/**
 * Takes in what the chain made of everything that may still land: tracking, confirmed, failed, dead, or a person's
 * turn. Only final blocks are believed, so nothing of this is ever taken back.
 */

import { unitsFromText } from "../../../../core/amount.ts";
import { type AgreedExpiring, type Landed, showsMove } from "../../../../core/expiring-look.ts";
import {
  changeExpiringAttempt,
  changeExpiringPayment,
  type ExpiringAttemptRow,
  type ExpiringPaymentRow,
  expiringAttemptsOf,
} from "../../../../store/tenant/expiring-store.ts";
import { count } from "../../../../store/tenant/wallet-store.ts";
import { changeWithdrawal } from "../../../../store/tenant/withdrawal-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { askPerson, isLate, judgeMined } from "../settle.ts";
import { stopWallet } from "../wallet.ts";
import { type ExpiringPayer, liveOf, openOf, withdrawalOf } from "./payer.ts";

/** @returns how many events were written */
export function follow(payer: ExpiringPayer, look: AgreedExpiring): number {
  const { c, tenantId } = payer;
  return c.storage.transactionSync(() => {
    const commit = new WithdrawalCommit(c, tenantId);
    for (const payment of openOf(payer)) {
      for (const attempt of liveOf(payer, payment)) followOne(payer, commit, payment, attempt, look);
      askAtDeadline(payer, commit, payment);
    }
    return commit.written;
  });
}

function followOne(
  payer: ExpiringPayer,
  commit: WithdrawalCommit,
  payment: ExpiringPaymentRow,
  attempt: ExpiringAttemptRow,
  look: AgreedExpiring,
): void {
  const news = look.newsOf(attempt);
  switch (news.kind) {
    case "landed":
      takeLanded(payer, commit, payment, attempt, news.landed);
      break;
    case "dead":
      changeExpiringAttempt(payer.c.db, attempt, { status: "dead", deadPoint: look.finalPoint });
      break;
    case "seen": {
      const row = withdrawalOf(payer, payment);
      if (row.state !== "broadcast_pending") break;
      const changes = { waitingFor: null };
      commit.move(row, { to: "confirmation_tracking", reason: "seen_in_block", evidence: attempt.txId, changes });
      break;
    }
    case "waiting":
      break;
  }
}

function takeLanded(
  payer: ExpiringPayer,
  commit: WithdrawalCommit,
  payment: ExpiringPaymentRow,
  attempt: ExpiringAttemptRow,
  landed: Landed,
): void {
  const { c, network } = payer;
  const { txId, height, blockHash, feeUnits, success } = landed;
  const other = expiringAttemptsOf(c.db, payment.withdrawalId).find(({ status }) => status === "landed");
  changeExpiringAttempt(c.db, attempt, {
    status: "landed",
    landedHeight: height,
    landedHash: blockHash,
    feeUnits: feeUnits.toString(),
  });
  changeExpiringPayment(c.db, payment.withdrawalId, { status: "final" });
  commit.bookFee({ network: network.id, sender: payment.sender, nonce: txId }, payment.withdrawalId, feeUnits);
  if (other !== undefined) {
    // One at most was ever to live. Nothing more leaves before somebody knows how that came.
    count(c.db, "attempt_conflicts");
    stopWallet(payer, `${payment.withdrawalId} has two transactions in final blocks: ${other.txId} and ${txId}`);
    return;
  }
  const found = withdrawalOf(payer, payment);
  const changes = {
    txId,
    feeUnits: feeUnits.toString(),
    waitingFor: found.state === "manual_review" ? found.waitingFor : null,
  };
  changeWithdrawal(c.db, found.id, changes);
  const row = { ...found, ...changes };
  const { asset, destination: to } = row;
  const amountUnits = unitsFromText(row.amountUnits);
  judgeMined(c, commit, row, {
    succeeded: success,
    isPaid: success && showsMove(landed, { asset, from: payment.sender, to, amountUnits }),
    isDeep: true,
    isFinal: true,
    isNew: true,
    evidence: `${txId} in block ${height} ${blockHash}`,
    failure: "reverted_on_chain",
  });
}

/** Nothing is released for being late. */
function askAtDeadline(payer: ExpiringPayer, commit: WithdrawalCommit, payment: ExpiringPaymentRow): void {
  if (!isLate(payer.c, { deadlineAt: payment.deadlineAt, minedTxId: null })) return;
  const last = expiringAttemptsOf(payer.c.db, payment.withdrawalId).at(-1);
  const came = last?.status === "dead" ? "expired" : (last?.refusal ?? last?.outcome ?? "not sent");
  const evidence = last === undefined ? "nothing was signed" : `${last.txId}: ${came}`;
  askPerson(commit, withdrawalOf(payer, payment), { reason: "deadline", evidence });
}
