/** Extended public keys, from which addresses are derived. */

import { createRoute } from "@hono/zod-openapi";
import { idOf } from "../../schema/fields.ts";
import { NoQuery, PageQuery } from "../../schema/page.ts";
import { NewXpubBody, Xpub, XpubPage } from "../../schema/xpub.ts";
import { send, sendCreated } from "../answers.ts";
import { body, json, keyed, keyedPost, mayRefuse, needs, problems } from "../calls.ts";
import { filterAndPage } from "../pages.ts";
import type { App } from "../services.ts";
import { idempotencyOf } from "../stages.ts";

const tags = ["Extended public keys"];

const createXpub = createRoute({
  method: "post",
  path: "/v1/xpubs",
  operationId: "createXpub",
  tags,
  summary: "Register an extended public key",
  description:
    "Addresses of the account are then derived one by one: POST /v1/addresses with xpub_id. The key cannot spend; " +
    "private keys are refused and nothing of them is kept. Compare first_address with your wallet's first one. " +
    "Asking again for a key that is registered answers 200 with it, and changes nothing of it.",
  ...needs("addresses:write"),
  ...mayRefuse("unknown_network", "idempotency_key_reused"),
  ...keyedPost,
  request: { query: NoQuery, body: body(NewXpubBody) },
  responses: {
    201: json(Xpub, "Registered"),
    200: json(Xpub, "This tenant registered it already"),
    ...problems(400, 401, 403, 413, 415, 422, 429, 500, 503),
  },
});

const listXpubs = createRoute({
  method: "get",
  path: "/v1/xpubs",
  operationId: "listXpubs",
  tags,
  summary: "List extended public keys, newest first",
  description: "The keys that are registered. They stay: addresses that were given to customers stand below them.",
  ...needs("read"),
  ...keyed,
  request: { query: PageQuery },
  responses: { 200: json(XpubPage, "Extended public keys"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

const getXpub = createRoute({
  method: "get",
  path: "/v1/xpubs/{id}",
  operationId: "getXpub",
  tags,
  summary: "One extended public key",
  description: "The key, with the index of its next address.",
  ...needs("read"),
  ...keyed,
  request: { query: NoQuery, params: idOf("xpub") },
  responses: { 200: json(Xpub, "The extended public key"), ...problems(401, 403, 404, 422, 429, 500, 503) },
});

export function xpubRoutes(app: App): void {
  app.openapi(createXpub, async (c) => {
    const { type = null, next_index: nextIndex, ...rest } = c.req.valid("json");
    const input = { ...rest, type, nextIndex };
    return sendCreated(c, await c.var.tenant.createXpub(c.var.caller, input, idempotencyOf(c, input)));
  });

  app.openapi(listXpubs, async (c) => {
    const { page } = filterAndPage(c.req.valid("query"));
    return send(c, await c.var.tenant.listXpubs(c.var.caller, page), 200);
  });

  app.openapi(getXpub, async (c) => send(c, await c.var.tenant.getXpub(c.var.caller, c.req.valid("param").id), 200));
}
