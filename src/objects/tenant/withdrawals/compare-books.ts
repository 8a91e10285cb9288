/** The ledger with itself and with the withdrawals, as both stand in one turn. */

import { unitsFromText } from "../../../core/amount.ts";
import { compareBalance, compareJournals, compareReserved, foldOf } from "../../../core/reconciliation.ts";
import { type BalanceKey, entriesOfCauses, movementsOf, readBalance } from "../../../store/tenant/ledger-store.ts";
import { type WithdrawalRow, withdrawalById } from "../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../context.ts";
import { balanceName, openUnits, type Scope } from "./compare-scope.ts";
import type { Findings } from "./findings.ts";

/** An account with more entries is not summed up: it would hold up the object for seconds. */
const MAX_ENTRIES_SUMMED = 50_000;

export function compareBooks(c: TenantContext, scope: Scope, findings: Findings): void {
  const sums = openUnits(c);
  const tooLong = new Set<string>();
  for (const key of scope.balances) {
    compareOne(c, key, sums.get(balanceName(key)) ?? 0n, tooLong, findings);
  }
  const rows = scope.withdrawals.flatMap(({ id }) => withdrawalById(c.db, id) ?? []);
  for (const [account, own] of Map.groupBy(rows, (row) => row.account)) {
    if (!tooLong.has(account)) compareAccount(c, account, own, findings);
  }
}

function compareOne(
  c: TenantContext,
  key: BalanceKey,
  openSum: bigint,
  tooLong: Set<string>,
  findings: Findings,
): void {
  const name = balanceName(key);
  const held = readBalance(c.db, key);
  findings.compared("reservations", compareReserved(name, held, openSum));
  const movements = movementsOf(c.db, key, MAX_ENTRIES_SUMMED);
  if (movements === null) {
    tooLong.add(key.account);
    findings.compared("balances_too_long", []);
    return;
  }
  findings.compared("balances", compareBalance(name, held, foldOf(movements)));
}

function compareAccount(c: TenantContext, account: string, rows: readonly WithdrawalRow[], findings: Findings): void {
  const ids = rows.map(({ id }) => id);
  const entries = entriesOfCauses(c.db, account, ids).filter(({ causeType }) => causeType !== "withdrawal.network_fee");
  const byCause = Map.groupBy(entries, ({ causeId }) => causeId);
  for (const row of rows) {
    const lines = (byCause.get(row.id) ?? []).map((entry) => ({
      journalId: entry.journalId,
      cause: entry.causeType,
      account: entry.account,
      network: entry.network,
      asset: entry.asset,
      from: entry.fromBucket,
      to: entry.toBucket,
      units: unitsFromText(entry.amountUnits),
    }));
    findings.compared("journals", compareJournals({ ...row, amountUnits: unitsFromText(row.amountUnits) }, lines));
  }
}
