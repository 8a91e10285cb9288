/** Networks: how far each one has been read, and what counts there. */

import { z } from "@hono/zod-openapi";
import { Asset } from "./asset.ts";
import { pageOf } from "./page.ts";

export const Network = z
  .object({
    id: z.string().openapi({ description: "What the API calls it." }),
    caip2: z.string().openapi({ description: "CAIP-2 chain id: the same everywhere." }),
    family: z.string().openapi({ description: "How its addresses and transactions are read, such as evm." }),
    native_asset: z
      .object({
        symbol: z.string().openapi({ description: "The coin's symbol." }),
        decimals: z.int().openapi({ description: "Decimals of one coin." }),
      })
      .openapi({ description: "The coin that fees are paid in." }),
    head: z.int().nullable().openapi({ description: "Highest block height known; null: none yet." }),
    scanned_to: z.int().nullable().openapi({ description: "Every block up to this height was read; null: none yet." }),
    finalized: z.int().nullable().openapi({ description: "Highest height that the chain calls final; null: unknown." }),
    status: z.enum(["ok", "lagging", "halted"]).openapi({
      description:
        "lagging: behind the chain, or no answer. halted: a reorganisation deeper than what is kept; nothing is " +
        "credited or paid here until the operator has looked.",
    }),
    confirmations: z.int().nullable().openapi({
      description: "Depth in blocks at which a payment counts; null: the chain's own finalized tag decides.",
    }),
    finality: z.enum(["depth", "tag"]).openapi({
      description: "Whether depth or the chain's own finalized tag makes a payment count.",
    }),
    native_transfers: z
      .object({
        own_value: z.boolean().openapi({ description: "Whether coins sent by a transaction itself are seen." }),
        internal: z.enum(["traced", "untraced", "off", "unknown"]).openapi({
          description: "Coins sent by contracts. traced: seen. untraced: not seen here. off: not looked for.",
        }),
      })
      .openapi({ description: "What is seen of the native coin." }),
    duplicates_met: z.int().openapi({ description: "Payments of yours that were met again after they were known." }),
    assets: z.array(Asset).openapi({ description: "What counts here for you." }),
  })
  .openapi("Network", {
    example: {
      id: "ethereum",
      caip2: "eip155:1",
      family: "evm",
      native_asset: { symbol: "ETH", decimals: 18 },
      head: 21_000_045,
      scanned_to: 21_000_044,
      finalized: 20_999_968,
      status: "ok",
      confirmations: 12,
      finality: "depth",
      native_transfers: { own_value: true, internal: "traced" },
      duplicates_met: 0,
      assets: [{ network: "ethereum", symbol: "ETH", contract: null, decimals: 18, caip19: "eip155:1/slip44:60" }],
    },
  });

export const NetworkPage = pageOf(Network, "Network");
