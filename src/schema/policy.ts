/** Policies: when a payment counts, and what a tenant allows itself to pay out. */

import { z } from "@hono/zod-openapi";
import { AddressText, AmountText, ListedSymbol, NetworkId, Time } from "./fields.ts";

const MAX_ASSETS = 100;
const MAX_AMOUNTS = 50;

const Rule = z
  .union([z.int().min(1), z.literal("finalized")], {
    error: 'expected a number of blocks from 1 on, or "finalized"',
  })
  .openapi({ description: "A depth, the block itself being the first, or the chain's own finalized tag." });

const AssetRules = z.strictObject({
  default: Rule.nullable().default(null),
  amounts: z
    .array(z.strictObject({ from: AmountText, confirmations: Rule }))
    .max(MAX_AMOUNTS)
    .readonly()
    .default([])
    .openapi({ description: "From this amount on. The largest `from` not above the amount decides." }),
});

export const ConfirmationRulesBody = z
  .strictObject({
    default: Rule.nullable().default(null).openapi({ description: "null: the network's own." }),
    assets: z
      .record(ListedSymbol, AssetRules)
      .refine((assets) => Object.keys(assets).length <= MAX_ASSETS, `at most ${MAX_ASSETS} assets`)
      .default({}),
  })
  .openapi("ConfirmationRules");

const MAX_DESTINATIONS = 1_000;
const MAX_LIMITS = 200;
const MAX_APPROVALS = 200;
const DEFAULT_COOL_DOWN_S = 24 * 60 * 60;
const MAX_COOL_DOWN_S = 30 * 24 * 60 * 60;

const Destination = z.strictObject({ network: NetworkId, address: AddressText });
const Limit = z
  .strictObject({
    network: NetworkId,
    asset: ListedSymbol,
    per_withdrawal: AmountText.nullable().default(null),
    per_day: AmountText.nullable().default(null).openapi({ description: "Of the last 24 hours together." }),
  })
  .refine((limit) => limit.per_withdrawal !== null || limit.per_day !== null, "expected per_withdrawal or per_day");
const Approval = z.strictObject({
  network: NetworkId,
  asset: ListedSymbol,
  above: AmountText.openapi({ description: "From above this amount on, another key must approve." }),
});

export const WithdrawalRulesBody = z
  .strictObject({
    cool_down_seconds: z.int().min(0).max(MAX_COOL_DOWN_S).default(DEFAULT_COOL_DOWN_S).openapi({
      description: "How long anything looser waits before it takes effect.",
    }),
    // Two spellings of one address are one destination: the object, which knows spellings, sees to that.
    allow_list: listOnce(Destination, MAX_DESTINATIONS, ({ network, address }) => `${network} ${address}`)
      .nullable()
      .default(null)
      .openapi({ description: "null: any destination. Empty: none." }),
    limits: listOnce(Limit, MAX_LIMITS, ({ network, asset }) => `${network} ${asset}`).default([]),
    approvals: listOnce(Approval, MAX_APPROVALS, ({ network, asset }) => `${network} ${asset}`).default([]),
  })
  .openapi("WithdrawalRules");

/** A list in which each thing is named once. */
function listOnce<S extends z.ZodType>(item: S, max: number, nameOf: (value: z.output<S>) => string) {
  return z
    .array(item)
    .max(max)
    .refine((all) => new Set(all.map(nameOf)).size === all.length, "one is named twice");
}

export const Policies = z
  .object({
    confirmations: z.record(z.string(), ConfirmationRulesBody),
    withdrawals: z.object({
      current: WithdrawalRulesBody,
      pending: z.object({ rules: WithdrawalRulesBody, effective_at: Time }).nullable().openapi({
        description: "What was asked for last and is looser; null: nothing waits.",
      }),
    }),
  })
  .openapi("Policies");
