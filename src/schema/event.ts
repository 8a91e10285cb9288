/** Events: read oldest first, by their gapless sequence. */

import { z } from "@hono/zod-openapi";
import { EVENT_TYPES } from "../core/views.ts";
import { maybe, Time } from "./fields.ts";
import { Limit } from "./page.ts";

export const Event = z
  .object({
    id: z.string(),
    type: z.enum(EVENT_TYPES),
    api_version: z.string(),
    sequence: z.int().openapi({ description: "Without a gap, per tenant." }),
    subject: z.string(),
    subject_sequence: z.int().openapi({ description: "Without a gap, per subject." }),
    created_at: Time,
    data: z
      .custom<object>((value) => typeof value === "object" && value !== null)
      .openapi({
        type: "object",
        description: "The whole object as it stood when the event was written.",
      }),
  })
  .openapi("Event");

export const EventPage = z
  .object({
    data: z.array(Event),
    next_cursor: z.string().nullable().openapi({ description: "Pass it as after; null: nothing more now." }),
  })
  .openapi("EventPage");

/** A sequence number as it stands in a query: canonical, and a safe integer. */
const Sequence = z
  .string()
  .refine((text) => /^(0|[1-9][0-9]{0,15})$/.test(text) && Number.isSafeInteger(Number(text)), "expected a sequence")
  .transform(Number)
  .openapi({ type: "integer", minimum: 0 });

const EventTypes = z
  .string()
  .transform((text) => text.split(","))
  .pipe(z.array(z.enum(EVENT_TYPES)))
  .openapi({ type: "string", description: "Comma-separated.", example: "deposit.confirmed,deposit.reverted" });

const MAX_WAIT_S = 25;

const WaitSeconds = z
  .string()
  .refine((text) => /^(0|[1-9][0-9]?)$/.test(text) && Number(text) <= MAX_WAIT_S, `expected 0 to ${MAX_WAIT_S}`)
  .transform(Number)
  .default(0)
  .openapi({
    type: "integer",
    minimum: 0,
    maximum: MAX_WAIT_S,
    default: 0,
    description:
      "Whole seconds to wait when there is nothing yet: the answer comes with the first event that fits, or is " +
      "empty in the end. It counts as one request.",
  });

export const EventQuery = z
  .strictObject({
    after: maybe(Sequence).openapi({ description: "The last sequence you have; left out: from the first." }),
    cursor: maybe(Sequence).openapi({ description: "Another name for after." }),
    types: maybe(EventTypes),
    limit: Limit,
    wait: WaitSeconds,
  })
  .refine((query) => query.after === undefined || query.cursor === undefined, {
    path: ["after"],
    error: "expected either after or cursor",
  });
