/** Events: read oldest first, by their gapless sequence. */

import { z } from "@hono/zod-openapi";
import { EVENT_TYPES } from "../core/views.ts";
import { DEPOSIT_EXAMPLE } from "./deposit.ts";
import { EXAMPLE } from "./examples.ts";
import { line, maybe, timeOf } from "./fields.ts";
import { Limit, Sequence } from "./page.ts";

export const Event = z
  .object({
    id: z.string().openapi({
      description: "The same on every delivery: whoever has it already may skip it.",
      example: EXAMPLE.event,
    }),
    type: z.enum(EVENT_TYPES).openapi({ description: "What happened; it says what data is." }),
    api_version: z
      .string()
      .openapi({ description: "The version of the API that data was written in, a date.", example: "2026-11-01" }),
    sequence: z
      .int()
      .openapi({ description: "Place among all events of the tenant, from 1 on without a gap.", example: 42 }),
    subject: z.string().openapi({
      description: "What it is about: an id, or account:, network:, endpoint: and a name.",
      example: EXAMPLE.deposit,
    }),
    subject_sequence: z
      .int()
      .openapi({ description: "Place among the events of its subject, from 1 on without a gap.", example: 2 }),
    created_at: timeOf("When it was written, in the commit that made it true."),
    data: z
      .custom<object>((value) => typeof value === "object" && value !== null)
      .openapi({
        type: "object",
        description: "The whole object as it stood when the event was written.",
      }),
  })
  .openapi("Event", {
    example: {
      id: EXAMPLE.event,
      type: "deposit.confirmed",
      api_version: "2026-11-01",
      sequence: 42,
      subject: EXAMPLE.deposit,
      subject_sequence: 2,
      created_at: "2026-01-31T12:08:36.000Z",
      data: DEPOSIT_EXAMPLE,
    },
  });

export const EventPage = z
  .object({
    data: z.array(Event).openapi({ description: "Oldest first." }),
    next_cursor: z.string().nullable().openapi({ description: "Pass it as after; null: nothing more now." }),
  })
  .openapi("EventPage");

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
    subject: maybe(line(255).openapi({ description: "Events about this alone, in order: an id, or as subject says." })),
    limit: Limit,
    wait: WaitSeconds,
  })
  .refine((query) => query.after === undefined || query.cursor === undefined, {
    path: ["after"],
    error: "expected either after or cursor",
  });
