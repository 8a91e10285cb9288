/** Webhook endpoints and what was delivered to them. */

import { z } from "@hono/zod-openapi";
import { EVENT_TYPES } from "../core/views.ts";
import { EXAMPLE } from "./examples.ts";
import { Instant, line, maybe, Time, timeOf } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

const Url = line(2048).openapi({
  format: "uri",
  description: "Where events are POSTed to. https, a name and no IP address, and nothing inside.",
  example: "https://example.com/hooks/sluice",
});
const Events = z
  .array(z.enum(EVENT_TYPES))
  .min(1)
  .refine((types) => new Set(types).size === types.length, "a type is named twice")
  .nullable()
  .openapi({ description: "The types to send, each once; null: every type but deposit.pending and deposit.dropped." });
const Description = line(200).nullable().openapi({ description: "A text for people." });

export const NewEndpointBody = z
  .strictObject({ url: Url, events: Events.default(null), description: Description.default(null) })
  .openapi("NewWebhookEndpoint", {
    example: { url: "https://example.com/hooks/sluice", events: ["deposit.confirmed", "deposit.reverted"] },
  });

export const EndpointPatchBody = z
  .strictObject({
    url: maybe(Url),
    events: maybe(Events),
    description: maybe(Description),
  })
  .refine((patch) => Object.keys(patch).length > 0, "expected at least one field to change")
  .openapi("WebhookEndpointPatch", { example: { events: null } });

export const ReplayBody = z
  .strictObject({
    after_sequence: maybe(z.int().min(0)).openapi({ description: "Events after this sequence. Either this or since." }),
    since: maybe(Instant).openapi({
      description: "Events from this moment on, RFC 3339. Either this or after_sequence.",
    }),
  })
  .transform((from, context): { afterSequence: number } | { since: number } => {
    const { after_sequence: afterSequence, since } = from;
    if (afterSequence !== undefined && since === undefined) return { afterSequence };
    if (since !== undefined && afterSequence === undefined) return { since };
    context.issues.push({ code: "custom", message: "expected either after_sequence or since", input: from });
    return z.NEVER;
  })
  .openapi("Replay", { example: { after_sequence: 41 } });

export const Endpoint = z
  .object({
    id: z.string(),
    url: z.string().openapi({ description: "Where events are POSTed to." }),
    events: z.array(z.enum(EVENT_TYPES)).nullable().openapi({
      description: "The types that are sent; null: every type but deposit.pending and deposit.dropped.",
    }),
    description: z.string().nullable().openapi({ description: "A text for people." }),
    status: z
      .enum(["enabled", "disabled"])
      .openapi({ description: "disabled: events wait until it is enabled again." }),
    disabled_reason: z.string().nullable().openapi({ description: "Why it is disabled; null: it is not." }),
    created_at: timeOf("When it was made."),
    secret: maybe(z.string()).openapi({
      description: "What signatures are verified with, whsec_... Only at creation and rotation, and never again.",
    }),
  })
  .openapi("WebhookEndpoint", {
    example: {
      id: EXAMPLE.endpoint,
      url: "https://example.com/hooks/sluice",
      events: ["deposit.confirmed", "deposit.reverted"],
      description: null,
      status: "enabled",
      disabled_reason: null,
      created_at: "2026-01-31T12:00:00.000Z",
    },
  });

export const Replayed = z
  .object({
    from_sequence: z.int().openapi({ description: "First event sequence that is looked at." }),
    to_sequence: z.int().openapi({ description: "Last one. What happens later is sent as ever." }),
  })
  .openapi("Replayed", { example: { from_sequence: 42, to_sequence: 57 } });

const DeliveryStatus = z.enum(["pending", "delivered", "given_up"]).openapi({
  description: "pending: it is tried, or waits for the subject's event before it. given_up: after the last attempt.",
});

export const Delivery = z
  .object({
    id: z.string(),
    event_id: z.string().openapi({ description: "The event, and the webhook-id that it is sent with." }),
    event_type: z.enum(EVENT_TYPES).openapi({ description: "The event's type." }),
    sequence: z.int().openapi({ description: "The event's place among all events of the tenant." }),
    status: DeliveryStatus,
    next_attempt_at: timeOf("When it is tried next; null: it is not, or it waits for the one before.").nullable(),
    created_at: timeOf("When it was queued."),
    attempts: z.array(
      z.object({
        at: Time,
        status: z.int().nullable().openapi({ description: "HTTP status; null: no answer came." }),
        outcome: z.string().openapi({ description: "What became of it, in one word: delivered, or what went wrong." }),
        duration_ms: z.int().openapi({ description: "Milliseconds until the answer, or until it was given up." }),
        response: z.string().nullable().openapi({ description: "First 1 KiB of the answer." }),
      }),
    ),
  })
  .openapi("Delivery", {
    example: {
      id: EXAMPLE.delivery,
      event_id: EXAMPLE.event,
      event_type: "deposit.confirmed",
      sequence: 42,
      status: "delivered",
      next_attempt_at: null,
      created_at: "2026-01-31T12:08:36.000Z",
      attempts: [
        { at: "2026-01-31T12:08:36.000Z", status: 204, outcome: "delivered", duration_ms: 84, response: null },
      ],
    },
  });

export const EndpointPage = pageOf(Endpoint, "WebhookEndpoint");
export const DeliveryPage = pageOf(Delivery, "Delivery");
export const DeliveryQuery = z.strictObject({
  status: maybe(DeliveryStatus),
  limit: Limit,
  cursor: maybe(Cursor),
});
