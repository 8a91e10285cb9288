/**
 * A request to pay out, up to the reservation: claim the key in D1, then record, steps, reservation and
 * event in one commit. The key names one withdrawal for ever. A refusal before that commit leaves nothing
 * behind, so that the same key may be tried again.
 *
 * Requests that come while others are at D1 are claimed, judged and committed together, in the order they came: what
 * reaches the disk is a round and not a request.
 */

import { derivedId } from "../../../core/ids.ts";
import { refuse } from "../../../core/refusal.ts";
import type { WithdrawalView } from "../../../core/views.ts";
import { StoreFault } from "../../../store/d1/deadline.ts";
import {
  type ClaimedKey,
  claimWithdrawalKeys,
  type KeyClaim,
  releaseWithdrawalKeys,
} from "../../../store/d1/withdrawals.ts";
import { count } from "../../../store/tenant/wallet-store.ts";
import { useOfWithdrawalKey, withdrawalByKey } from "../../../store/tenant/withdrawal-store.ts";
import type { NewWithdrawal } from "../../api.ts";
import type { Audited } from "../audited-call.ts";
import { type Done, KEY_REUSED } from "../authorize.ts";
import type { TenantContext } from "../context.ts";
import type { Rounds, Waiting } from "../rounds.ts";
import { badDestination, fingerprintOf, readIntent, type WithdrawalIntent } from "./intent.ts";
import { judgeIntent } from "./judge.ts";
import { lineOf, refusedByLine, wakeWallet } from "./lines.ts";
import { type NewRow, Reservations } from "./reservations.ts";
import { Standing } from "./standing.ts";
import { toWithdrawalView } from "./view.ts";

/** Cron looks after a tenant with withdrawals for the first time so long after the request. */
const FIRST_PATROL_MS = 5 * 60_000;
/** Nobody waits longer behind others: while D1 hangs, what comes in a minute would wait for many rounds that fail one by one. */
const MAX_WAIT_MS = 10_000;

interface Request {
  readonly intent: WithdrawalIntent;
  readonly input: NewWithdrawal;
  readonly key: string;
  readonly fingerprint: string;
  readonly creatorKeyId: string;
  readonly audit: Audited;
  /** Unix ms, when it began to wait for its round. */
  readonly askedAt: number;
}

type Asked = Waiting<Request, Done<WithdrawalView>>;

/** Where a tenant's requests meet. */
export interface Desk {
  readonly rounds: Rounds<Request, Done<WithdrawalView>>;
  /** Called in the turn of a commit that left something to be driven. */
  readonly onReserved: () => void;
}

export async function createWithdrawal(
  c: TenantContext,
  tenantId: string,
  input: NewWithdrawal,
  key: string,
  creatorKeyId: string,
  audit: Audited,
  { rounds, onReserved }: Desk,
): Promise<Done<WithdrawalView>> {
  const read = readIntent(c, input);
  // A key that names a withdrawal names it whatever is sent with it now.
  if (!read.ok) return withdrawalByKey(c.db, input.account, key) === undefined ? read : conflict(c);
  const intent = read.value;
  const request = { intent, input, key, fingerprint: fingerprintOf(intent), creatorKeyId, audit };
  // Equal keys one after the other: what one of them gives back is never taken from under another.
  return c.turns.take(`key/${input.account}/${key}`, async () => {
    const known = replayOf(c, request);
    if (known !== null) return known;
    const now = refusedByLine(c, tenantId, intent);
    if (!now.ok) return now;
    const { destinationProblem } = lineOf(c, intent.network);
    if (destinationProblem !== undefined) {
      // No node is asked about what is refused anyway.
      const early = judgeIntent(intent, new Standing(c));
      if (!early.ok) return early;
      // Known too late otherwise: after the amount was reserved. Where nobody can tell now, that is when it is told.
      const problem = await destinationProblem(c, tenantId, intent);
      if (problem) return badDestination(problem);
    }
    return rounds.take({ ...request, askedAt: c.now() }, (asked) => takeIn(c, tenantId, asked, onReserved));
  });
}

