/**
 * Where a withdrawal stands by what the chain made of the transactions signed for it. Whoever follows a wallet
 * says what is the case; the steps that follow from it are here. Nothing is released but on a final transaction
 * that excludes every payment of the withdrawal.
 */

import { changeWithdrawal, stepsOf, type WithdrawalRow } from "../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../context.ts";
import { type Move, RESOLVED, type WithdrawalCommit } from "./commit.ts";

const WAITS_FOR_NOBODY = { waitingFor: null };
/** After its deadline, what is mined and still not settled waits so much longer before a person is asked. */
const MINED_GRACE_MS = 6 * 3_600_000;

/** A transaction that excludes all others of the withdrawal is in a block. */
export interface MinedFacts {
  /** The transaction was made to pay it, and the chain carried it out. */
  readonly succeeded: boolean;
  /** It succeeded, and shows the payment. */
  readonly isPaid: boolean;
  /** Deep enough for the network's own rule. */
  readonly isDeep: boolean;
  readonly isFinal: boolean;
  /** The first time that it is seen in this block. */
  readonly isNew: boolean;
  readonly evidence: string;
  /** Why the withdrawal is not paid, should that be final. */
  readonly failure: string;
}

/** Each step is taken from where the withdrawal is now. */
export function judgeMined(c: TenantContext, commit: WithdrawalCommit, found: WithdrawalRow, facts: MinedFacts): void {
  const { succeeded, isPaid, isDeep, isFinal, isNew, evidence, failure } = facts;
  let row = found;
  // Confirmed in one block, and mined again in another that does not confirm it.
  if (row.state === "confirmed" && !(isPaid && (!isNew || isDeep)) && !isPersonsWord(c, row)) {
    row = commit.move(row, { to: "confirmation_tracking", reason: "reorganised", evidence });
  }
  const isConclusive = isPaid ? isDeep : isFinal && !succeeded;
  // A person's turn ends when the chain has the answer, not when it begins to have one.
  if (row.state === "broadcast_pending" || (row.state === "manual_review" && isConclusive)) {
    row = commit.move(row, {
      to: "confirmation_tracking",
      reason: "seen_in_block",
      evidence,
      changes: WAITS_FOR_NOBODY,
    });
  }
  if (row.state !== "confirmation_tracking") return;
  if (isPaid) {
    if (isDeep)
      commit.move(row, { to: "confirmed", reason: "confirmed_on_chain", evidence, changes: WAITS_FOR_NOBODY });
  } else if (isFinal && succeeded) {
    const changes = { waitingFor: "person" };
    commit.move(row, { to: "manual_review", reason: "transfer_log_missing", evidence, changes });
  } else if (isFinal) {
    commit.move(row, { to: "failed", reason: failure, evidence, changes: WAITS_FOR_NOBODY });
  }
}

/** What was mined is mined no longer. The same bytes go out again; whoever follows the wallet sees to that. */
export function takeBack(c: TenantContext, commit: WithdrawalCommit, row: WithdrawalRow, evidence: string): void {
  changeWithdrawal(c.db, row.id, { feeUnits: null });
  if (row.state !== "confirmed" || isPersonsWord(c, row)) return;
  commit.move({ ...row, feeUnits: null }, { to: "confirmation_tracking", reason: "reorganised", evidence });
}

/** A person decides, if it is still under way. What was signed is followed as before. */
export function askPerson(
  commit: WithdrawalCommit,
  row: WithdrawalRow | undefined,
  { reason, evidence }: Pick<Move, "reason" | "evidence">,
): void {
  if (row?.state !== "broadcast_pending" && row?.state !== "confirmation_tracking") return;
  const asked: Move = { to: "manual_review", reason, changes: { waitingFor: "person" } };
  commit.move(row, evidence === undefined ? asked : { ...asked, evidence });
}

/** Nothing is released for being late: a person is asked, and the same bytes go on being sent. */
export function isLate(c: TenantContext, payment: { deadlineAt: number; minedTxId: string | null }): boolean {
  return c.now() >= payment.deadlineAt + (payment.minedTxId === null ? 0 : MINED_GRACE_MS);
}

/** A withdrawal that a person called confirmed does not follow the chain any more. */
function isPersonsWord(c: TenantContext, row: WithdrawalRow): boolean {
  return stepsOf(c.db, row.id).findLast(({ to }) => to === "confirmed")?.reason === RESOLVED;
}
