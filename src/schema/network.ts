/** Networks: how far each one has been read, and what counts there. */

import { z } from "@hono/zod-openapi";
import { Asset } from "./asset.ts";
import { pageOf } from "./page.ts";

export const Network = z
  .object({
    id: z.string(),
    caip2: z.string(),
    family: z.string(),
    native_asset: z.object({ symbol: z.string(), decimals: z.int() }),
    head: z.int().nullable(),
    scanned_to: z.int().nullable(),
    finalized: z.int().nullable(),
    status: z.enum(["ok", "lagging", "halted"]),
    confirmations: z.int().nullable().openapi({ description: "null: the chain's own finalized tag decides." }),
    finality: z.enum(["depth", "tag"]),
    native_transfers: z.object({
      own_value: z.boolean(),
      internal: z.enum(["traced", "untraced", "off", "unknown"]).openapi({
        description: "untraced: coins sent by contracts are not seen here.",
      }),
    }),
    duplicates_met: z.int().openapi({ description: "Payments met again after they were known." }),
    assets: z.array(Asset),
  })
  .openapi("Network");

export const NetworkPage = pageOf(Network, "Network");
