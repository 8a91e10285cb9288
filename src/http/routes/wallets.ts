/** Hot wallets: where withdrawals are paid from. */

import { createRoute, z } from "@hono/zod-openapi";
import { NetworkId, NoFields } from "../../schema/fields.ts";
import { NoQuery, PageQuery } from "../../schema/page.ts";
import { SignerBody, Wallet, WalletPage } from "../../schema/wallet.ts";
import { mapAnswer, send } from "../answers.ts";
import { body, json, keyed, keyedAction, keyedWithBody, mayRefuse, needs, optionalBody, problems } from "../calls.ts";
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
  description:
    "One wallet for each network: withdrawals and their fees are paid from it. Deposits do not arrive there " +
    "by themselves, so keep it topped up.",
  ...needs("read"),
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
  description:
    "Another signer is another wallet. A remote one must sign a transaction that can never be mined before it " +
    "is believed. Refused while anything is in flight from the present wallet. Choosing the present signer " +
    "again changes nothing.",
  ...needs("admin"),
  ...mayRefuse("unknown_network", "state_conflict"),
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
  description:
    "A wallet stops by itself when its nonces or coins are not what they should be, that is, when somebody else signs " +
    "with its key. This says that a person has looked. A wallet that is active stays so.",
  ...needs("admin"),
  ...mayRefuse("unknown_network", "idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, params, body: optionalBody(NoFields) },
  responses: {
    200: json(Wallet, "The wallet"),
    ...problems(400, 401, 403, 404, 413, 415, 422, 429, 500, 503),
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
