/**
 * A request to pay out, up to the reservation: claim the key in D1, then record, steps, reservation and
 * event in one commit. The key names one withdrawal for ever. A refusal before that commit leaves nothing
 * behind, so that the same key may be tried again.
 */

import { derivedId } from "../../../core/ids.ts";
import { refuse } from "../../../core/refusal.ts";
import type { WithdrawalView } from "../../../core/views.ts";
import { claimWithdrawalKey, releaseWithdrawalKey } from "../../../store/d1/withdrawals.ts";
import { isRequestKey } from "../../../store/tenant/key-store.ts";
import { count } from "../../../store/tenant/wallet-store.ts";
import { type WithdrawalRow, withdrawalById, withdrawalByKey } from "../../../store/tenant/withdrawal-store.ts";
import type { NewWithdrawal } from "../../api.ts";
import type { Audited } from "../audited-call.ts";
import { type Done, KEY_REUSED } from "../authorize.ts";
import type { TenantContext } from "../context.ts";
import { WithdrawalCommit } from "./commit.ts";
import { badDestination, fingerprintOf, readIntent, type WithdrawalIntent } from "./intent.ts";
import { judgeIntent } from "./judge.ts";
import { lineOf, refusedByLine, wakeWallet } from "./lines.ts";
import { toWithdrawalView } from "./view.ts";

/** Cron looks after a tenant with withdrawals for the first time so long after the request. */
const FIRST_PATROL_MS = 5 * 60_000;

interface Request {
  readonly intent: WithdrawalIntent;
  readonly input: NewWithdrawal;
  readonly key: string;
  readonly fingerprint: string;
  readonly creatorKeyId: string;
  readonly audit: Audited;
}

export async function createWithdrawal(
  c: TenantContext,
  tenantId: string,
  input: NewWithdrawal,
  key: string,
  creatorKeyId: string,
  audit: Audited,
): Promise<Done<WithdrawalView>> {
  const read = readIntent(c, input);
  // A key that names a withdrawal names it whatever is sent with it now.
  if (!read.ok) return withdrawalByKey(c.db, input.account, key) === undefined ? read : conflict(c);
  const request = { intent: read.value, input, key, fingerprint: fingerprintOf(read.value), creatorKeyId, audit };
  const known = replayOf(c, request);
  if (known !== null) return known;
  const now = refusedByLine(c, tenantId, read.value);
  if (!now.ok) return now;
  // Equal keys one after the other: what one of them gives back is never taken from under another.
  return c.turns.take(`key/${input.account}/${key}`, () => reserve(c, tenantId, request));
}

async function reserve(c: TenantContext, tenantId: string, request: Request): Promise<Done<WithdrawalView>> {
  const { intent, input, key, fingerprint, creatorKeyId, audit } = request;
  const { account } = intent;
  const earlier = replayOf(c, request);
  if (earlier !== null) return earlier;
  const early = judgeIntent(c, intent);
  if (!early.ok) return early;
  // Known too late otherwise: after the amount was reserved. Where nobody can tell now, that is when it is told.
  const problem = await lineOf(c, intent.network).destinationProblem?.(c, tenantId, intent);
  if (problem) return badDestination(problem);

  const id = derivedId("wd", tenantId, account, key);
  const now = c.now();
  const claim = { tenantId, account, key, fingerprint, withdrawalId: id, now, workDueAt: now + FIRST_PATROL_MS };
  const claimed = await claimWithdrawalKey(c.env.DB, claim);
  if (claimed.kind === "other_request") return conflict(c);
  if (claimed.had !== null) return lost(claimed.had);

  // Other requests were served while D1 answered: only what holds in this turn counts.
  const verdict = judgeIntent(c, intent);
  if (!verdict.ok) {
    await releaseWithdrawalKey(c.env.DB, claim);
    return verdict;
  }
  c.storage.transactionSync(() => {
    new WithdrawalCommit(c, tenantId).reserve(
      {
        id,
        account,
        idempotencyKey: key,
        fingerprint,
        network: intent.network,
        asset: intent.asset.asset,
        destination: intent.destination,
        amountUnits: intent.amountUnits.toString(),
        externalId: input.externalId,
        metadata: input.metadata,
        creatorKeyId,
        sender: null,
        nonce: null,
        txId: null,
        feeUnits: null,
        waitingFor: verdict.needsApproval ? "approval" : null,
        createdAt: c.now(),
      },
      verdict.needsApproval,
    );
    if (!verdict.needsApproval) wakeWallet(c, tenantId, intent.network);
    audit.done(id);
  });
  const made = withdrawalById(c.db, id);
  if (made === undefined) throw new Error(`withdrawal ${id} was just committed and is not there`);
  return { ok: true, value: toWithdrawalView(c, made), created: true };
}

/** The withdrawal that the key names already, a refusal when it names another one, null when it names none. */
function replayOf(c: TenantContext, { intent, key, fingerprint }: Request): Done<WithdrawalView> | null {
  const row: WithdrawalRow | undefined = withdrawalByKey(c.db, intent.account, key);
  // A key that was used on another call means something else.
  if (row === undefined) return isRequestKey(c.db, key) ? conflict(c) : null;
  if (row.fingerprint !== fingerprint) return conflict(c);
  count(c.db, "withdrawal_key_replays");
  return { ok: true, value: toWithdrawalView(c, row), replayed: true };
}

function conflict(c: TenantContext): Done<WithdrawalView> {
  count(c.db, "withdrawal_key_conflicts");
  return KEY_REUSED;
}

/** D1 knows what was to pay this withdrawal, and the object does not know the withdrawal: it is an older copy. */
function lost(had: string): Done<WithdrawalView> {
  return refuse(
    "state_conflict",
    `A withdrawal with this key was given ${had} by a copy of this tenant that is no longer there. ` +
      "It may have been paid. Look at the hot wallet's transactions before you use another key.",
  );
}
