/** Policies: when a payment counts, and what may be paid out. */

import { createRoute, z } from "@hono/zod-openapi";
import { NetworkId } from "../../schema/fields.ts";
import { NoQuery } from "../../schema/page.ts";
import { ConfirmationRulesBody, Policies, WithdrawalRulesBody } from "../../schema/policy.ts";
import { send } from "../answers.ts";
import { body, json, keyed, keyedWithBody, mayRefuse, needs, problems } from "../calls.ts";
import type { App } from "../services.ts";

const getPolicies = createRoute({
  method: "get",
  path: "/v1/policies",
  operationId: "getPolicies",
  tags: ["Policies"],
  summary: "The tenant's policies",
  description:
    "When payments count, and what may be paid out. Anything looser that waits for its cool-down is shown " +
    "beside what holds now.",
  ...needs("read"),
  ...keyed,
  request: { query: NoQuery },
  responses: { 200: json(Policies, "Policies"), ...problems(401, 403, 422, 429, 500, 503) },
});

const putConfirmations = createRoute({
  method: "put",
  path: "/v1/policies/confirmations/{network}",
  operationId: "putConfirmations",
  tags: ["Policies"],
  summary: "Set when payments on a network count",
  description:
    "Replaces the rules of this network. Payments seen already keep the rule they were seen under. A repeat " +
    "changes nothing.",
  ...needs("admin"),
  ...mayRefuse("unknown_network"),
  ...keyedWithBody,
  request: { query: NoQuery, params: z.object({ network: NetworkId }), body: body(ConfirmationRulesBody) },
  responses: {
    200: json(Policies, "Policies as they stand now"),
    ...problems(400, 401, 403, 404, 413, 415, 422, 429, 500, 503),
  },
});

const putWithdrawals = createRoute({
  method: "put",
  path: "/v1/policies/withdrawals",
  operationId: "putWithdrawalRules",
  tags: ["Policies"],
  summary: "Set what may be paid out",
  description:
    "Replaces all of it. What is stricter than now holds at once, also for withdrawals that wait; what is " +
    "looser waits for the cool-down that holds now.",
  ...needs("admin"),
  ...keyedWithBody,
  request: { query: NoQuery, body: body(WithdrawalRulesBody) },
  responses: {
    200: json(Policies, "Policies as they stand now"),
    ...problems(400, 401, 403, 413, 415, 422, 429, 500, 503),
  },
});

export function policyRoutes(app: App): void {
  app.openapi(getPolicies, async (c) => send(c, await c.var.tenant.getPolicies(c.var.caller), 200));

  app.openapi(putConfirmations, async (c) => {
    const { network } = c.req.valid("param");
    return send(c, await c.var.tenant.putConfirmations(c.var.caller, network, c.req.valid("json")), 200);
  });

  app.openapi(putWithdrawals, async (c) =>
    send(c, await c.var.tenant.putWithdrawalRules(c.var.caller, c.req.valid("json")), 200),
  );
}
