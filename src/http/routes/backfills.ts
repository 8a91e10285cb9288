/** Backfills. */

import { createRoute } from "@hono/zod-openapi";
import { Backfill, NewBackfillBody } from "../../schema/backfill.ts";
import { idOf } from "../../schema/fields.ts";
import { NoQuery } from "../../schema/page.ts";
import { send } from "../answers.ts";
import { body, json, keyed, keyedPost, mayRefuse, needs, problems } from "../calls.ts";
import { problem } from "../problem.ts";
import type { App } from "../services.ts";
import { idempotencyOf } from "../stages.ts";

const QUEUED = {
  status: "queued" as const,
  progress: { scanned_to: null, of: 20_999_999 },
  found: 0,
  already_known: 0,
  added: 0,
  finished_at: null,
};

const createBackfill = createRoute({
  method: "post",
  path: "/v1/backfills",
  operationId: "createBackfill",
  tags: ["Backfills"],
  summary: "Read past heights again",
  description:
    "Reads heights again that were read already, for your addresses. Adds what is missing and removes " +
    "nothing: running it twice changes nothing, and the report says so in numbers. Look at it with GET until " +
    "it is done.",
  ...needs("addresses:write"),
  ...mayRefuse("unknown_network", "invalid_range", "idempotency_key_reused"),
  ...keyedPost,
  request: { query: NoQuery, body: body(NewBackfillBody) },
  responses: {
    202: json(Backfill, "Queued", QUEUED),
    ...problems(400, 401, 403, 413, 415, 422, 429, 500, 503),
  },
});

const getBackfill = createRoute({
  method: "get",
  path: "/v1/backfills/{id}",
  operationId: "getBackfill",
  tags: ["Backfills"],
  summary: "One backfill and its report",
  description: "How far it is, and what it found.",
  ...needs("read"),
  ...keyed,
  request: { query: NoQuery, params: idOf("bf") },
  responses: { 200: json(Backfill, "The backfill"), ...problems(401, 403, 404, 422, 429, 500, 503) },
});

export function backfillRoutes(app: App): void {
  app.openapi(createBackfill, async (c) => {
    const { network, from_height: fromHeight, to_height: toHeight } = c.req.valid("json");
    if (fromHeight > toHeight) {
      const detail = `Expected from_height at or below to_height, got ${fromHeight} and ${toHeight}.`;
      return problem(c, { code: "invalid_range", detail }, null);
    }
    const input = { network, fromHeight, toHeight };
    return send(c, await c.var.tenant.createBackfill(c.var.caller, input, idempotencyOf(c, input)), 202);
  });

  app.openapi(getBackfill, async (c) =>
    send(c, await c.var.tenant.getBackfill(c.var.caller, c.req.valid("param").id), 200),
  );
}
