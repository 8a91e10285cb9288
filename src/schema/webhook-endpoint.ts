/** Webhook endpoints and what was delivered to them. */

import { z } from "@hono/zod-openapi";
import { EVENT_TYPES, SIGNATURE_SCHEMES } from "../core/views.ts";
import { EXAMPLE } from "./examples.ts";
import { Instant, idOf, line, maybe, Time, timeOf } from "./fields.ts";
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
  .strictObject({
    url: Url,
    events: Events.default(null),
    description: Description.default(null),
    signature: z
      .enum(SIGNATURE_SCHEMES)
      .default("v1")
      .openapi({
        description:
          "How deliveries are signed, for good (Standard Webhooks 1.0.0). v1: HMAC-SHA256 with a secret that you keep. " +
          "v1a: Ed25519; you verify with public_key and have no secret to keep.",
      }),
  })
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

export const ENDPOINT_EXAMPLE = {
  id: EXAMPLE.endpoint,
  url: "https://example.com/hooks/sluice",
  events: ["deposit.confirmed" as const, "deposit.reverted" as const],
  description: null,
  signature: "v1" as const,
  public_key: null,
  api_version: "2026-11-01",
  status: "enabled" as const,
  disabled_reason: null,
  disabled_at: null,
  created_at: "2026-01-31T12:00:00.000Z",
};

export const Endpoint = z
  .object({
    id: z.string(),
    url: z.string().openapi({ description: "Where events are POSTed to." }),
    events: z.array(z.enum(EVENT_TYPES)).nullable().openapi({
      description: "The types that are sent; null: every type but deposit.pending and deposit.dropped.",
    }),
    description: z.string().nullable().openapi({ description: "A text for people." }),
    signature: z.enum(SIGNATURE_SCHEMES).openapi({
      description: "v1: HMAC-SHA256 with the secret. v1a: Ed25519, verified with public_key.",
    }),
    public_key: z
      .string()
      .nullable()
      .openapi({
        description:
          "With v1a: whpk_ and the 32 bytes of the newest public key in base64. After a rotation the one before it " +
          "still verifies the second signature until the overlap ends. null with v1.",
        example: "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
      }),
    api_version: z.string().openapi({
      description: "The version that the bodies of its events have: the newest one when the endpoint was created.",
      example: "2026-11-01",
    }),
    status: z.enum(["enabled", "disabled"]).openapi({
      description: "disabled: nothing is sent, nothing is lost. Events wait until it is enabled.",
    }),
    disabled_reason: z
      .enum(["gone", "failing", "by_request"])
      .nullable()
      .openapi({
        description:
          "gone: it answered 410. failing: for five days every attempt failed. by_request: you disabled it. " +
          "Each time is an endpoint.disabled event.",
      }),
    disabled_at: timeOf("Since when it is disabled; null: it is not.").nullable(),
    created_at: timeOf("When it was made."),
    secret: maybe(z.string()).openapi({
      description: "With v1, at creation and rotation alone: it is not shown again, also not by a replay.",
    }),
  })
  .openapi("WebhookEndpoint", { example: ENDPOINT_EXAMPLE });

export const Replayed = z
  .object({
    from_sequence: z.int().openapi({ description: "First event sequence that is looked at." }),
    to_sequence: z.int().openapi({ description: "Last one. What happens later is sent as ever." }),
  })
  .openapi("Replayed", { example: { from_sequence: 42, to_sequence: 57 } });

const DeliveryStatus = z.enum(["pending", "delivered", "given_up"]).openapi({
  description:
    "pending: it is tried, or waits for the subject's event before it. given_up: ten attempts failed, and it is sent " +
    "again only when you ask for it.",
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
        error: z.string().nullable().openapi({
          description: "Why the attempt failed, in a sentence; null: it did not.",
          example: "No complete answer within 15 s.",
        }),
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
        {
          at: "2026-01-31T12:08:36.000Z",
          status: 204,
          outcome: "delivered",
          duration_ms: 84,
          response: null,
          error: null,
        },
      ],
    },
  });

/** The `{id}` and `{delivery_id}` of a path. */
export const DeliveryPath = z.object({
  ...idOf("we").shape,
  delivery_id: idOf("del").shape.id,
});

export const EndpointPage = pageOf(Endpoint, "WebhookEndpoint");
export const DeliveryPage = pageOf(Delivery, "Delivery");
export const DeliveryQuery = z.strictObject({
  status: maybe(DeliveryStatus),
  limit: Limit,
  cursor: maybe(Cursor),
});
