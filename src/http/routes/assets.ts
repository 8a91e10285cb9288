/** Assets: the networks' own and the tenant's tokens. */

import { createRoute } from "@hono/zod-openapi";
import { Asset, AssetPage, AssetQuery, NewAssetBody } from "../../schema/asset.ts";
import { NoQuery } from "../../schema/page.ts";
import { mapAnswer, send, sendCreated } from "../answers.ts";
import { body, json, keyed, keyedPost, mayRefuse, needs, problems } from "../calls.ts";
import { filterAndPage, slicePage } from "../pages.ts";
import type { App } from "../services.ts";
import { idempotencyOf } from "../stages.ts";

const createAsset = createRoute({
  method: "post",
  path: "/v1/assets",
  operationId: "createAsset",
  tags: ["Assets"],
  summary: "Let a token count",
  description:
    "Lets payments of a token count as deposits, from the next block on. Symbol and decimals are read from " +
    "the chain. Payments are matched by contract, never by symbol. Listing a token that is listed already " +
    "answers 200 with it; a listing keeps its symbol.",
  ...needs("addresses:write"),
  ...mayRefuse(
    "unknown_network",
    "invalid_address",
    "invalid_token",
    "symbol_taken",
    "idempotency_key_reused",
    "chain_unavailable",
  ),
  ...keyedPost,
  request: { query: NoQuery, body: body(NewAssetBody) },
  responses: {
    201: json(Asset, "The asset"),
    200: json(Asset, "It was listed already"),
    ...problems(400, 401, 403, 409, 413, 415, 422, 429, 500, 503),
  },
});

const listAssets = createRoute({
  method: "get",
  path: "/v1/assets",
  operationId: "listAssets",
  tags: ["Assets"],
  summary: "List what counts",
  description:
    "What counts as a deposit: the networks' coins, the tokens that are built in, and those that you listed.",
  ...needs("read"),
  ...keyed,
  request: { query: AssetQuery },
  responses: { 200: json(AssetPage, "Assets"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

export function assetRoutes(app: App): void {
  app.openapi(createAsset, async (c) => {
    const input = c.req.valid("json");
    return sendCreated(c, await c.var.tenant.createAsset(c.var.caller, input, idempotencyOf(c, input)));
  });

  app.openapi(listAssets, async (c) => {
    const { filter, page } = filterAndPage(c.req.valid("query"));
    const answer = await c.var.tenant.listAssets(c.var.caller, filter.network ?? null);
    return send(
      c,
      mapAnswer(answer, ({ data }) => slicePage(data, (asset) => asset.caip19, page)),
      200,
    );
  });
}
