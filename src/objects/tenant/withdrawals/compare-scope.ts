/**
 * What one reconciliation looks at: everything open, what the ledger has moved since the last report that missed
 * nothing, and whatever that report found to differ. Bounded, also for a tenant that was busy for a year.
 */

import { unitsFromText } from "../../../core/amount.ts";
import { type DepositRow, depositById } from "../../../store/tenant/deposit-store.ts";
import { type BalanceKey, type EntryRow, listEntries } from "../../../store/tenant/ledger-store.ts";
import { newestReport, storedReports } from "../../../store/tenant/report-store.ts";
import { allOpenSlots, type SlotRow, slotAt, slotsFrom } from "../../../store/tenant/slot-store.ts";
import { allWallets } from "../../../store/tenant/wallet-store.ts";
import { openWithdrawals, type WithdrawalRow, withdrawalById } from "../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../context.ts";
import { walletAddress } from "./signing.ts";

/** Of each kind of row that is not open: withdrawals, deposits, balances. */
export const MAX_CHANGED = 1_000;
/** Ledger entries looked through for what changed. */
const MAX_ENTRIES = 20_000;
const ENTRIES_PER_PAGE = 500;
/** Entries are written with the clock of their commit: a clock that was set back hides none. */
const OVERLAP_MS = 60_000;
/** Nonces of a wallet below its next one, and claims above, that are compared. */
const NONCES_BEHIND = 1_000;
export const MAX_NONCES = 5_000;

export interface WalletScope {
  readonly network: string;
  readonly sender: string;
  /** Lowest nonce that is compared. */
  readonly from: number;
  /** Slots from there on, as they stood before anybody was asked. */
  readonly slots: readonly SlotRow[];
}

export interface Scope {
  /** Unix milliseconds. */
  readonly since: number;
  readonly withdrawals: readonly WithdrawalRow[];
  /** Those of the withdrawals, and every open one. */
  readonly slots: readonly SlotRow[];
  readonly deposits: readonly DepositRow[];
  readonly balances: readonly BalanceKey[];
  readonly wallets: readonly WalletScope[];
}

/** Reads only, in one turn. */
export function readScope(c: TenantContext, tenantId: string): Scope {
  const { db } = c;
  const since = sinceLastReport(c);
  const entries = entriesSince(c, since);
  const before = newestReport(db)?.report.differences ?? [];
  const openSlots = allOpenSlots(db);
  const open = openWithdrawals(db);

  const causes = (type: string) =>
    entries.flatMap(({ causeType, causeId }) => (causeType.startsWith(`${type}.`) ? [causeId] : []));
  const subjects = before.map(({ subject }) => subject);
  const ids = unique([...subjects, ...causes("withdrawal")]).slice(0, MAX_CHANGED);
  const ofSlots = openSlots.flatMap(({ withdrawalId }) => withdrawalId ?? []);
  const listed = unique([...ids, ...ofSlots]).flatMap((id) => withdrawalById(db, id) ?? []);
  const withdrawals = uniqueBy([...open, ...listed], ({ id }) => id);
  const deposits = unique([...subjects, ...causes("deposit")])
    .slice(0, MAX_CHANGED)
    .flatMap((id) => depositById(db, id) ?? []);

  const differing = before.flatMap(({ kind, subject }) => (isOfBalance(kind) ? [balanceNamed(subject)] : []));
  const changed = uniqueBy([...differing, ...entries], balanceName).slice(0, MAX_CHANGED);
  return {
    since,
    withdrawals,
    slots: uniqueBy([...openSlots, ...withdrawals.flatMap((row) => slotOf(c, row) ?? [])], slotName),
    deposits,
    balances: uniqueBy([...open, ...changed], balanceName).map(({ account, network, asset }) => ({
      account,
      network,
      asset,
    })),
    wallets: walletsOf(c, tenantId, openSlots),
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

export function slotOf(c: TenantContext, { network, sender, nonce }: WithdrawalRow): SlotRow | undefined {
  return sender === null || nonce === null ? undefined : slotAt(c.db, { network, sender, nonce });
}

export function slotName({ network, sender, nonce }: Pick<SlotRow, "network" | "sender" | "nonce">): string {
  return `${network}/${sender}/${nonce}`;
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

/** Every wallet there ever was, and those in use: an older copy of this object may not know that it used one. */
function walletsOf(c: TenantContext, tenantId: string, open: readonly SlotRow[]): WalletScope[] {
  const known = allWallets(c.db);
  const inUse = [...c.settings.networks.keys()].map((network) => ({
    network,
    sender: walletAddress(c, tenantId, network),
    nextNonce: 0,
  }));
  return uniqueBy([...known, ...inUse], ({ network, sender }) => `${network}/${sender}`).map(
    ({ network, sender, nextNonce }) => {
      const own = open.filter((slot) => slot.network === network && slot.sender === sender);
      const from = Math.max(0, Math.min(nextNonce - NONCES_BEHIND, ...own.map(({ nonce }) => nonce)));
      return { network, sender, from, slots: slotsFrom(c.db, network, sender, from, MAX_NONCES) };
    },
  );
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}

/** The first of each name. */
function uniqueBy<T>(items: readonly T[], nameOf: (item: T) => string): T[] {
  const byName = new Map<string, T>();
  for (const item of items) if (!byName.has(nameOf(item))) byName.set(nameOf(item), item);
  return [...byName.values()];
}
