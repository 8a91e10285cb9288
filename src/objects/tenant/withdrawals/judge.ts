/** Whether a withdrawal may be reserved now: the account's funds, its debts, the tenant's own rules. */

import { formatAmount, unitsFromText } from "../../../core/amount.ts";
import { type Refusal, refuse } from "../../../core/refusal.ts";
import { hasDayLimit, judge, rulesAt } from "../../../core/withdrawal-policy.ts";
import { hasDebt } from "../../../store/tenant/ledger-store.ts";
import { heldWithdrawalRules } from "../../../store/tenant/policy-store.ts";
import type { WithdrawalRow } from "../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../context.ts";
import type { WithdrawalIntent } from "./intent.ts";
import type { Standing } from "./standing.ts";

export type Verdict =
  | { readonly ok: true; readonly needsApproval: boolean }
  | { readonly ok: false; readonly refusal: Refusal };

/** Reads only, and never waits: the answer holds for the turn it is given in. */
export function judgeIntent(intent: WithdrawalIntent, standing: Standing): Verdict {
  const { network, asset, destination, amountUnits, account } = intent;
  if (standing.hasDebt(account)) {
    const detail = `The account ${JSON.stringify(account)} owes for a deposit that was taken back. It pays nothing out until that is settled.`;
    return refuse("account_frozen", detail);
  }
  const rules = standing.rules();
  // Without such a limit nothing depends on what was asked for before.
  const lastDayUnits = hasDayLimit(rules, { network, asset: asset.asset }) ? standing.asked(network, asset.asset) : 0n;
  const verdict = judge(rules, { network, asset: asset.asset, destination, amountUnits, lastDayUnits });
  if (!verdict.ok) {
    if (verdict.reason === "destination_not_allowed") {
      return refuse("destination_not_allowed", `${destination} on ${network} is not on the allow-list.`);
    }
    const inUnits = (units: bigint) => `${formatAmount(units, asset.decimals)} ${asset.symbol}`;
    const limit = inUnits(verdict.limitUnits);
    if (verdict.reason === "per_withdrawal")
      return refuse("limit_exceeded", `The limit of ${limit} for one withdrawal would be exceeded.`);
    const left = verdict.limitUnits > lastDayUnits ? verdict.limitUnits - lastDayUnits : 0n;
    return refuse(
      "limit_exceeded",
      `The limit of ${limit} in 24 hours would be exceeded: ${inUnits(left)} of it is left.`,
    );
  }
  const { available } = standing.balance({ account, network, asset: asset.asset });
  if (available < amountUnits) {
    const has = formatAmount(available, asset.decimals);
    const wants = formatAmount(amountUnits, asset.decimals);
    return refuse("insufficient_funds", `${has} ${asset.symbol} is available, ${wants} was asked for.`);
  }
  return { ok: true, needsApproval: verdict.needsApproval };
}

/**
 * Whether something that is reserved already may be signed under what holds now: rules may have become stricter,
 * and a deposit of the account may have been taken back. The day's limit has counted it already.
 */
export function mayStillBePaid(c: TenantContext, row: WithdrawalRow): boolean {
  if (hasDebt(c.db, row.account)) return false;
  const { network, asset, destination } = row;
  const rules = rulesAt(heldWithdrawalRules(c.db), c.now());
  const amountUnits = unitsFromText(row.amountUnits);
  const verdict = judge(rules, { network, asset, destination, amountUnits, lastDayUnits: 0n });
  return verdict.ok || verdict.reason === "per_day";
}
