/** Webhook endpoints and what was delivered to them. */

import { z } from "@hono/zod-openapi";
import { EVENT_TYPES } from "../core/views.ts";
import { Instant, line, maybe, Time } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

const Url = line(2048).openapi({ format: "uri", example: "https://example.com/hooks/sluice" });
const Events = z
  .array(z.enum(EVENT_TYPES))
  .min(1)
  .refine((types) => new Set(types).size === types.length, "a type is named twice")
  .nullable()
  .openapi({ description: "null: every type but deposit.pending and deposit.dropped." });
const Description = line(200).nullable();

export const NewEndpointBody = z
  .strictObject({ url: Url, events: Events.default(null), description: Description.default(null) })
  .openapi("NewWebhookEndpoint");

export const EndpointPatchBody = z
  .strictObject({
    url: maybe(Url),
    events: maybe(Events),
    description: maybe(Description),
  })
  .refine((patch) => Object.keys(patch).length > 0, "expected at least one field to change")
  .openapi("WebhookEndpointPatch");

export const ReplayBody = z
  .strictObject({
    after_sequence: maybe(z.int().min(0)),
    since: maybe(Instant),
  })
  .transform((from, context): { afterSequence: number } | { since: number } => {
    const { after_sequence: afterSequence, since } = from;
    if (afterSequence !== undefined && since === undefined) return { afterSequence };
    if (since !== undefined && afterSequence === undefined) return { since };
    context.issues.push({ code: "custom", message: "expected either after_sequence or since", input: from });
    return z.NEVER;
  })
  .openapi("Replay");

export const Endpoint = z
  .object({
    id: z.string(),
    url: z.string(),
    events: z.array(z.enum(EVENT_TYPES)).nullable(),
    description: z.string().nullable(),
    status: z.enum(["enabled", "disabled"]),
    disabled_reason: z.string().nullable(),
    created_at: Time,
    secret: maybe(z.string()).openapi({ description: "Only at creation and rotation." }),
  })
  .openapi("WebhookEndpoint");

export const Replayed = z.object({ from_sequence: z.int(), to_sequence: z.int() }).openapi("Replayed");

const DeliveryStatus = z.enum(["pending", "delivered", "given_up"]);

export const Delivery = z
  .object({
    id: z.string(),
    event_id: z.string(),
    event_type: z.enum(EVENT_TYPES),
    sequence: z.int(),
    status: DeliveryStatus,
    next_attempt_at: Time.nullable(),
    created_at: Time,
    attempts: z.array(
      z.object({
        at: Time,
        status: z.int().nullable().openapi({ description: "HTTP status; null: no answer came." }),
        outcome: z.string(),
        duration_ms: z.int(),
        response: z.string().nullable().openapi({ description: "First 1 KiB of the answer." }),
      }),
    ),
  })
  .openapi("Delivery");

export const EndpointPage = pageOf(Endpoint, "WebhookEndpoint");
export const DeliveryPage = pageOf(Delivery, "Delivery");
export const DeliveryQuery = z.strictObject({
  status: maybe(DeliveryStatus),
  limit: Limit,
  cursor: maybe(Cursor),
});
