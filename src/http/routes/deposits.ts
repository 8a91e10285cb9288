/** Deposits. */

import { createRoute } from "@hono/zod-openapi";
import { Deposit, DepositPage, DepositQuery } from "../../schema/deposit.ts";
import { idOf } from "../../schema/fields.ts";
import { NoQuery } from "../../schema/page.ts";
import { send } from "../answers.ts";
import { json, keyed, needs, problems } from "../calls.ts";
import { filterAndPage } from "../pages.ts";
import type { App } from "../services.ts";

const listDeposits = createRoute({
  method: "get",
  path: "/v1/deposits",
  operationId: "listDeposits",
  tags: ["Deposits"],
  summary: "List deposits, newest first",
  description:
    "Each payment to a watched address is one deposit for ever, whatever becomes of its block. Filters are " +
    "joined by and.",
  ...needs("read"),
  ...keyed,
  request: { query: DepositQuery },
  responses: { 200: json(DepositPage, "Deposits"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

const getDeposit = createRoute({
  method: "get",
  path: "/v1/deposits/{id}",
  operationId: "getDeposit",
  tags: ["Deposits"],
  summary: "One deposit",
  description: "The deposit as it stands now. Its events tell how it came there.",
  ...needs("read"),
  ...keyed,
  request: { query: NoQuery, params: idOf("dep") },
  responses: { 200: json(Deposit, "The deposit"), ...problems(401, 403, 404, 422, 429, 500, 503) },
});

export function depositRoutes(app: App): void {
  app.openapi(listDeposits, async (c) => {
    const { filter, page } = filterAndPage(c.req.valid("query"));
    return send(c, await c.var.tenant.listDeposits(c.var.caller, filter, page), 200);
  });

  app.openapi(getDeposit, async (c) =>
    send(c, await c.var.tenant.getDeposit(c.var.caller, c.req.valid("param").id), 200),
  );
}
