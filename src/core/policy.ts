/**
 * When a payment counts: the network's own rule, overridden per asset and per amount. The strictest
 * reading is never guessed: exactly one rule applies, the most specific one.
 */

import { parseAmount } from "./amount.ts";
import type { NetworkSettings } from "./network.ts";
import type { FieldError } from "./refusal.ts";
import type { ConfirmationRule } from "./watcher.ts";

export interface ConfirmationRules {
  /** null: the network's own. */
  readonly default: ConfirmationRule | null;
  /** By asset symbol. */
  readonly assets: Readonly<Record<string, AssetConfirmationRules>>;
}

export interface AssetConfirmationRules {
  readonly default: ConfirmationRule | null;
  /** From this amount on, decimal string in the asset's unit. The largest `from` not above the amount decides. */
  readonly amounts: readonly { readonly from: string; readonly confirmations: ConfirmationRule }[];
}

export const NO_RULES: ConfirmationRules = { default: null, assets: {} };

export function ruleFor(
  settings: Pick<NetworkSettings, "confirmations" | "finality">,
  rules: ConfirmationRules,
  asset: { readonly symbol: string; readonly decimals: number },
  amountUnits: bigint,
): ConfirmationRule {
  const own = Object.hasOwn(rules.assets, asset.symbol) ? rules.assets[asset.symbol] : undefined;
  let best: { units: bigint; rule: ConfirmationRule } | null = null;
  for (const step of own?.amounts ?? []) {
    const from = parseAmount(step.from, asset.decimals);
    if (!from.ok) throw new Error(`stored policy amount does not parse: ${JSON.stringify(step.from)}`);
    if (from.units <= amountUnits && (best === null || from.units >= best.units)) {
      best = { units: from.units, rule: step.confirmations };
    }
  }
  return best?.rule ?? own?.default ?? rules.default ?? networkRule(settings);
}

export function networkRule(settings: Pick<NetworkSettings, "confirmations" | "finality">): ConfirmationRule {
  return settings.finality === "tag" ? "finalized" : settings.confirmations;
}

/**
 * What is wrong with a set of rules, or nothing. A depth past the reorganisation window is refused: below
 * the window payments settle, so such a rule could not be kept.
 */
export function checkRules(
  settings: Pick<NetworkSettings, "id" | "reorgWindow">,
  rules: ConfirmationRules,
  decimalsOf: (symbol: string) => number | null,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  const check = (rule: ConfirmationRule | null, path: string) => {
    if (typeof rule === "number" && (!Number.isSafeInteger(rule) || rule < 1 || rule > settings.reorgWindow)) {
      errors.push({ path, message: `expected 1 to ${settings.reorgWindow} blocks on ${settings.id}, got ${rule}` });
    }
  };
  check(rules.default, "default");
  for (const [symbol, own] of Object.entries(rules.assets)) {
    const decimals = decimalsOf(symbol);
    if (decimals === null) {
      errors.push({ path: `assets.${symbol}`, message: `no asset ${symbol} is listed on ${settings.id}` });
      continue;
    }
    check(own.default, `assets.${symbol}.default`);
    const seen = new Set<bigint>();
    for (const [i, step] of own.amounts.entries()) {
      const path = `assets.${symbol}.amounts.${i}`;
      check(step.confirmations, `${path}.confirmations`);
      const from = parseAmount(step.from, decimals);
      if (!from.ok) {
        errors.push({ path: `${path}.from`, message: `expected a decimal amount with at most ${decimals} decimals` });
      } else if (seen.has(from.units)) {
        errors.push({ path: `${path}.from`, message: `${step.from} is named twice` });
      } else {
        seen.add(from.units);
      }
    }
  }
  return errors;
}
