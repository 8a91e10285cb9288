/** Whether the service can do its work now. That this answers at all says that the settings were read. */

import { createRoute } from "@hono/zod-openapi";
import type { Refusal } from "../../core/refusal.ts";
import { log } from "../../log.ts";
import { Health } from "../../schema/operator.ts";
import { NoQuery } from "../../schema/page.ts";
import { json, problems } from "../calls.ts";
import { problem } from "../problem.ts";
import { within } from "../scanners.ts";
import type { App } from "../services.ts";

const DEADLINE_MS = 2_000;

const NOT_READY: Refusal = { code: "store_unavailable", detail: "The database does not answer." };

const health = createRoute({
  method: "get",
  path: "/healthz",
  operationId: "health",
  tags: ["Service"],
  summary: "Whether the service is ready",
  description: "Answers 200 while the database answers. A service whose settings are refused answers 503.",
  security: [],
  request: { query: NoQuery },
  responses: { 200: json(Health, "Ready"), ...problems(422, 503) },
});

export function healthRoutes(app: App): void {
  app.openapi(health, async (c) => {
    try {
      await within(DEADLINE_MS, c.var.services.store.ping());
    } catch (thrown) {
      log("error", "database_out_of_reach", { request_id: c.var.requestId }, thrown);
      return problem(c, NOT_READY, null);
    }
    return c.json({ status: "ok" } as const, 200);
  });
}
