/** A tenant's own rules for withdrawals, between the wire's symbols and decimals and base units inside. */

import { addressProblem, parseAddress } from "../../../core/address.ts";
import { formatAmount, parseAmount } from "../../../core/amount.ts";
import type { PoliciesView, WithdrawalRulesView } from "../../../core/policy-view.ts";
import { type FieldError, refuse } from "../../../core/refusal.ts";
import { type HeldRules, rulesAt, type WithdrawalRules, withRules } from "../../../core/withdrawal-policy.ts";
import { heldWithdrawalRules, putHeldWithdrawalRules } from "../../../store/tenant/policy-store.ts";
import type { Done } from "../authorize.ts";
import { assetsNamed, mustFindAsset, type TenantContext } from "../context.ts";
import { iso } from "../deposit-view.ts";

export function withdrawalPolicies(c: TenantContext): PoliciesView["withdrawals"] {
  const held: HeldRules = heldWithdrawalRules(c.db);
  const now = c.now();
  const waits = held.pending !== null && held.pending.effectiveAt > now ? held.pending : null;
  return {
    current: toRulesView(c, rulesAt(held, now)),
    pending: waits === null ? null : { rules: toRulesView(c, waits.rules), effective_at: iso(waits.effectiveAt) },
  };
}

export function putWithdrawalRules(c: TenantContext, view: WithdrawalRulesView): Done<null> {
  const errors: FieldError[] = [];
  const rules = readRules(c, view, errors);
  if (errors.length > 0) return refuse("invalid_fields", "The rules cannot be kept.", { errors });
  putHeldWithdrawalRules(c.db, withRules(heldWithdrawalRules(c.db), rules, c.now()));
  return { ok: true, value: null };
}

function readRules(c: TenantContext, view: WithdrawalRulesView, errors: FieldError[]): WithdrawalRules {
  const assetAt = (path: string, network: string, symbol: string) => {
    const named = assetsNamed(c, symbol, network)[0];
    if (named === undefined) errors.push({ path, message: `no asset ${symbol} is listed on ${network}` });
    return named === undefined ? null : mustFindAsset(c, network, named.asset);
  };
  const unitsAt = (path: string, text: string, decimals: number) => {
    const parsed = parseAmount(text, decimals);
    if (!parsed.ok) errors.push({ path, message: `expected a decimal amount with at most ${decimals} decimals` });
    return parsed.ok ? parsed.units : 0n;
  };
  const allowList = view.allow_list?.flatMap(({ network, address }, i) => {
    const settings = c.settings.knownNetworks.get(network);
    const path = `allow_list.${i}`;
    if (settings === undefined) {
      errors.push({ path: `${path}.network`, message: "expected one of GET /v1/networks" });
      return [];
    }
    const parsed = parseAddress(settings, address);
    if (!parsed.ok) errors.push({ path: `${path}.address`, message: addressProblem(settings, parsed.reason) });
    return parsed.ok ? [{ network, address: parsed.address }] : [];
  });
  return {
    coolDownS: view.cool_down_seconds,
    allowList: allowList ?? null,
    limits: view.limits.flatMap(({ network, asset: symbol, per_withdrawal, per_day }, i) => {
      const asset = assetAt(`limits.${i}.asset`, network, symbol);
      if (asset === null) return [];
      const units = (name: string, text: string | null) =>
        text === null ? null : unitsAt(`limits.${i}.${name}`, text, asset.decimals);
      return [
        {
          network,
          asset: asset.asset,
          perWithdrawalUnits: units("per_withdrawal", per_withdrawal),
          perDayUnits: units("per_day", per_day),
        },
      ];
    }),
    approvals: view.approvals.flatMap(({ network, asset: symbol, above }, i) => {
      const asset = assetAt(`approvals.${i}.asset`, network, symbol);
      if (asset === null) return [];
      return [{ network, asset: asset.asset, aboveUnits: unitsAt(`approvals.${i}.above`, above, asset.decimals) }];
    }),
  };
}

function toRulesView(c: TenantContext, rules: WithdrawalRules): WithdrawalRulesView {
  const shown = (network: string, asset: string, units: bigint | null) =>
    units === null ? null : formatAmount(units, mustFindAsset(c, network, asset).decimals);
  const symbol = (network: string, asset: string) => mustFindAsset(c, network, asset).symbol;
  return {
    cool_down_seconds: rules.coolDownS,
    allow_list: rules.allowList?.map(({ network, address }) => ({ network, address })) ?? null,
    limits: rules.limits.map(({ network, asset, perWithdrawalUnits, perDayUnits }) => ({
      network,
      asset: symbol(network, asset),
      per_withdrawal: shown(network, asset, perWithdrawalUnits),
      per_day: shown(network, asset, perDayUnits),
    })),
    approvals: rules.approvals.map(({ network, asset, aboveUnits }) => ({
      network,
      asset: symbol(network, asset),
      above: shown(network, asset, aboveUnits) ?? "0",
    })),
  };
}
