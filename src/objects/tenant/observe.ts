/**
 * Takes in what the chain says about this tenant and tells what follows: load, decide, commit, all in one
 * turn without an await, so no other call can come in between. Committing an observation twice, or an
 * older one, changes nothing.
 */

import { type Dues, earliestDue, NO_DUES } from "../../core/dues.ts";
import { NO_RULES, ruleFor } from "../../core/policy.ts";
import { tallied } from "../../core/tallies.ts";
import { keyText, samePayment, type TransferKey, UNMINED } from "../../core/transfer.ts";
import { type ChainView, decide, type SeenPayment } from "../../core/watcher.ts";
import { log } from "../../log.ts";
import { accountOfAddress, accountsOfAddresses } from "../../store/tenant/address-store.ts";
import { applyBackfillSlice, type BackfillRow, backfillById } from "../../store/tenant/backfill-store.ts";
import {
  type DepositRow,
  depositsByKey,
  depositsDue,
  depositsLive,
  depositsSettledFrom,
  duesAfter,
  putTransfers,
  removeTransfer,
  setAside,
  toTold,
  transfersByKey,
} from "../../store/tenant/deposit-store.ts";
import { addFound, countedTallies, networkState, putNetworkState } from "../../store/tenant/network-store.ts";
import { confirmationRules } from "../../store/tenant/policy-store.ts";
import type { BackfillSlice, Observation, Observed, SeenTransfer } from "../api.ts";
import { type Commit, commitDeposits, type Decided } from "./commit-deposits.ts";
import { mustFindAsset, type TenantContext } from "./context.ts";
import { apart, takeCoins, takePastCoins } from "./wallet-coins.ts";

/** @returns what to answer, and whether events were written */
export function observe(
  c: TenantContext,
  tenantId: string,
  told: Observation,
): { observed: Observed; wroteEvents: boolean } {
  const state = networkState(c.db, told.network);
  if (state !== undefined && told.version <= state.version) {
    return { observed: acknowledge(state, state.dues), wroteEvents: false };
  }
  if (told.base !== null && told.base !== state?.version) {
    return { observed: { kind: "whole_needed", version: state?.version ?? 0 }, wroteEvents: false };
  }
  const { payments, coins } = apart(c, tenantId, told.network, told.added);
  const o: Observation = { ...told, added: payments };

  const dues = state?.dues ?? NO_DUES;
  const rows = new Map(depositsByKey(c.db, tenantId, o.network, [...o.added, ...o.removed]).map(byKey));
  const { heard, lost } = withoutStale(o, rows);
  const added = new Map(heard.map((transfer) => [keyText(transfer), transfer]));
  const missing = o.base === null ? missingFromWhole(c, o, dues, added) : null;
  for (const row of missing?.gone ?? []) rows.set(keyText(row), row);
  const gone: readonly TransferKey[] = missing?.gone ?? lost;
  const removed = new Map(gone.filter((key) => !added.has(keyText(key))).map((key) => [keyText(key), key]));
  const unknown = missing?.unknown ?? [];
  for (const row of depositsDue(c.db, o.network, dues, o.head, o.finalized)) rows.set(keyText(row), row);
  for (const row of unknown) rows.delete(keyText(row));

  const before = new Map(transfersByKey(c.db, o.network, [...rows.values()]).map((t) => [keyText(t), t]));
  const duplicates = heard.filter((t) => isKnown(before.get(keyText(t)), t)).length;
  const commit = prepare(c, tenantId, o.network, o, heard);
  const rule = ruleOf(commit);

  const decided: Decided[] = [];
  const look = (key: TransferKey, seen: SeenPayment | null) => {
    const row = rows.get(keyText(key)) ?? null;
    const decision = decide(row === null ? null : toTold(row), seen, commit.view, rule);
    decided.push({ key, before: row, decision, backfillId: null });
  };
  for (const key of removed.values()) look(key, null);
  for (const transfer of heard) look(transfer, transfer);
  for (const [name, row] of rows) {
    if (!added.has(name) && !removed.has(name)) look(row, before.get(name) ?? null);
  }

  // Before anything is written: rows of before the first observation are counted as they stand.
  const tallies = state?.tallies ?? countedTallies(c.db, o.network);
  let written = 0;
  let duesNow = dues;
  c.storage.transactionSync(() => {
    const moved = heard.filter((transfer) => !isWhereItWas(before.get(keyText(transfer)), transfer));
    putTransfers(c.db, o.network, moved);
    for (const key of removed.values()) removeTransfer(c.db, o.network, key);
    setAside(
      c.db,
      unknown.map((row) => row.id),
    );
    takeCoins(c, o, coins);
    const committed = commitDeposits(commit, decided);
    written = committed.written;
    // With the whole, everything that was still open has been looked at.
    const reached = o.base === null ? { head: UNMINED, finalized: UNMINED } : o;
    duesNow = duesAfter(c.db, o.network, dues, reached, committed.due);
    putNetworkState(c.db, {
      network: o.network,
      version: o.version,
      head: o.head,
      headTimestampS: o.headTimestamp,
      finalized: o.finalized,
      windowFrom: o.windowFrom,
      duplicatesMet: (state?.duplicatesMet ?? 0) + duplicates,
      tallies: { ...tallies, deposits: tallied(tallies.deposits, committed.moved) },
      dues: duesNow,
    });
  });
  if (unknown.length > 0) {
    log("warn", "deposits_set_aside", { tenant: tenantId, network: o.network, deposits: unknown.length });
  }
  return { observed: acknowledge(o, duesNow), wroteEvents: written > 0 };
}