/** One round: its keys claimed in one call of D1, what may be reserved in one commit, the others' keys given back in one call. */
async function takeIn(c: TenantContext, tenantId: string, all: readonly Asked[], onReserved: () => void) {
  const asked = withoutHopeless(c, all);
  if (asked.length === 0) return;
  const now = c.now();
  const claims = asked.map(({ job }) => claimOf(tenantId, job));
  const claimed = await claimWithdrawalKeys(c.env.DB, tenantId, claims, { now, workDueAt: now + FIRST_PATROL_MS });
  const refused = reserve(c, tenantId, asked, claimed, onReserved);
  if (refused.length === 0) return;
  // Whoever was refused hears it when the key is free again. The next round has other keys, and does not wait.
  const keys = refused.map(({ one }) => claimOf(tenantId, one.job));
  void releaseWithdrawalKeys(c.env.DB, tenantId, keys).then(
    () => {
      for (const { one, done } of refused) one.answer(done);
    },
    (error) => {
      for (const { one } of refused) one.fail(error);
    },
  );
}

/**
 * What would be refused now takes no key: it is refused at once, also while D1 is out of reach. Nor does what waited for
 * too long, which is to be asked for again.
 */
function withoutHopeless(c: TenantContext, all: readonly Asked[]): readonly Asked[] {
  const standing = new Standing(c);
  return all.filter(({ job, answer, fail }) => {
    try {
      const early = judgeIntent(job.intent, standing);
      if (!early.ok) answer(early);
      else if (standing.now - job.askedAt > MAX_WAIT_MS)
        throw new StoreFault("claim withdrawal key: D1 had no time for it");
      return early.ok;
    } catch (error) {
      fail(error);
      return false;
    }
  });
}

function claimOf(tenantId: string, request: Request): KeyClaim {
  const { intent, key, fingerprint } = request;
  return { account: intent.account, key, fingerprint, withdrawalId: idOf(tenantId, request) };
}

function idOf(tenantId: string, { intent, key }: Request): string {
  return derivedId("wd", tenantId, intent.account, key);
}

/**
 * Others were served while D1 answered: only what holds in this turn counts, and each is judged by what those before it have
 * left. @returns those whose keys are to be given back
 */
function reserve(
  c: TenantContext,
  tenantId: string,
  asked: readonly Asked[],
  claimed: readonly ClaimedKey[],
  onReserved: () => void,
): { readonly one: Asked; readonly done: Done<WithdrawalView> }[] {
  const refused: { one: Asked; done: Done<WithdrawalView> }[] = [];
  // Nobody is told before the commit: until then it may be undone.
  const tell: (() => void)[] = [];
  let isAnyReserved = false;
  c.storage.transactionSync(() => {
    const standing = new Standing(c);
    const reservations = new Reservations(c, tenantId, standing);
    const toWake = new Set<string>();
    for (const [i, one] of asked.entries()) {
      const claim = claimed[i];
      if (claim === undefined) throw new Error("D1 answered for fewer keys than were claimed");
      if (claim.kind === "other_request") {
        const done = conflict(c);
        tell.push(() => one.answer(done));
        continue;
      }
      const { had } = claim;
      if (had !== null) {
        tell.push(() => one.answer(lost(had)));
        continue;
      }
      try {
        const verdict = judgeIntent(one.job.intent, standing);
        if (!verdict.ok) {
          refused.push({ one, done: verdict });
          continue;
        }
        const value: WithdrawalView = reservations.add(
          rowOf(tenantId, one.job, verdict.needsApproval),
          verdict.needsApproval,
          one.job.audit,
        );
        tell.push(() => one.answer({ ok: true, value, created: true }));
        isAnyReserved = true;
        if (!verdict.needsApproval) toWake.add(one.job.intent.network);
      } catch (error) {
        // Its key stays with it: it is answered as a fault, and may be asked for again.
        tell.push(() => one.fail(error));
      }
    }
    reservations.finish();
    for (const network of toWake) wakeWallet(c, tenantId, network);
  });
  for (const each of tell) each();
  if (isAnyReserved) onReserved();
  return refused;
}

function rowOf(tenantId: string, request: Request, needsApproval: boolean): NewRow {
  const { intent, input, key, fingerprint, creatorKeyId } = request;
  return {
    id: idOf(tenantId, request),
    account: intent.account,
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
    waitingFor: needsApproval ? "approval" : null,
  };
}

/** The withdrawal that the key names already, a refusal when it names another one, null when it names none. */
function replayOf(
  c: TenantContext,
  { intent, key, fingerprint }: Omit<Request, "askedAt">,
): Done<WithdrawalView> | null {
  const use = useOfWithdrawalKey(c.db, intent.account, key);
  if (use === null) return null;
  // A key that was used on another call means something else.
  if (use === "other_call" || use.fingerprint !== fingerprint) return conflict(c);
  count(c.db, "withdrawal_key_replays");
  return { ok: true, value: toWithdrawalView(c, use), replayed: true };
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
