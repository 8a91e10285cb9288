/** Incidents: a tenant's own, and the operator's list of all. */

import { createRoute } from "@hono/zod-openapi";
import { refuse } from "../../core/refusal.ts";
import { idOf } from "../../schema/fields.ts";
import {
  IncidentPage,
  IncidentQuery,
  IncidentSchema,
  OperatorIncidentPage,
  OperatorIncidentQuery,
} from "../../schema/incident.ts";
import { NoQuery } from "../../schema/page.ts";
import { send } from "../answers.ts";
import { json, keyed, mayRefuse, needs, operated, problems } from "../calls.ts";
import { filterAndPage } from "../pages.ts";
import { problem } from "../problem.ts";
import type { App } from "../services.ts";

const listIncidents = createRoute({
  method: "get",
  path: "/v1/incidents",
  operationId: "listIncidents",
  tags: ["Incidents"],
  summary: "List incidents, newest first",
  description:
    "What a person should look at: each is opened once it has lasted and closed once it has been well for some time, " +
    "by code alone. status=open gives what is the matter now. Filters are joined by and.",
  ...needs("read"),
  ...keyed,
  request: { query: IncidentQuery },
  responses: { 200: json(IncidentPage, "Incidents"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

const getIncident = createRoute({
  method: "get",
  path: "/v1/incidents/{id}",
  operationId: "getIncident",
  tags: ["Incidents"],
  summary: "One incident",
  description: "As it was last looked at. A closed one stays as it was.",
  ...needs("read"),
  ...keyed,
  request: { query: NoQuery, params: idOf("inc") },
  responses: { 200: json(IncidentSchema, "The incident"), ...problems(401, 403, 404, 422, 429, 500, 503) },
});

const listOperatorIncidents = createRoute({
  method: "get",
  path: "/v1/operator/incidents",
  operationId: "listOperatorIncidents",
  tags: ["Operator"],
  summary: "List all incidents, newest first",
  description:
    "Every tenant's, and those of the service itself: halted networks, payments met again and again, providers that " +
    "contradict each other, alarms that never came. A tenant's may come here a moment after the tenant has it.",
  ...mayRefuse("store_unavailable"),
  ...operated,
  request: { query: OperatorIncidentQuery },
  responses: { 200: json(OperatorIncidentPage, "Incidents"), ...problems(400, 401, 422, 500, 503) },
});

const NO_MONITOR = refuse("store_unavailable", "This service has no monitor, which keeps the operator's list.", {
  retryAfterS: 60,
}).refusal;

export function incidentRoutes(app: App): void {
  app.openapi(listIncidents, async (c) => {
    const { filter, page } = filterAndPage(c.req.valid("query"));
    return send(c, await c.var.tenant.listIncidents(c.var.caller, filter, page), 200);
  });

  app.openapi(getIncident, async (c) =>
    send(c, await c.var.tenant.getIncident(c.var.caller, c.req.valid("param").id), 200),
  );

  app.openapi(listOperatorIncidents, async (c) => {
    const monitor = c.var.services.monitor();
    if (monitor === null) return problem(c, NO_MONITOR, null);
    const { filter, page } = filterAndPage(c.req.valid("query"));
    const listed = await monitor.listIncidents(filter, page);
    return listed.ok ? c.json(listed.value, 200) : problem(c, listed.refusal, null);
  });
}