/**
 * Adds what a past range holds and this tenant does not know. Never removes. A slice met before, or out
 * of order, changes nothing: the backfill's own row says which height comes next. What still stands inside
 * the window is counted and left to the observation: a slice that comes late must not outlive a reorganisation.
 */
export function observeBackfill(
  c: TenantContext,
  tenantId: string,
  read: BackfillSlice,
): { nextHeight: number | null; wroteEvents: boolean } {
  const job: BackfillRow | undefined = backfillById(c.db, read.backfillId);
  // A backfill that starts with an address has no row here: its payments are told, no report is kept.
  if (job !== undefined && (job.nextHeight !== read.fromHeight || job.status === "done"))
    return { nextHeight: job.nextHeight, wroteEvents: false };
  const { payments, coins } = apart(c, tenantId, read.network, read.transfers);
  const slice: BackfillSlice = { ...read, transfers: payments };

  const rows = new Map(depositsByKey(c.db, tenantId, slice.network, slice.transfers).map(byKey));
  const known = new Map(transfersByKey(c.db, slice.network, slice.transfers).map((t) => [keyText(t), t]));
  const commit = prepare(c, tenantId, slice.network, slice, slice.transfers);
  const rule = ruleOf(commit);

  const decided: Decided[] = [];
  const fresh: SeenTransfer[] = [];
  let alreadyKnown = 0;
  let added = 0;
  for (const transfer of slice.transfers) {
    const row = rows.get(keyText(transfer)) ?? null;
    // What is settled is final: read again, and perhaps read otherwise, it is the same payment.
    if (row !== null && row.status === "settled") {
      alreadyKnown++;
      continue;
    }
    const isOurs = row !== null && row.status !== "dropped" && row.status !== "reverted";
    const isMet = isOurs && isKnown(known.get(keyText(transfer)), transfer);
    if (isMet) alreadyKnown++;
    else added++;
    if (transfer.height >= slice.windowFrom) continue;
    if (!isMet) fresh.push(transfer);
    const decision = decide(row === null ? null : toTold(row), transfer, commit.view, rule);
    decided.push({ key: transfer, before: row, decision, backfillId: slice.backfillId });
  }

  let written = 0;
  c.storage.transactionSync(() => {
    putTransfers(c.db, slice.network, fresh);
    takePastCoins(c, slice, coins);
    // Below the window everything is settled at once: nothing is due later.
    const committed = commitDeposits(commit, decided);
    written = committed.written;
    addFound(c.db, slice.network, { duplicates: alreadyKnown, moved: committed.moved });
    if (job !== undefined) {
      applyBackfillSlice(c.db, job, {
        nextHeight: slice.toHeight + 1,
        found: slice.transfers.length,
        alreadyKnown,
        added,
        conflicts: slice.conflicts,
        finishedAt: slice.last ? c.now() : null,
      });
    }
  });
  return { nextHeight: job === undefined ? null : slice.toHeight + 1, wroteEvents: written > 0 };
}

