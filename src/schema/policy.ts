/** Policies: when a payment counts, and what a tenant allows itself to pay out. */

import { z } from "@hono/zod-openapi";
import { EXAMPLE } from "./examples.ts";
import { AddressText, AmountText, ListedSymbol, NetworkId, timeOf } from "./fields.ts";

const MAX_ASSETS = 100;
const MAX_AMOUNTS = 50;

const Rule = z
  .union([z.int().min(1), z.literal("finalized")], {
    error: 'expected a number of blocks from 1 on, or "finalized"',
  })
  .openapi({ description: "A depth in blocks, the block itself being the first, or finalized: the chain's own tag." });

const AssetRules = z.strictObject({
  default: Rule.nullable()
    .default(null)
    .openapi({ description: "For any amount; null: what the network's rule says." }),
  amounts: z
    .array(
      z.strictObject({
        from: AmountText.openapi({ description: "Decimal text in the asset's unit: from this amount on." }),
        confirmations: Rule,
      }),
    )
    .max(MAX_AMOUNTS)
    .readonly()
    .default([])
    .openapi({ description: "From this amount on. The largest `from` not above the amount decides." }),
});

export const ConfirmationRulesBody = z
  .strictObject({
    default: Rule.nullable()
      .default(null)
      .openapi({ description: "For assets without a rule; null: the network's own." }),
    assets: z
      .record(ListedSymbol, AssetRules)
      .refine((assets) => Object.keys(assets).length <= MAX_ASSETS, `at most ${MAX_ASSETS} assets`)
      .default({})
      .openapi({ description: "Rules by the asset's symbol." }),
  })
  .openapi("ConfirmationRules", {
    example: {
      default: 12,
      assets: { USDC: { default: 12, amounts: [{ from: "10000", confirmations: "finalized" }] } },
    },
  });

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
    per_withdrawal: AmountText.nullable().default(null).openapi({
      description: "Most of one withdrawal. Decimal text in the asset's unit; null: no limit.",
    }),
    per_day: AmountText.nullable().default(null).openapi({
      description: "Most of the last 24 hours together. Decimal text in the asset's unit; null: no limit.",
    }),
  })
  .refine((limit) => limit.per_withdrawal !== null || limit.per_day !== null, "expected per_withdrawal or per_day");
const Approval = z.strictObject({
  network: NetworkId,
  asset: ListedSymbol,
  above: AmountText.openapi({ description: "Above this amount, in the asset's unit, another key must approve." }),
});

export const WithdrawalRulesBody = z
  .strictObject({
    cool_down_seconds: z.int().min(0).max(MAX_COOL_DOWN_S).default(DEFAULT_COOL_DOWN_S).openapi({
      description: "Seconds that anything looser waits before it takes effect. At most 30 days.",
    }),
    // Two spellings of one address are one destination: the object, which knows spellings, sees to that.
    allow_list: listOnce(Destination, MAX_DESTINATIONS, ({ network, address }) => `${network} ${address}`)
      .nullable()
      .default(null)
      .openapi({ description: "Where payments may go. null: anywhere. Empty: nowhere." }),
    limits: listOnce(Limit, MAX_LIMITS, ({ network, asset }) => `${network} ${asset}`)
      .default([])
      .openapi({ description: "At most one for each asset." }),
    approvals: listOnce(Approval, MAX_APPROVALS, ({ network, asset }) => `${network} ${asset}`)
      .default([])
      .openapi({ description: "At most one for each asset." }),
  })
  .openapi("WithdrawalRules", {
    example: {
      cool_down_seconds: 86_400,
      allow_list: [{ network: "ethereum", address: EXAMPLE.destination.toLowerCase() }],
      limits: [{ network: "ethereum", asset: "USDC", per_withdrawal: "5000", per_day: "20000" }],
      approvals: [{ network: "ethereum", asset: "USDC", above: "1000" }],
    },
  });

/** A list in which each thing is named once. */
function listOnce<S extends z.ZodType>(item: S, max: number, nameOf: (value: z.output<S>) => string) {
  return z
    .array(item)
    .max(max)
    .refine((all) => new Set(all.map(nameOf)).size === all.length, "one is named twice");
}

export const Policies = z
  .object({
    confirmations: z.record(z.string(), ConfirmationRulesBody).openapi({
      description: "When payments count, by network. A network that is missing has its own rule.",
    }),
    withdrawals: z
      .object({
        current: WithdrawalRulesBody,
        pending: z
          .object({ rules: WithdrawalRulesBody, effective_at: timeOf("When they take effect.") })
          .nullable()
          .openapi({ description: "What was asked for last and is looser; null: nothing waits." }),
      })
      .openapi({ description: "What may be paid out." }),
  })
  .openapi("Policies", {
    example: {
      confirmations: { ethereum: { default: 12, assets: {} } },
      withdrawals: {
        current: { cool_down_seconds: 86_400, allow_list: null, limits: [], approvals: [] },
        pending: null,
      },
    },
  });
