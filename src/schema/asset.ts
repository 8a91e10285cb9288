/** Assets: the native coin and the tokens that count as deposits. */

import { z } from "@hono/zod-openapi";
import { EXAMPLE } from "./examples.ts";
import { AddressText, AssetSymbol, maybe, NetworkId } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

export const NewAssetBody = z
  .strictObject({
    network: NetworkId,
    contract: AddressText.openapi({ description: "The token's contract.", example: EXAMPLE.contract }),
    symbol: AssetSymbol.nullable()
      .default(null)
      .openapi({ description: "A symbol of your own choice, unique on its network. Left out: the token's own." }),
  })
  .openapi("NewAsset", { example: { network: "ethereum", contract: EXAMPLE.contract } });

export const Asset = z
  .object({
    network: z.string().openapi({ description: "The network's id." }),
    symbol: z.string().openapi({ description: "What the API calls it; unique on its network." }),
    contract: z.string().nullable().openapi({ description: "The token's contract; null: the native coin." }),
    decimals: z.int().openapi({ description: "Decimals of one unit: 6 means 1.5 is 1500000 base units." }),
    caip19: z.string().openapi({ description: "CAIP-19 asset type: the same everywhere." }),
  })
  .openapi("Asset", {
    example: {
      network: "ethereum",
      symbol: "USDC",
      contract: EXAMPLE.contract.toLowerCase(),
      decimals: 6,
      caip19: `eip155:1/erc20:${EXAMPLE.contract.toLowerCase()}`,
    },
  });

export const AssetPage = pageOf(Asset, "Asset");
export const AssetQuery = z.strictObject({
  network: maybe(NetworkId),
  limit: Limit,
  cursor: maybe(Cursor),
});
