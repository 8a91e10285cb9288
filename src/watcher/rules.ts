/** A watcher's confirmation policy, checked once. A rule that could not be kept is refused. */

import type { AssetConfirmationRules, ConfirmationRules } from "../core/policy.ts";
import { checkRules } from "../core/policy.ts";
import type { ConfirmationRule } from "../core/watcher.ts";
import type { SourceNetwork } from "./source.ts";

export interface WatcherPolicy {
  /** A depth, the block itself being the first, or the chain's own finalized tag. */
  readonly default: ConfirmationRule;
  /** By asset symbol. The most specific rule decides. */
  readonly assets?: Readonly<Record<string, AssetPolicy>>;
  /** Least seconds between a block's time stamp and the confirmation of its payments; 0 unless given. */
  readonly minConfirmSeconds?: number;
}

export interface AssetPolicy {
  readonly default?: ConfirmationRule;
  /** From this amount on, decimal string in the asset's unit. The largest `from` not above the amount decides. */
  readonly amounts?: readonly { readonly from: string; readonly confirmations: ConfirmationRule }[];
}

export interface CheckedPolicy {
  readonly rules: ConfirmationRules;
  /** What applies where the rules say nothing. */
  readonly fallback: { readonly confirmations: number; readonly finality: "depth" | "tag" };
  readonly minConfirmSeconds: number;
}

const MAX_REORG_DEPTH = 20_000;
const MAX_CONFIRM_SECONDS = 86_400;

/** @throws Error that names every rule that is wrong */
export function checkedPolicy(network: SourceNetwork, policy: WatcherPolicy, reorgDepth: number): CheckedPolicy {
  const { minConfirmSeconds = 0 } = policy;
  const problems: string[] = [];
  if (!Number.isSafeInteger(reorgDepth) || reorgDepth < 1 || reorgDepth > MAX_REORG_DEPTH)
    problems.push(`reorgDepth: expected 1 to ${MAX_REORG_DEPTH} blocks, got ${reorgDepth}`);
  if (!Number.isSafeInteger(minConfirmSeconds) || minConfirmSeconds < 0 || minConfirmSeconds > MAX_CONFIRM_SECONDS)
    problems.push(`minConfirmSeconds: expected 0 to ${MAX_CONFIRM_SECONDS}, got ${minConfirmSeconds}`);
  const rules: ConfirmationRules = {
    default: policy.default,
    assets: Object.fromEntries(Object.entries(policy.assets ?? {}).map(([symbol, own]) => [symbol, assetRules(own)])),
  };
  for (const [path, rule] of namedRules(rules)) {
    if (typeof rule !== "number" && rule !== "finalized")
      problems.push(`${path}: expected a number of blocks or "finalized", got ${JSON.stringify(rule) ?? "nothing"}`);
  }
  const decimalsOf = (symbol: string) =>
    [network.nativeAsset, ...network.tokens].find((asset) => asset.symbol === symbol)?.decimals ?? null;
  const settings = { id: network.id, reorgWindow: reorgDepth };
  problems.push(...checkRules(settings, rules, decimalsOf).map(({ path, message }) => `${path}: ${message}`));
  if (problems.length > 0) throw new Error(`this policy cannot be kept: ${problems.join("; ")}`);
  return { rules, fallback: { confirmations: reorgDepth, finality: "depth" }, minConfirmSeconds };
}

function assetRules(own: AssetPolicy): AssetConfirmationRules {
  return { default: own.default ?? null, amounts: own.amounts ?? [] };
}

function namedRules({ default: base, assets }: ConfirmationRules): [string, unknown][] {
  return [
    ["default", base],
    ...Object.entries(assets).flatMap(([symbol, own]): [string, unknown][] => [
      [`assets.${symbol}.default`, own.default ?? "finalized"],
      ...own.amounts.map((step, i): [string, unknown] => [`assets.${symbol}.amounts.${i}`, step.confirmations]),
    ]),
  ];
}
