/**
 * The whole HTTP surface. The order of what is registered here is the order in which a request passes:
 * marks that every answer carries, then the route with its own stages, then 404 and 405.
 */

import { OpenAPIHono } from "@hono/zod-openapi";
import { newId } from "../core/ids.ts";
import { describeApi } from "./description.ts";
import { faultProblem } from "./faults.ts";
import { refusalOfFields } from "./fields.ts";
import { NOT_FOUND, problem } from "./problem.ts";
import { logRequest } from "./request-line.ts";
import { addressRoutes } from "./routes/addresses.ts";
import { apiKeyRoutes } from "./routes/api-keys.ts";
import { assetRoutes } from "./routes/assets.ts";
import { auditRoutes } from "./routes/audit-log.ts";
import { backfillRoutes } from "./routes/backfills.ts";
import { depositRoutes } from "./routes/deposits.ts";
import { eventRoutes } from "./routes/events.ts";
import { healthRoutes } from "./routes/health.ts";
import { incidentRoutes } from "./routes/incidents.ts";
import { ledgerRoutes } from "./routes/ledger.ts";
import { networkRoutes } from "./routes/networks.ts";
import { operatorRoutes } from "./routes/operator.ts";
import { policyRoutes } from "./routes/policies.ts";
import { reconciliationRoutes } from "./routes/reconciliation.ts";
import { sandboxRoutes } from "./routes/sandbox.ts";
import { sessionRoutes } from "./routes/session.ts";
import { tenantRoutes } from "./routes/tenants.ts";
import { walletRoutes } from "./routes/wallets.ts";
import { webhookEndpointRoutes } from "./routes/webhook-endpoints.ts";
import { withdrawalRoutes } from "./routes/withdrawals.ts";
import { xpubRoutes } from "./routes/xpubs.ts";
import type { App, HttpEnv, Services } from "./services.ts";

export const ON_EVERY_ANSWER = { "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" };

export function createApp(services: Services): App {
  const app: App = new OpenAPIHono<HttpEnv>({
    defaultHook: (result, c) =>
      result.success ? undefined : problem(c, refusalOfFields(result.target, result.error), null),
  });

  app.use(async (c, next) => {
    const startedAt = services.now();
    c.set("services", services);
    // Always ours: an id from outside could be made to collide, or to carry text into the log.
    c.set("requestId", newId("req", services.random(16)));
    const marks = { "X-Request-Id": c.get("requestId"), ...ON_EVERY_ANSWER };
    // Before the answer is made: each header that is added to a finished one copies it.
    for (const [name, value] of Object.entries(marks)) c.header(name, value);
    try {
      await next();
    } catch (thrown) {
      // Only what is not an Error gets here; hono brings the others to onError.
      c.res = faultProblem(c, thrown);
    }
    if (!c.res.headers.has("X-Request-Id")) {
      // An answer that was made elsewhere has nothing of what was set before.
      for (const [name, value] of Object.entries(marks)) c.header(name, value);
    }
    logRequest(c, startedAt);
  });

  tenantRoutes(app);
  apiKeyRoutes(app);
  sessionRoutes(app);
  networkRoutes(app);
  assetRoutes(app);
  addressRoutes(app);
  xpubRoutes(app);
  depositRoutes(app);
  ledgerRoutes(app);
  withdrawalRoutes(app);
  walletRoutes(app);
  reconciliationRoutes(app);
  eventRoutes(app);
  incidentRoutes(app);
  webhookEndpointRoutes(app);
  auditRoutes(app);
  backfillRoutes(app);
  policyRoutes(app);
  healthRoutes(app);
  operatorRoutes(app);
  describeApi(app);
  // Behind the description: it is of the API that everybody has.
  if (services.sandbox !== null) sandboxRoutes(app, services.sandbox);
  refuseOtherMethods(app);

  app.notFound((c) => problem(c, NOT_FOUND, null));
  app.onError((thrown, c) => faultProblem(c, thrown));
  return app;
}

/** 405 on every path there is. A route answers before this when it knows the method. */
function refuseOtherMethods(app: App): void {
  const known = new Map<string, Set<string>>();
  for (const { path, method } of app.routes) {
    if (method === "ALL") continue;
    const methods = known.get(path) ?? new Set();
    methods.add(method);
    // HEAD is answered by the GET route, without its body.
    if (method === "GET") methods.add("HEAD");
    known.set(path, methods);
  }
  for (const [path, methods] of known) {
    const allow = [...methods].join(", ");
    app.all(path, (c) => {
      c.header("Allow", allow);
      return problem(c, { code: "method_not_allowed", detail: `Expected ${allow}, got ${c.req.method}.` }, null);
    });
  }
}
