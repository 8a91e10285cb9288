/** The webhooks in the document: one POST for each type of event, as Standard Webhooks 1.0.0 has it. */

import { z } from "@hono/zod-openapi";
import { EXAMPLE } from "../../schema/examples.ts";
import { WEBHOOK_EVENTS } from "../../schema/webhook.ts";
import type { App } from "../services.ts";

const headers = z.object({
  "webhook-id": z.string().openapi({
    description: "The event's id, the same on every attempt: whoever has it already may skip it.",
    example: EXAMPLE.event,
  }),
  "webhook-timestamp": z.string().openapi({
    description: "When this attempt was made, in Unix seconds. Refuse what is minutes old.",
    example: "1769861316",
  }),
  "webhook-signature": z.string().openapi({
    description:
      "v1, and the base64 of HMAC-SHA256 over id.timestamp.body, with what follows whsec_ in the secret as a base64 " +
      "key. Several, separated by spaces, while a rotation's overlap lasts: one of them must match.",
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  }),
});

export function describeWebhooks(app: App): void {
  for (const { type, meaning, schema, differing } of WEBHOOK_EVENTS) {
    app.openAPIRegistry.registerWebhook({
      method: "post",
      path: type,
      operationId: `on_${type.replaceAll(".", "_")}`,
      tags: ["Webhook endpoints"],
      summary: type,
      description: meaning,
      security: [],
      request: { headers, body: { required: true, content: { "application/json": { schema, example: differing } } } },
      responses: {
        "2XX": { description: "Taken. Answer within 15 seconds, and do the work after it." },
        410: { description: "The endpoint is gone: it is disabled, and nothing more is sent until it is enabled." },
        default: {
          description:
            "Not taken; a redirect is not followed. The same body is sent again, after 5 seconds, 5 minutes, 30 " +
            "minutes, 2, 5, 10, 14, 20 and 24 hours, or as Retry-After of a 429 or 503 asks.",
        },
      },
    });
  }
}
