/**
 * What D1 has of a withdrawal and this copy of the object does not know: transactions that an earlier copy claimed, and
 * may have sent. They are waited for like our own, by their ids, without their bytes.
 */

import type { HeldAttempt } from "../../../../store/d1/live-attempts.ts";
import {
  changeExpiringAttempt,
  changeExpiringPayment,
  expiringAttemptsOf,
  expiringPaymentOf,
} from "../../../../store/tenant/expiring-store.ts";
import { changeWallet, count, insertWallet } from "../../../../store/tenant/wallet-store.ts";
import { changeWithdrawal, withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import type { WithdrawalCommit } from "../commit.ts";
import { beginAttempt, beginPayment } from "./begin.ts";
import { capOf, type ExpiringPayer } from "./payer.ts";

/** In the caller's commit. @returns whether there was anything that was not signed here */
export function adopt(
  payer: ExpiringPayer,
  commit: WithdrawalCommit,
  id: string,
  held: readonly HeldAttempt[],
): boolean {
  const { c, network } = payer;
  const own = expiringAttemptsOf(c.db, id);
  const known = new Set(own.map(({ txId }) => txId));
  // Claimed by us, by a call whose answer was lost. As long as it were not known, no other claim would be made.
  for (const attempt of own)
    if (attempt.claimed === 0 && held.some(({ txId }) => txId === attempt.txId))
      changeExpiringAttempt(c.db, attempt, { claimed: 1 });
  const isClosed = expiringPaymentOf(c.db, id)?.givenUp === 1;
  const found = held.filter(({ txId }) => (txId === null ? !isClosed : !known.has(txId)));
  const [first] = found;
  if (first === undefined) return false;
  const row = withdrawalById(c.db, id);
  if (row === undefined) throw new Error(`D1 has transactions of ${id}, which is not here`);
  count(c.db, "attempt_conflicts");
  // It may be another wallet's than the one in use: that one is looked after from now on.
  if (expiringPaymentOf(c.db, id) === undefined) {
    changeWallet(c.db, insertWallet(c.db, network.id, first.sender), { dueAt: c.now() });
    beginPayment({ c, network, sender: first.sender }, id);
  }
  for (const { txId, number, expiresAt, signedAbove } of found) {
    if (txId === null) changeExpiringPayment(c.db, id, { givenUp: 1 });
    if (txId === null || expiresAt === null || signedAbove === null) continue;
    beginAttempt(payer, {
      withdrawalId: id,
      txId,
      number,
      raw: null,
      unsigned: null,
      expiresAt,
      signedAbove,
      // What the copy agreed to is not known: never more than the cap.
      feeMost: capOf(network).toString(),
      claimed: 1,
    });
  }
  const last = found.findLast(({ txId }) => txId !== null);
  const changes = { sender: first.sender, nonce: first.number, ...(last === undefined ? {} : { txId: last.txId }) };
  if (row.state === "funds_reserved") {
    commit.move(row, {
      to: "broadcast_pending",
      reason: "transaction_signed",
      evidence: `${last?.txId}, by an earlier copy of this tenant`,
      changes: { ...changes, waitingFor: null },
    });
  } else {
    changeWithdrawal(c.db, id, changes);
  }
  return true;
}
