/**
 * Tells tenants what the chain says about them, those alone for whom something changed or is due. A mark
 * is cleared only by the tenant's acknowledgement, so a lost answer leads to the same call again.
 */

import { log } from "../../log.ts";
import { objectOf } from "../../steps.ts";
import { deleteNotice, pendingNotices } from "../../store/scanner/job-store.ts";
import { blockAt, type ScannerState, updateState } from "../../store/scanner/state-store.ts";
import { addedSince, forgetRemovals, hasChangesSince, removedSince } from "../../store/scanner/transfer-store.ts";
import {
  forgetAcknowledgements,
  type TenantMark,
  tenantById,
  tenantByNumber,
  tenantsToHear,
  updateTenant,
} from "../../store/scanner/watch-store.ts";
import type { Observation, SeenTransfer, TenantPeerApi } from "../api.ts";
import { soon } from "../soon.ts";
import { type ScannerContext, stateOf } from "./context.ts";

const TENANTS_PER_ROUND = 200;
const AT_ONCE = 5;
export const TENANT_DEADLINE_MS = 10_000;
/** A tenant that cannot be told is left alone for a while, longer each time, so that it does not hold up the others. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;

/**
 * One round. Whoever could not be told stays marked and is called again at the next poll.
 * @returns whether the round was full, so that another should follow at once
 */
export async function deliver(s: ScannerContext): Promise<boolean> {
  const state = stateOf(s);
  if (state.scannedTo === null || state.windowFrom === null || state.holdUntil !== null) return false;
  const marks = state.status === "halted" ? [] : marksToTell(s, state, state.scannedTo);
  const notices = pendingNotices(s.db, TENANTS_PER_ROUND);
  const told = await inTurns(
    [...marks.map((mark) => () => tell(s, mark)), ...notices.map((notice) => () => tellNotice(s, notice))],
    AT_ONCE,
  );
  return told.includes(true) && (marks.length === TENANTS_PER_ROUND || notices.length === TENANTS_PER_ROUND);
}

function marksToTell(s: ScannerContext, state: ScannerState, scannedTo: number): TenantMark[] {
  const isClaimed = state.claimedVersion === state.version;
  // What is not claimed yet is not told; a tenant with nothing new may still hear what is due.
  return tenantsToHear(s.db, { scannedTo, finalized: state.finalized, now: s.now() }, TENANTS_PER_ROUND).filter(
    (mark) => isClaimed || mark.dirty === 0,
  );
}

async function tell(s: ScannerContext, mark: TenantMark): Promise<boolean> {
  try {
    const observation = compose(s, mark);
    let observed = await soon(tenantOf(s, mark.tenantId).observe(observation), TENANT_DEADLINE_MS);
    if (observed.kind === "acknowledged" && observed.version > observation.version) return riseAbove(s, observed);
    if (observed.kind === "whole_needed") {
      const base = isAhead(mark, observed.version) ? { ...mark, ackedVersion: observed.version } : needsWhole(s, mark);
      observed = await soon(tenantOf(s, mark.tenantId).observe(compose(s, base)), TENANT_DEADLINE_MS);
    }
    if (observed.kind === "whole_needed") throw new Error("the whole was sent, and the whole is asked for again");
    const { version, nextHeight, nextFinalized } = observed;
    s.storage.transactionSync(() => {
      forgetRemovals(s.db, mark.n, version);
      const changedFrom = tenantByNumber(s.db, mark.n)?.changedFrom ?? 0;
      const dirty = hasChangesSince(s.db, mark.n, version, changedFrom) ? 1 : 0;
      updateTenant(s.db, mark.n, { ackedVersion: version, dirty, nextHeight, nextFinalized, retryAt: 0, failures: 0 });
    });
    return true;
  } catch (error) {
    const failures = mark.failures + 1;
    const rest = Math.min(FIRST_RETRY_MS * 2 ** Math.min(mark.failures, 10), LAST_RETRY_MS);
    updateTenant(s.db, mark.n, { failures, retryAt: s.now() + rest });
    s.memory.lastError = `tenant ${mark.tenantId} could not be told: ${error instanceof Error ? error.message : String(error)}`;
    log("warn", "tenant_not_told", { network: s.network.id, tenant: mark.tenantId }, error);
    return false;
  }
}

