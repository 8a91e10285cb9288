/** Events: whoever prefers to pull reads them here, oldest first, and misses nothing. */

import { createRoute } from "@hono/zod-openapi";
import { Event, EventPage, EventQuery } from "../../schema/event.ts";
import { idOf } from "../../schema/fields.ts";
import { NoQuery } from "../../schema/page.ts";
import { send } from "../answers.ts";
import { json, keyed, needs, problems } from "../calls.ts";
import type { App } from "../services.ts";

const listEvents = createRoute({
  method: "get",
  path: "/v1/events",
  operationId: "listEvents",
  tags: ["Events"],
  summary: "List events, oldest first",
  description:
    "The way to read everything and miss nothing without a webhook: pass the last sequence that you have as " +
    "after, and next_cursor from there on. An event is written in the same commit as what it tells of.",
  ...needs("read"),
  ...keyed,
  request: { query: EventQuery },
  responses: { 200: json(EventPage, "Events after a sequence"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

const getEvent = createRoute({
  method: "get",
  path: "/v1/events/{id}",
  operationId: "getEvent",
  tags: ["Events"],
  summary: "One event",
  description: "The event, with the same data as in its webhook.",
  ...needs("read"),
  ...keyed,
  request: { query: NoQuery, params: idOf("evt") },
  responses: { 200: json(Event, "The event"), ...problems(401, 403, 404, 422, 429, 500, 503) },
});

export function eventRoutes(app: App): void {
  app.openapi(listEvents, async (c) => {
    const { after, cursor, types, subject, limit, wait } = c.req.valid("query");
    const filter = { after: after ?? cursor ?? 0, types: types ?? null, subject: subject ?? null };
    return send(c, await c.var.tenant.listEvents(c.var.caller, filter, limit, wait * 1_000), 200);
  });

  app.openapi(getEvent, async (c) => send(c, await c.var.tenant.getEvent(c.var.caller, c.req.valid("param").id), 200));
}
