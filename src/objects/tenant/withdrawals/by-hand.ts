/**
 * What people decide about a withdrawal: call it off, approve or reject it, hurry it, settle what the chain
 * left open. A decision that the present state does not allow changes nothing, and none of them releases
 * funds while signed bytes may still be mined.
 */

import { type Refusal, refuse } from "../../../core/refusal.ts";
import type { WithdrawalView } from "../../../core/views.ts";
import type { WithdrawalState } from "../../../core/withdrawal.ts";
import { claimedFor } from "../../../store/d1/withdrawals.ts";
import { bindKey, originOfKey, useOfKey } from "../../../store/tenant/key-store.ts";
import { type WithdrawalRow, withdrawalById } from "../../../store/tenant/withdrawal-store.ts";
import type { Idempotency } from "../../api.ts";
import type { Audited } from "../audited-call.ts";
import { type Done, KEY_REUSED, notFound } from "../authorize.ts";
import type { TenantContext } from "../context.ts";
import { type Move, RESOLVED, WithdrawalCommit } from "./commit.ts";
import { lineOf, wakeWallet } from "./lines.ts";
import type { OpenPayment, PayoutLine } from "./payout-line.ts";
import { toWithdrawalView } from "./view.ts";

type Decision =
  | { readonly ok: true; readonly act: (commit: WithdrawalCommit) => void }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Decides and commits in one turn. A key that came before, or a decision that was made already, answers with the
 * withdrawal as it stands.
 * @param done the state that the decision leads to, if it is one that is never left
 */
function decide(
  c: TenantContext,
  tenantId: string,
  id: string,
  idempotency: Idempotency,
  audit: Audited,
  decision: (row: WithdrawalRow) => Decision,
  done: WithdrawalState | null = null,
): Done<WithdrawalView> {
  const row = withdrawalById(c.db, id);
  if (row === undefined) return notFound("withdrawal");
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  if (use.kind === "replay" || row.state === done) return { ok: true, value: toWithdrawalView(c, row), replayed: true };
  const decided = decision(row);
  if (!decided.ok) return decided;
  c.storage.transactionSync(() => {
    decided.act(new WithdrawalCommit(c, tenantId));
    bindKey(c.db, idempotency, id);
    wakeWallet(c, tenantId, row.network);
    audit.done();
  });
  const after = withdrawalById(c.db, id);
  return after === undefined ? notFound("withdrawal") : { ok: true, value: toWithdrawalView(c, after) };
}

export async function cancelWithdrawal(
  c: TenantContext,
  tenantId: string,
  id: string,
  idempotency: Idempotency,
  audit: Audited,
) {
  const claimed = await claimedElsewhere(c, id);
  const cancel = (row: WithdrawalRow) => {
    if (!isUntouched(row))
      return illegal(row, `It can be cancelled only before ${lineOf(c, row.network).means} assigned to it.`);
    if (claimed !== null) return illegal(row, claimed);
    return moves(row, { to: "cancelled", reason: "cancelled_by_merchant", changes: { waitingFor: null } });
  };
  return decide(c, tenantId, id, idempotency, audit, cancel, "cancelled");
}

export function approveWithdrawal(
  c: TenantContext,
  tenantId: string,
  id: string,
  keyId: string,
  idempotency: Idempotency,
  audit: Audited,
) {
  return decide(c, tenantId, id, idempotency, audit, (row) => {
    if (row.state !== "pending_approval") return illegal(row, "Nothing waits for an approval.");
    // A key that took another one's place is the same hand.
    if (originOfKey(c.db, row.creatorKeyId) === originOfKey(c.db, keyId)) {
      return refuse("forbidden", "The key that asked for a withdrawal cannot approve it. Use another one.");
    }
    const evidence = `approved with ${keyId}`;
    return moves(row, { to: "funds_reserved", reason: "approved", evidence, changes: { waitingFor: null } });
  });
}

/** Nothing is assigned to it yet, as far as these rows know. */
function isUntouched({ nonce, state }: WithdrawalRow): boolean {
  return nonce === null && (state === "funds_reserved" || state === "pending_approval");
}

/** Why what looks untouched may have been paid all the same: rows restored from an older copy do not know. Null: it was not. */
async function claimedElsewhere(c: TenantContext, id: string): Promise<string | null> {
  const row = withdrawalById(c.db, id);
  if (row === undefined || !isUntouched(row)) return null;
  const claimed = await claimedFor(c.env.DB, id);
  if (claimed === null) return null;
  return `It was given ${claimed} by a copy of this tenant that is no longer there, and may have been paid.`;
}