/**
 * A tenant holds a newer version than ours: this object was restored from an older copy. Versions go on above
 * that one, and everybody gets the whole, but only when the tenant's head is reached again: until then heights
 * that it knows are missing here, and would look like payments that are gone.
 */
function riseAbove(s: ScannerContext, { version, head }: { version: number; head: number }): false {
  const state = stateOf(s);
  log("warn", "restored_from_older_copy", { network: s.network.id, version: state.version });
  s.storage.transactionSync(() => {
    forgetAcknowledgements(s.db, state.windowFrom ?? 0);
    updateState(s.db, {
      version: version + 1,
      ...(state.claimedVersion === state.version ? { claimedVersion: version + 1 } : {}),
      holdUntil: Math.max(state.scannedTo ?? 0, head),
    });
  });
  return false;
}

/**
 * The tenant committed what we sent and its answer was lost. Nothing after the version it acknowledged was
 * let go here, so the difference from where it really stands is still at hand.
 */
function isAhead(mark: TenantMark, version: number): boolean {
  return mark.ackedVersion !== null && version > mark.ackedVersion;
}

/** The tenant stands before what it acknowledged: restored from an older copy. It gets all that may still change. */
function needsWhole(s: ScannerContext, mark: TenantMark): TenantMark {
  const now = tenantById(s.db, mark.tenantId) ?? mark;
  const keptFrom = now.dirty === 1 ? now.keptFrom : (stateOf(s).windowFrom ?? 0);
  updateTenant(s.db, mark.n, { ackedVersion: null, dirty: 1, keptFrom });
  return { ...now, ackedVersion: null, dirty: 1, keptFrom };
}

/** Reads the rows and makes the call's argument in one turn: nothing can change in between. */
function compose(s: ScannerContext, mark: TenantMark): Observation {
  const state = stateOf(s);
  const { scannedTo, windowFrom } = state;
  const tip = scannedTo === null ? undefined : blockAt(s.db, scannedTo);
  if (scannedTo === null || windowFrom === null || tip === undefined) throw new Error("nothing was read yet");
  const base = mark.ackedVersion;
  const { dirty, changedFrom } = tenantByNumber(s.db, mark.n) ?? mark;
  const from = base === null ? 0 : changedFrom;
  // Where nothing changed, nothing was added: the tenant hears of what is due.
  const added = base === null || dirty === 1 ? addedSince(s.db, mark.n, base ?? -1, from).map(toSeen) : [];
  const isWhole = base === null;
  return {
    network: s.network.id,
    version: state.version,
    base,
    head: scannedTo,
    headTimestamp: tip.timestamp,
    finalized: state.finalized,
    // A tenant that lags is still owed everything since it fell behind.
    windowFrom: isWhole && mark.dirty === 1 ? Math.min(mark.keptFrom, windowFrom) : windowFrom,
    added,
    removed: isWhole ? [] : removedSince(s.db, mark.n, base),
    reopenedFrom: state.reopenedFrom,
  };
}

async function tellNotice(s: ScannerContext, notice: ReturnType<typeof pendingNotices>[number]): Promise<boolean> {
  const mark = tenantByNumber(s.db, notice.tenant);
  if (mark === undefined) return true;
  const network = s.network.id;
  try {
    await soon(
      tenantOf(s, mark.tenantId).noticeNetwork({
        network,
        id: notice.id,
        type: notice.type,
        at: notice.at,
        data: { network, reason: notice.reason, height: notice.height },
      }),
      TENANT_DEADLINE_MS,
    );
    deleteNotice(s.db, notice);
    return true;
  } catch (error) {
    log("warn", "tenant_not_told", { network, tenant: mark.tenantId }, error);
    return false;
  }
}

export function tenantOf(s: ScannerContext, tenantId: string): TenantPeerApi {
  return objectOf("Tenant", s.env.TENANT, tenantId);
}

async function inTurns<T>(work: readonly (() => Promise<T>)[], atOnce: number): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const lane = async () => {
    for (let job = work[next++]; job !== undefined; job = work[next++]) results.push(await job());
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, work.length) }, lane));
  return results;
}

function toSeen(owned: ReturnType<typeof addedSince>[number]): SeenTransfer {
  const { tenant: _tenant, ...seen } = owned;
  return seen;
}
