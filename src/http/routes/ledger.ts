/** Balances and ledger entries. */

import { createRoute } from "@hono/zod-openapi";
import { BalancePage, LedgerEntryPage, LedgerQuery } from "../../schema/ledger.ts";
import { send } from "../answers.ts";
import { json, keyed, needs, problems } from "../calls.ts";
import { filterAndPage } from "../pages.ts";
import type { App } from "../services.ts";

const listBalances = createRoute({
  method: "get",
  path: "/v1/balances",
  operationId: "listBalances",
  tags: ["Ledger"],
  summary: "List balances per account and asset",
  description:
    "One row for each account, network and asset that ever had an entry. A balance is the sum of its entries.",
  ...needs("read"),
  ...keyed,
  request: { query: LedgerQuery },
  responses: { 200: json(BalancePage, "Balances"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

const listLedgerEntries = createRoute({
  method: "get",
  path: "/v1/ledger/entries",
  operationId: "listLedgerEntries",
  tags: ["Ledger"],
  summary: "List ledger entries, newest first",
  description:
    "The append-only entries that balances are the sum of, each with its cause. A correction is a new entry.",
  ...needs("read"),
  ...keyed,
  request: { query: LedgerQuery },
  responses: { 200: json(LedgerEntryPage, "Entries"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

export function ledgerRoutes(app: App): void {
  app.openapi(listBalances, async (c) => {
    const { filter, page } = filterAndPage(c.req.valid("query"));
    return send(c, await c.var.tenant.listBalances(c.var.caller, filter, page), 200);
  });

  app.openapi(listLedgerEntries, async (c) => {
    const { filter, page } = filterAndPage(c.req.valid("query"));
    return send(c, await c.var.tenant.listLedgerEntries(c.var.caller, filter, page), 200);
  });
}
