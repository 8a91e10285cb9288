/** Hot wallets: where withdrawals are paid from. */

import { createRoute, z } from "@hono/zod-openapi";
import { NetworkId, NoFields } from "../../schema/fields.ts";
import { NoQuery, PageQuery } from "../../schema/page.ts";
import { SignerBody, Wallet, WalletPage } from "../../schema/wallet.ts";
import { mapAnswer, send } from "../answers.ts";
import { body, json, keyed, keyedAction, keyedWithBody, optionalBody, problems } from "../calls.ts";
import { filterAndPage, slicePage } from "../pages.ts";
import type { App } from "../services.ts";
import { idempotencyOf } from "../stages.ts";

const tags = ["Wallets"];
const params = z.object({ network: NetworkId });

const listWallets = createRoute({
  method: "get",
  path: "/v1/wallets",
  operationId: "listWallets",
  tags,
  summary: "The hot wallets, one for each network",
  description: "Keep them topped up: withdrawals and their fees are paid from here.",
  ...keyed,
  request: { query: PageQuery },
  responses: { 200: json(WalletPage, "Wallets"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

const chooseSigner = createRoute({
  method: "put",
  path: "/v1/wallets/{network}/signer",
  operationId: "chooseSigner",
  tags,
  summary: "Choose who signs on a network",
  description: "Another signer is another wallet. Refused while anything is in flight from the present one.",
  ...keyedWithBody,
  request: { query: NoQuery, params, body: body(SignerBody) },
  responses: {
    200: json(Wallet, "The wallet that is used from now on"),
    ...problems(400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503),
  },
});

const resumeWallet = createRoute({
  method: "post",
  path: "/v1/wallets/{network}/resume",
  operationId: "resumeWallet",
  tags,
  summary: "Let a stopped wallet go on",
  description: "It stopped because its nonces are not what they should be. This says that a person has looked.",
  ...keyedAction,
  request: { query: NoQuery, params, body: optionalBody(NoFields) },
  responses: {
    200: json(Wallet, "The wallet"),
    ...problems(400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503),
  },
});

export function walletRoutes(app: App): void {
  app.openapi(listWallets, async (c) => {
    const { page } = filterAndPage(c.req.valid("query"));
    const answer = await c.var.tenant.listWallets(c.var.caller);
    return send(
      c,
      mapAnswer(answer, ({ data }) => slicePage(data, (wallet) => wallet.network, page)),
      200,
    );
  });

  app.openapi(chooseSigner, async (c) => {
    const { network } = c.req.valid("param");
    return send(c, await c.var.tenant.chooseSigner(c.var.caller, network, c.req.valid("json")), 200);
  });

  app.openapi(resumeWallet, async (c) => {
    const { network } = c.req.valid("param");
    return send(c, await c.var.tenant.resumeWallet(c.var.caller, network, idempotencyOf(c, {})), 200);
  });
}
