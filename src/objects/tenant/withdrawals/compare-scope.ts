/**
 * What one reconciliation looks at: everything open, what the ledger has moved since the last report that missed
 * nothing, and whatever that report found to differ. Bounded, also for a tenant that was busy for a year.
 */

import { unitsFromText } from "../../../core/amount.ts";
import { type DepositRow, depositById } from "../../../store/tenant/deposit-store.ts";
import { type BalanceKey, type EntryRow, listEntries } from "../../../store/tenant/ledger-store.ts";
import { newestReport, storedReports } from "../../../store/tenant/report-store.ts";
import { openWithdrawals, type WithdrawalRow, withdrawalById } from "../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../context.ts";

/** Of each kind of row that is not open: withdrawals, deposits, balances. */
export const MAX_CHANGED = 1_000;
/** Ledger entries looked through for what changed. */
const MAX_ENTRIES = 20_000;
const ENTRIES_PER_PAGE = 500;
/** Entries are written with the clock of their commit: a clock that was set back hides none. */
const OVERLAP_MS = 60_000;
export interface Scope {
  /** Unix milliseconds. */
  readonly since: number;
  readonly withdrawals: readonly WithdrawalRow[];
  readonly deposits: readonly DepositRow[];
  readonly balances: readonly BalanceKey[];
}

/**
 * Reads only, in one turn.
 * @param unsettled withdrawals with a payment that no final transaction has decided, whatever they say themselves
 */
export function readScope(c: TenantContext, unsettled: readonly string[]): Scope {
  const { db } = c;
  const since = sinceLastReport(c);
  const entries = entriesSince(c, since);
  const before = newestReport(db)?.report.differences ?? [];
  const open = openWithdrawals(db);

  const causes = (type: string) =>
    entries.flatMap(({ causeType, causeId }) => (causeType.startsWith(`${type}.`) ? [causeId] : []));
  const subjects = before.map(({ subject }) => subject);
  const ids = unique([...subjects, ...causes("withdrawal")]).slice(0, MAX_CHANGED);
  const listed = unique([...ids, ...unsettled]).flatMap((id) => withdrawalById(db, id) ?? []);
  const withdrawals = uniqueBy([...open, ...listed], ({ id }) => id);
  const deposits = unique([...subjects, ...causes("deposit")])
    .slice(0, MAX_CHANGED)
    .flatMap((id) => depositById(db, id) ?? []);

  const differing = before.flatMap(({ kind, subject }) => (isOfBalance(kind) ? [balanceNamed(subject)] : []));
  const changed = uniqueBy([...differing, ...entries], balanceName).slice(0, MAX_CHANGED);
  return {
    since,
    withdrawals,
    deposits,
    balances: uniqueBy([...open, ...changed], balanceName).map(({ account, network, asset }) => ({
      account,
      network,
      asset,
    })),
  };
}

/** Sum of the open withdrawals, by the name of their balance. */
export function openUnits(c: TenantContext): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const row of openWithdrawals(c.db)) {
    const name = balanceName(row);
    sums.set(name, (sums.get(name) ?? 0n) + unitsFromText(row.amountUnits));
  }
  return sums;
}

/** An account's name may hold anything, so it stands first: what follows has no slash. */
export function balanceName({ account, network, asset }: BalanceKey): string {
  return `${account}/${network}/${asset}`;
}

function balanceNamed(name: string): BalanceKey {
  const parts = name.split("/");
  const [network = "", asset = ""] = parts.splice(-2);
  return { account: parts.join("/"), network, asset };
}

function isOfBalance(kind: string): boolean {
  return kind === "balance_differs" || kind === "reserved_differs";
}

/** A report that could not ask somebody has not seen what changed before it. */
function sinceLastReport(c: TenantContext): number {
  const complete = storedReports(c.db).find(({ report }) => report.unreachable.length === 0);
  return complete === undefined ? 0 : complete.at - OVERLAP_MS;
}

/** Newest first. */
function entriesSince(c: TenantContext, since: number): EntryRow[] {
  const found: EntryRow[] = [];
  while (found.length < MAX_ENTRIES) {
    const page = listEntries(c.db, {}, found.at(-1)?.seq ?? null, ENTRIES_PER_PAGE);
    const newer = page.filter(({ createdAt }) => createdAt >= since);
    found.push(...newer);
    if (newer.length < ENTRIES_PER_PAGE) break;
  }
  return found;
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}

/** The first of each name. */
export function uniqueBy<T>(items: readonly T[], nameOf: (item: T) => string): T[] {
  const byName = new Map<string, T>();
  for (const item of items) if (!byName.has(nameOf(item))) byName.set(nameOf(item), item);
  return [...byName.values()];
}
