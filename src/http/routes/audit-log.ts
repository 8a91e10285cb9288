/** The audit log: read by whoever may do everything, changed by nobody. */

import { createRoute } from "@hono/zod-openapi";
import { AuditPage, AuditQuery } from "../../schema/audit.ts";
import { send } from "../answers.ts";
import { json, keyed, needs, problems } from "../calls.ts";
import type { App } from "../services.ts";

const listAuditLog = createRoute({
  method: "get",
  path: "/v1/audit-log",
  operationId: "listAuditLog",
  tags: ["Audit log"],
  summary: "List what callers did and tried, oldest first",
  description:
    "Every call that changes something, and those that were refused for want of a scope or for the state of " +
    "things: which key, from where, about what, with what outcome. An entry is written in the same commit as its " +
    "change. Its hash covers the entry before, so that whoever kept one hash sees whether anything up to there was " +
    "changed since; read without a filter to check it. Reads leave no entry, and no body or secret is kept.",
  ...needs("admin"),
  ...keyed,
  request: { query: AuditQuery },
  responses: { 200: json(AuditPage, "Entries after a sequence"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

export function auditRoutes(app: App): void {
  app.openapi(listAuditLog, async (c) => {
    const { after, cursor, call, api_key_id: keyId, limit } = c.req.valid("query");
    const filter = { after: after ?? cursor ?? 0, call: call ?? null, keyId: keyId ?? null };
    return send(c, await c.var.tenant.listAuditLog(c.var.caller, filter, limit), 200);
  });
}
