/** Assets: the native coin and the tokens that count as deposits. */

import { z } from "@hono/zod-openapi";
import { AddressText, AssetSymbol, maybe, NetworkId } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

export const NewAssetBody = z
  .strictObject({
    network: NetworkId,
    contract: AddressText,
    symbol: AssetSymbol.nullable().default(null).openapi({ description: "Left out: the token's own." }),
  })
  .openapi("NewAsset");

export const Asset = z
  .object({
    network: z.string(),
    symbol: z.string(),
    contract: z.string().nullable().openapi({ description: "null: the native coin." }),
    decimals: z.int(),
    caip19: z.string(),
  })
  .openapi("Asset");

export const AssetPage = pageOf(Asset, "Asset");
export const AssetQuery = z.strictObject({
  network: maybe(NetworkId),
  limit: Limit,
  cursor: maybe(Cursor),
});