export async function rejectWithdrawal(
  c: TenantContext,
  tenantId: string,
  id: string,
  keyId: string,
  why: string | null,
  idempotency: Idempotency,
  audit: Audited,
) {
  const claimed = await claimedElsewhere(c, id);
  const reject = (row: WithdrawalRow) => {
    if (row.state !== "pending_approval") return illegal(row, "Nothing waits for an approval.");
    if (claimed !== null) return illegal(row, claimed);
    const evidence = why === null ? `rejected with ${keyId}` : `rejected with ${keyId}: ${why}`;
    return moves(row, { to: "rejected", reason: "rejected", evidence, changes: { waitingFor: null } });
  };
  return decide(c, tenantId, id, idempotency, audit, reject, "rejected");
}

export function speedUpWithdrawal(
  c: TenantContext,
  tenantId: string,
  id: string,
  idempotency: Idempotency,
  audit: Audited,
) {
  return decide(c, tenantId, id, idempotency, audit, (row) => {
    const line = lineOf(c, row.network);
    const open = line.openPayment(c, row);
    if (open === null || open.minedTxId !== null || isSettled(row))
      return illegal(row, "Nothing of it waits to be mined.");
    const { attempts, holds } = open;
    if (holds !== null) return illegal(row, holds);
    if (attempts === 0) return illegal(row, "Nothing was signed yet that could be replaced.");
    if (attempts >= line.maxAttempts) return illegal(row, `It was replaced ${attempts - 1} times, which is the most.`);
    return { ok: true, act: () => line.hurry(c, row) };
  });
}

export function resolveWithdrawal(
  c: TenantContext,
  tenantId: string,
  id: string,
  { outcome, evidence }: { readonly outcome: "confirmed" | "failed"; readonly evidence: string },
  idempotency: Idempotency,
  audit: Audited,
) {
  return decide(c, tenantId, id, idempotency, audit, (row) => {
    if (row.state !== "manual_review") return illegal(row, "It does not wait for a person.");
    const line = lineOf(c, row.network);
    const open = line.openPayment(c, row);
    return outcome === "confirmed" ? callItPaid(row, open, evidence) : callItFailed(c, line, row, open, evidence);
  });
}

/** Paid by one of its own transactions, or by something else while none of its own can be mined any more. */
function callItPaid(row: WithdrawalRow, open: OpenPayment | null, evidence: string): Decision {
  const move: Move = { to: "confirmed", reason: RESOLVED, evidence, changes: { waitingFor: null } };
  if (open === null) return moves(row, move);
  if (open.isGivenUp) return illegal(row, "What would pay it is being used up by something else. Wait for the chain.");
  const named = [evidence, evidence.toLowerCase()];
  if (open.payments.some((txId) => named.some((text) => text.includes(txId)))) return moves(row, move);
  const detail =
    "What would pay it is not used up, so a transaction of it may still be mined. Name one of its own transactions as evidence, or resolve it as failed.";
  return illegal(row, detail);
}

/**
 * Given back at once only when what would pay it is used up for good. Until then bytes of it may be on their way,
 * known here or not: nonce or coin are used up by something that does not pay it, and the chain says when that is final.
 */
function callItFailed(
  c: TenantContext,
  line: PayoutLine,
  row: WithdrawalRow,
  open: OpenPayment | null,
  evidence: string,
): Decision {
  const changes = { waitingFor: null };
  if (open === null) return moves(row, { to: "failed", reason: RESOLVED, evidence, changes });
  if (open.minedTxId !== null) return illegal(row, `${open.minedTxId} is in a block. Wait for it.`);
  const deadlineS = c.settings.knownNetworks.get(row.network)?.payout.deadlineS ?? 0;
  return {
    ok: true,
    act: (commit) => {
      const reason = line.giveUp(c, row, c.now() + deadlineS * 1_000);
      commit.move(row, { to: "confirmation_tracking", reason, evidence, changes });
    },
  };
}

function moves(row: WithdrawalRow, move: Move): Decision {
  return { ok: true, act: (commit) => void commit.move(row, move) };
}

function isSettled(row: WithdrawalRow): boolean {
  return row.state === "confirmed" || row.state === "failed";
}

function illegal(row: WithdrawalRow, detail: string): { ok: false; refusal: Refusal } {
  return refuse("illegal_transition", `The withdrawal is ${row.state}. ${detail}`);
}