/**
 * Leaves out what a pool that hangs behind says of payments that stand in a block: that one below the window waits
 * again, though no reorganisation took it out, and that one which was mined waits no longer.
 */
function withoutStale(
  o: Observation,
  rows: ReadonlyMap<string, DepositRow>,
): { heard: readonly SeenTransfer[]; lost: readonly TransferKey[] } {
  const minedIn = (key: TransferKey) => {
    const row = rows.get(keyText(key));
    const isLive = row !== undefined && row.status !== "dropped" && row.status !== "reverted";
    return isLive && row.height !== UNMINED ? row.height : null;
  };
  const takenOut = new Set(o.removed.filter((key) => key.wasUnmined !== true).map(keyText));
  const heard = o.added.filter(
    (t) => t.height !== UNMINED || (minedIn(t) ?? UNMINED) >= o.windowFrom || takenOut.has(keyText(t)),
  );
  const lost = o.removed.filter((key) => key.wasUnmined !== true || minedIn(key) === null);
  return { heard, lost };
}

/**
 * What a whole observation does not name. At or above its window such a payment is gone. Below the window
 * the whole says nothing about it: it is set aside, and only a backfill can tell.
 */
function missingFromWhole(
  c: TenantContext,
  o: Observation,
  dues: Dues,
  added: ReadonlyMap<string, SeenTransfer>,
): { gone: DepositRow[]; unknown: DepositRow[] } {
  const gone: DepositRow[] = [];
  const unknown: DepositRow[] = [];
  const settled = o.reopenedFrom === null ? [] : depositsSettledFrom(c.db, o.network, o.reopenedFrom);
  for (const row of [...depositsLive(c.db, o.network, dues), ...settled]) {
    if (added.has(keyText(row))) continue;
    if (row.height >= o.windowFrom) gone.push(row);
    else unknown.push(row);
  }
  return { gone, unknown };
}

function prepare(
  c: TenantContext,
  tenantId: string,
  network: string,
  seen: Pick<Observation, "head" | "headTimestamp" | "finalized" | "windowFrom">,
  transfers: readonly SeenTransfer[],
): Commit {
  const settings = c.settings.knownNetworks.get(network);
  if (settings === undefined) throw new Error(`an observation names network ${network}, which is not configured`);
  const view: ChainView = {
    head: seen.head,
    headTimestamp: seen.headTimestamp,
    finalized: seen.finalized,
    windowFrom: seen.windowFrom,
    minConfirmSeconds: settings.minConfirmSeconds,
  };
  const { finality, reorgWindow } = settings;
  // One commit may tell of thousands of payments to few addresses in fewer assets: each is looked up once.
  const accounts = accountsOfAddresses(c.db, network, [...new Set(transfers.map(({ address }) => address))]);
  const accountOf = (address: string) => accounts.get(address) ?? accountOfAddress(c.db, network, address);
  const assetOf = remembered((asset: string) => mustFindAsset(c, network, asset));
  return { c, tenantId, network, view, settlesBy: { finality, reorgWindow }, now: c.now(), accountOf, assetOf };
}

function ruleOf({ c, network, assetOf }: Commit) {
  const settings = c.settings.knownNetworks.get(network);
  if (settings === undefined) throw new Error(`network ${network} is not configured`);
  const rules = confirmationRules(c.db, network) ?? NO_RULES;
  return (payment: SeenPayment) => ruleFor(settings, rules, assetOf(payment.asset), payment.amountUnits);
}

function remembered<V>(find: (name: string) => V): (name: string) => V {
  const found = new Map<string, V>();
  return (name) => {
    const value = found.get(name) ?? find(name);
    found.set(name, value);
    return value;
  };
}

function acknowledge({ version, head }: { version: number; head: number }, dues: Dues): Observed {
  const [nextHeight, nextFinalized] = [earliestDue(dues.height), earliestDue(dues.finalized)];
  return { kind: "acknowledged", version, head, nextHeight, nextFinalized };
}

function isKnown(before: SeenPayment | undefined, transfer: SeenTransfer): boolean {
  return before !== undefined && samePayment(before, transfer);
}

function isWhereItWas(before: SeenPayment | undefined, transfer: SeenTransfer): boolean {
  return isKnown(before, transfer) && before?.blockHash === transfer.blockHash;
}

function byKey(row: DepositRow): [string, DepositRow] {
  return [keyText(row), row];
}
