/** What the operator of the service sees and does. */

import { z } from "@hono/zod-openapi";
import { Height, Time } from "./fields.ts";

export const Health = z.object({ status: z.literal("ok") }).openapi("Health");

export const ScannerView = z
  .object({
    network: z.string(),
    head: z.int().nullable(),
    scanned_to: z.int().nullable(),
    finalized: z.int().nullable(),
    window_from: z.int().nullable(),
    status: z.enum(["ok", "lagging", "halted"]),
    internal: z.enum(["traced", "untraced", "off", "unknown"]),
    incident: z.object({ id: z.string(), reason: z.string(), at: Time }).nullable(),
    watched_addresses: z.int(),
    counters: z.record(z.string(), z.number()),
    last_poll_at: Time.nullable(),
    last_error: z.string().nullable(),
  })
  .openapi("Scanner");

export const ResumeBody = z
  .strictObject({
    from_height: Height.nullable().default(null).openapi({
      description: "First height that was replaced. Left out: the service looks for it.",
    }),
  })
  .openapi("Resume");

export const Resumed = z.object({ from_height: z.int() }).openapi("Resumed");
