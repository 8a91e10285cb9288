/**
 * Claims in D1 what was signed, before it is sent. What D1 has of a withdrawal and nobody here knows was signed by
 * another copy of this object: then ours was never sent, and never is.
 */

import { claimAttempt, type HeldAttempt } from "../../../../store/d1/live-attempts.ts";
import {
  changeExpiringAttempt,
  type ExpiringAttemptRow,
  expiringAttemptsOf,
} from "../../../../store/tenant/expiring-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { adopt } from "./adopt.ts";
import { type ExpiringPayer, liveOf, openOf } from "./payer.ts";

/** @returns how many events were written */
export async function claimAttempts(payer: ExpiringPayer): Promise<number> {
  const { c, tenantId, network, sender } = payer;
  let written = 0;
  for (const payment of openOf(payer)) {
    const { withdrawalId } = payment;
    for (const attempt of liveOf(payer, payment)) {
      if (attempt.claimed === 1) continue;
      const { number, txId, expiresAt, signedAbove } = attempt;
      const held = await claimAttempt(c.env.DB, {
        withdrawalId,
        number,
        tenantId,
        network: network.id,
        sender,
        attempt: { txId, expiresAt, signedAbove },
        known: claimedIds(payer, withdrawalId),
        now: c.now(),
      });
      written += c.storage.transactionSync(() => takeClaim(payer, attempt, held));
    }
  }
  return written;
}

/** What D1 may have of a withdrawal without anything being unknown. */
export function claimedIds({ c }: ExpiringPayer, withdrawalId: string): string[] {
  return expiringAttemptsOf(c.db, withdrawalId).flatMap(({ claimed, txId }) => (claimed === 1 ? [txId] : []));
}

function takeClaim(payer: ExpiringPayer, asked: ExpiringAttemptRow, held: readonly HeldAttempt[]): number {
  const { c, tenantId } = payer;
  const { withdrawalId, txId, number } = asked;
  const commit = new WithdrawalCommit(c, tenantId);
  const attempt = expiringAttemptsOf(c.db, withdrawalId).find((one) => one.txId === txId);
  if (attempt?.status === "live" && attempt.claimed === 0) {
    const isOwn = held.some((one) => one.txId === txId && one.number === number);
    changeExpiringAttempt(c.db, attempt, isOwn ? { claimed: 1 } : { status: "void" });
  }
  adopt(payer, commit, withdrawalId, held);
  return commit.written;
}
