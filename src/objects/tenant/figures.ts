/**
 * What a tenant tells the operator's monitor of itself: sums and moments, none of which names it. Each is a row that is
 * read, or few of them: deposits and ended withdrawals are tallied in the commits that move them, and only what is open
 * or owed is counted.
 */

import { formatAmount } from "../../core/amount.ts";
import { type Figure, figure, unlessZero } from "../../core/figures.ts";
import { NATIVE } from "../../core/transfer.ts";
import { endpointsBehind } from "../../store/tenant/endpoint-store.ts";
import { eventsAfter, lastSequence } from "../../store/tenant/event-store.ts";
import { debts } from "../../store/tenant/ledger-store.ts";
import { allNetworkStates } from "../../store/tenant/network-store.ts";
import { newestReportCounters } from "../../store/tenant/report-store.ts";
import { allCounters, allWallets } from "../../store/tenant/wallet-store.ts";
import { openByState } from "../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "./context.ts";

/** Requests whose key had come before, since this instance began. */
export interface RepeatedRequests {
  replays: number;
  conflicts: number;
}

const CLAIM_CONFLICTS = { nonce: "nonce_conflicts", coin: "coin_conflicts", attempt: "attempt_conflicts" } as const;
/** What tenants list themselves has any name they like: it is one asset here. */
const LISTED = "other";

export function tenantFigures(c: TenantContext, repeated: RepeatedRequests): readonly Figure[] {
  const counted = allCounters(c.db);
  const report = newestReportCounters(c.db);
  return [
    ...networkFigures(c),
    ...openFigures(c),
    ...debtFigures(c),
    ...undelivered(c),
    ...unlessZero("sluice_withdrawals_unresolved", report.unresolved),
    ...unlessZero("sluice_reconciliation_mismatches", report.mismatches),
    ...unlessZero("sluice_withdrawal_broadcasts_repeated_total", counted.repeated_broadcasts ?? 0),
    ...unlessZero("sluice_foreign_spends_total", counted.foreign_spends ?? 0),
    ...Object.entries(CLAIM_CONFLICTS).flatMap(([claim, name]) =>
      unlessZero("sluice_withdrawal_claim_conflicts_total", counted[name] ?? 0, { claim }),
    ),
    ...unlessZero("sluice_idempotency_replays_total", repeated.replays),
    ...unlessZero("sluice_idempotency_conflicts_total", repeated.conflicts),
    ...allWallets(c.db).flatMap(({ network, status }) =>
      unlessZero("sluice_wallets_stopped", status === "stopped" ? 1 : 0, { network }),
    ),
  ];
}

function networkFigures(c: TenantContext): Figure[] {
  return allNetworkStates(c.db).flatMap(({ network, duplicatesMet, tallies: { deposits, withdrawals } }) => [
    ...unlessZero("sluice_payments_met_again_total", duplicatesMet, { network }),
    ...Object.entries(deposits).flatMap(([state, n]) => unlessZero("sluice_deposits", n, { network, state })),
    ...Object.entries(withdrawals).flatMap(([state, n]) => unlessZero("sluice_withdrawals", n, { network, state })),
  ]);
}

function openFigures(c: TenantContext): Figure[] {
  return openByState(c.db).flatMap(({ network, state, n, oldest }) => [
    figure("sluice_withdrawals", n, { network, state }),
    figure("sluice_withdrawal_oldest_open_timestamp_seconds", oldest / 1_000, { network }),
  ]);
}

function debtFigures(c: TenantContext): Figure[] {
  const owed = new Map<string, { accounts: number; units: bigint }>();
  for (const { network, asset, units } of debts(c.db)) {
    const key = JSON.stringify([network, asset]);
    const { accounts, units: before } = owed.get(key) ?? { accounts: 0, units: 0n };
    owed.set(key, { accounts: accounts + 1, units: before + units });
  }
  return [...owed].flatMap(([key, { accounts, units }]) => {
    const [network, asset] = JSON.parse(key) as [string, string];
    const known = builtIn(c, network, asset);
    const labels = { network, asset: known?.symbol ?? LISTED };
    const accountsInDebt = figure("sluice_accounts_in_debt", accounts, labels);
    // Units of different assets have no sum.
    if (known === null) return [accountsInDebt];
    return [accountsInDebt, figure("sluice_accounts_debt_units", Number(formatAmount(units, known.decimals)), labels)];
  });
}

function builtIn(c: TenantContext, network: string, asset: string): { symbol: string; decimals: number } | null {
  const settings = c.settings.knownNetworks.get(network);
  if (settings === undefined) return null;
  if (asset === NATIVE) return settings.nativeAsset;
  return settings.tokens.find(({ contract }) => contract === asset) ?? null;
}

/** The oldest event that an endpoint's object was not handed yet. What it was handed, that object tells of. */
function undelivered(c: TenantContext): Figure[] {
  return endpointsBehind(c.db, lastSequence(c.db))
    .filter(({ status }) => status === "enabled")
    .flatMap(({ handedTo }) => eventsAfter(c.db, { after: handedTo, types: null }, 1))
    .map(({ createdAt }) => figure("sluice_event_oldest_undelivered_timestamp_seconds", createdAt / 1_000));
}
