/**
 * Ends what nobody wants paid any more. All that was signed is dead by then, and D1 keeps every copy of this object from
 * signing more: only after that an amount is released.
 */

import { isOpen } from "../../../../core/withdrawal.ts";
import { claimAttempt, type HeldAttempt } from "../../../../store/d1/live-attempts.ts";
import {
  changeExpiringPayment,
  type ExpiringPaymentRow,
  expiringAttemptsOf,
  expiringPaymentOf,
} from "../../../../store/tenant/expiring-store.ts";
import { type WithdrawalRow, withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { adopt } from "./adopt.ts";
import { claimedIds } from "./claim.ts";
import { type ExpiringPayer, liveOf, openOf, withdrawalOf } from "./payer.ts";

/** @returns how many events were written */
export async function closePayments(payer: ExpiringPayer): Promise<number> {
  let written = 0;
  for (const payment of openOf(payer)) {
    if (!isOver(payer, payment)) continue;
    const held = await claimEnd(payer, payment.withdrawalId);
    written += payer.c.storage.transactionSync(() => closeOne(payer, payment.withdrawalId, held));
  }
  return written;
}

/** Nothing of it can land any more, and nothing is to be signed. */
export function isOver(payer: ExpiringPayer, payment: ExpiringPaymentRow): boolean {
  const isWanted = payment.givenUp === 0 && isOpen(withdrawalOf(payer, payment).state);
  return payment.status === "open" && !isWanted && liveOf(payer, payment).length === 0;
}

/**
 * The chain would not carry it out, and nothing was signed here. A copy of this object may have signed: D1 says so.
 * @returns how many events were written
 */
export async function refuseUnsigned(payer: ExpiringPayer, id: string, detail: string): Promise<number> {
  const held = await claimEnd(payer, id);
  const { c, tenantId } = payer;
  return c.storage.transactionSync(() => {
    const commit = new WithdrawalCommit(c, tenantId);
    const row = withdrawalById(c.db, id);
    if (row?.state !== "funds_reserved" || row.nonce !== null) return 0;
    const isNothingSigned = held.every(({ txId }) => txId === null);
    if (!isNothingSigned) adopt(payer, commit, id, held);
    else commit.move(row, { to: "failed", reason: "would_revert", evidence: detail, changes: { waitingFor: null } });
    return commit.written;
  });
}

function claimEnd(payer: ExpiringPayer, withdrawalId: string): Promise<readonly HeldAttempt[]> {
  const { c, tenantId, network, sender } = payer;
  const last = expiringAttemptsOf(c.db, withdrawalId).at(-1);
  return claimAttempt(c.env.DB, {
    withdrawalId,
    number: (last?.number ?? 0) + 1,
    tenantId,
    network: network.id,
    sender,
    attempt: null,
    known: claimedIds(payer, withdrawalId),
    now: c.now(),
  });
}

function closeOne(payer: ExpiringPayer, id: string, held: readonly HeldAttempt[]): number {
  const { c, tenantId } = payer;
  const commit = new WithdrawalCommit(c, tenantId);
  // What an earlier copy signed is waited for first.
  const signed = held.filter(({ txId }) => txId !== null);
  if (adopt(payer, commit, id, signed)) return commit.written;
  const payment = expiringPaymentOf(c.db, id);
  const isEnded = held.some(({ txId }) => txId === null);
  if (payment === undefined || !isEnded || !isOver(payer, payment)) return commit.written;
  changeExpiringPayment(c.db, id, { status: "final", givenUp: 1 });
  const row = withdrawalById(c.db, id);
  if (row !== undefined && isOpen(row.state)) fail(payer, commit, row);
  return commit.written;
}

function fail({ c }: ExpiringPayer, commit: WithdrawalCommit, found: WithdrawalRow): void {
  const attempts = expiringAttemptsOf(c.db, found.id).filter(({ status }) => status === "dead");
  const last = attempts.at(-1);
  const evidence =
    last === undefined ? "nothing of it was sent" : `${last.txId} is in no final block up to ${last.deadPoint}`;
  const changes = { waitingFor: null };
  let row = found;
  if (row.state === "broadcast_pending")
    row = commit.move(row, { to: "confirmation_tracking", reason: "awaiting_expiry", evidence });
  commit.move(row, { to: "failed", reason: "expired", evidence, changes });
}
