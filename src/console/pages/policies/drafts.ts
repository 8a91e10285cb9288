/** The rules as they stand in a form: texts, until they are whole. What is not is a refusal at its field, as the service's own are. */

import { InvalidRequestError } from "../../../sdk/errors.ts";
import type { ConfirmationRule, NewConfirmationRules, Policies, WithdrawalRules } from "../../../sdk/types.ts";
import { isDecimal } from "./differences.ts";

export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error };

type Problem = { readonly path: string; readonly message: string };

function read<T>(make: (problems: Problem[]) => T): Read<T> {
  const errors: Problem[] = [];
  const value = make(errors);
  if (errors.length === 0) return { ok: true, value };
  return {
    ok: false,
    error: new InvalidRequestError("Some fields are not filled in as they should be.", {
      code: "invalid_fields",
      errors,
    }),
  };
}

// ---- what may be paid out ---------------------------------------------------------------------

export interface DestinationDraft {
  readonly network: string;
  readonly address: string;
}

export interface LimitDraft {
  readonly network: string;
  readonly asset: string;
  readonly perWithdrawal: string;
  readonly perDay: string;
}

export interface ApprovalDraft {
  readonly network: string;
  readonly asset: string;
  readonly above: string;
}

export interface RulesDraft {
  readonly coolDown: string;
  readonly restricted: boolean;
  readonly allowList: readonly DestinationDraft[];
  readonly limits: readonly LimitDraft[];
  readonly approvals: readonly ApprovalDraft[];
}

export function draftOf(rules: WithdrawalRules): RulesDraft {
  return {
    coolDown: String(rules.cool_down_seconds),
    restricted: rules.allow_list !== null,
    allowList: rules.allow_list ?? [],
    limits: rules.limits.map(({ network, asset, per_withdrawal: one, per_day: day }) => ({
      network,
      asset,
      perWithdrawal: one ?? "",
      perDay: day ?? "",
    })),
    approvals: rules.approvals,
  };
}

const AN_AMOUNT = "expected a decimal amount such as 1.5";

export function rulesFrom(draft: RulesDraft): Read<WithdrawalRules> {
  return read((problems) => {
    const amount = (path: string, text: string) => {
      const trimmed = text.trim();
      if (!isDecimal(trimmed)) problems.push({ path, message: AN_AMOUNT });
      return trimmed;
    };
    const maybe = (path: string, text: string) => (text.trim() === "" ? null : amount(path, text));
    if (!/^\d{1,9}$/.test(draft.coolDown.trim())) {
      problems.push({ path: "cool_down_seconds", message: "expected whole seconds" });
    }
    return {
      cool_down_seconds: Number(draft.coolDown.trim()),
      allow_list: draft.restricted
        ? draft.allowList.map(({ network, address }, i) => {
            if (address.trim() === "")
              problems.push({ path: `allow_list.${i}.address`, message: "expected an address" });
            return { network, address: address.trim() };
          })
        : null,
      limits: draft.limits.map(({ network, asset, perWithdrawal, perDay }, i) => {
        const own = maybe(`limits.${i}.per_withdrawal`, perWithdrawal);
        const day = maybe(`limits.${i}.per_day`, perDay);
        if (own === null && day === null) {
          problems.push({
            path: `limits.${i}.per_withdrawal`,
            message: "expected this amount, the one of a day, or both",
          });
        }
        return { network, asset, per_withdrawal: own, per_day: day };
      }),
      approvals: draft.approvals.map(({ network, asset, above }, i) => ({
        network,
        asset,
        above: amount(`approvals.${i}.above`, above),
      })),
    };
  });
}

/** The fields that a refusal can be shown at. */
export function fieldsOf({ allowList, limits, approvals }: RulesDraft): string[] {
  return [
    "cool_down_seconds",
    ...allowList.flatMap((_, i) => [`allow_list.${i}.network`, `allow_list.${i}.address`]),
    ...limits.flatMap((_, i) => ["network", "asset", "per_withdrawal", "per_day"].map((name) => `limits.${i}.${name}`)),
    ...approvals.flatMap((_, i) => ["network", "asset", "above"].map((name) => `approvals.${i}.${name}`)),
  ];
}

// ---- when payments count ----------------------------------------------------------------------

export interface StepDraft {
  readonly from: string;
  readonly rule: string;
}

export interface AssetDraft {
  readonly symbol: string;
  readonly rule: string;
  readonly amounts: readonly StepDraft[];
}

export interface ConfirmationsDraft {
  readonly rule: string;
  readonly assets: readonly AssetDraft[];
}

export function confirmationsDraftOf(rules: Policies["confirmations"][string] | undefined): ConfirmationsDraft {
  const text = (rule: ConfirmationRule | null) => (rule === null ? "" : String(rule));
  return {
    rule: text(rules?.default ?? null),
    assets: Object.entries(rules?.assets ?? {}).map(([symbol, own]) => ({
      symbol,
      rule: text(own.default),
      amounts: own.amounts.map(({ from, confirmations }) => ({ from, rule: text(confirmations) })),
    })),
  };
}

export function confirmationsFrom(draft: ConfirmationsDraft): Read<NewConfirmationRules> {
  return read((problems) => {
    const rule = (path: string, text: string): ConfirmationRule | null => {
      const given = text.trim().toLowerCase();
      if (given === "") return null;
      if (given === "finalized") return given;
      if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
      problems.push({ path, message: "expected a number of blocks from 1 on, or finalized" });
      return null;
    };
    const named = draft.assets.map(({ symbol }) => symbol);
    const assets = draft.assets.map(({ symbol, rule: own, amounts }, a) => {
      if (named.indexOf(symbol) !== a) problems.push({ path: `asset.${a}`, message: `${symbol} is named twice` });
      const path = `assets.${symbol}`;
      const steps = amounts.map(({ from, rule: depth }, i) => {
        if (!isDecimal(from.trim())) problems.push({ path: `${path}.amounts.${i}.from`, message: AN_AMOUNT });
        const confirmations = rule(`${path}.amounts.${i}.confirmations`, depth);
        if (confirmations === null && depth.trim() === "") {
          problems.push({
            path: `${path}.amounts.${i}.confirmations`,
            message: "expected a number of blocks, or finalized",
          });
        }
        return { from: from.trim(), confirmations: confirmations ?? 1 };
      });
      return [symbol, { default: rule(`${path}.default`, own), amounts: steps }] as const;
    });
    return { default: rule("default", draft.rule), assets: Object.fromEntries(assets) };
  });
}

export function confirmationFieldsOf({ assets }: ConfirmationsDraft): string[] {
  return [
    "default",
    ...assets.flatMap(({ symbol, amounts }, a) => [
      `asset.${a}`,
      `assets.${symbol}.default`,
      ...amounts.flatMap((_, i) => [
        `assets.${symbol}.amounts.${i}.from`,
        `assets.${symbol}.amounts.${i}.confirmations`,
      ]),
    ]),
  ];
}

// ---- lists in a form --------------------------------------------------------------------------

export function withChanged<T>(list: readonly T[], at: number, change: Partial<T>): T[] {
  return list.map((one, i) => (i === at ? { ...one, ...change } : one));
}

export function without<T>(list: readonly T[], at: number): T[] {
  return list.filter((_, i) => i !== at);
}
