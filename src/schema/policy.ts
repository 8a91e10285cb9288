/** Confirmation policies: when a payment counts. */

import { z } from "@hono/zod-openapi";
import { AmountText, ListedSymbol } from "./fields.ts";

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

export const Policies = z.object({ confirmations: z.record(z.string(), ConfirmationRulesBody) }).openapi("Policies");
