/** Reconciliation: the latest report, and a fresh one. */

import { createRoute } from "@hono/zod-openapi";
import { NoFields } from "../../schema/fields.ts";
import { NoQuery } from "../../schema/page.ts";
import { Reconciliation } from "../../schema/reconciliation.ts";
import { send } from "../answers.ts";
import { json, keyed, keyedAction, mayRefuse, needs, optionalBody, problems } from "../calls.ts";
import type { App } from "../services.ts";
import { idempotencyOf } from "../stages.ts";

const getReconciliation = createRoute({
  method: "get",
  path: "/v1/reconciliation",
  operationId: "getReconciliation",
  tags: ["Reconciliation"],
  summary: "The latest report",
  description: "Reports are made by themselves, hourly and when withdrawals come to rest. 404 until there is one.",
  ...needs("read"),
  ...mayRefuse("not_found"),
  ...keyed,
  request: { query: NoQuery },
  responses: { 200: json(Reconciliation, "The report"), ...problems(401, 403, 404, 422, 429, 500, 503) },
});

const runReconciliation = createRoute({
  method: "post",
  path: "/v1/reconciliation",
  operationId: "runReconciliation",
  tags: ["Reconciliation"],
  summary: "Compare chain, keys and ledger now",
  description:
    "Compares what the books say with the chain and with the keys that are kept apart from them, and names " +
    "each difference. Changes nothing but the report. A repeat with the same Idempotency-Key answers with the " +
    "report that it made.",
  ...needs("withdrawals:write"),
  ...mayRefuse("idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, body: optionalBody(NoFields) },
  responses: {
    200: json(Reconciliation, "The new report"),
    ...problems(400, 401, 403, 413, 415, 422, 429, 500, 503),
  },
});

export function reconciliationRoutes(app: App): void {
  app.openapi(getReconciliation, async (c) => send(c, await c.var.tenant.getReconciliation(c.var.caller), 200));

  app.openapi(runReconciliation, async (c) =>
    send(c, await c.var.tenant.runReconciliation(c.var.caller, idempotencyOf(c, {})), 200),
  );
}
