/** Balances and entries as merchants see them. */

import { formatAmount, unitsFromText } from "../../core/amount.ts";
import { derivedId } from "../../core/ids.ts";
import type { Balance } from "../../core/ledger.ts";
import type { BalanceView, LedgerEntryView } from "../../core/views.ts";
import type { EntryRow } from "../../store/tenant/ledger-store.ts";
import type { AssetFacts } from "./context.ts";
import { iso } from "./deposit-view.ts";

export function toBalanceView(account: string, asset: AssetFacts, balance: Balance): BalanceView {
  const amount = (units: bigint) => formatAmount(units, asset.decimals);
  return {
    account,
    network: asset.network,
    asset: asset.symbol,
    available: amount(balance.available),
    reserved: amount(balance.reserved),
    settled: amount(balance.settled),
    debt: amount(balance.debt),
  };
}

export function toEntryView(row: EntryRow, asset: AssetFacts): LedgerEntryView {
  return {
    id: derivedId("le", row.journalId, row.line),
    journal_id: row.journalId,
    account: row.account,
    network: row.network,
    asset: asset.symbol,
    from: row.fromBucket,
    to: row.toBucket,
    amount: formatAmount(unitsFromText(row.amountUnits), asset.decimals),
    amount_units: row.amountUnits,
    cause: { type: row.causeType, id: row.causeId, event_id: row.eventId },
    created_at: iso(row.createdAt),
  };
}
