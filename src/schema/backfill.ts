/** Backfills: past heights read again, with a report in numbers. */

import { z } from "@hono/zod-openapi";
import { Height, NetworkId, Time } from "./fields.ts";

export const NewBackfillBody = z
  .strictObject({ network: NetworkId, from_height: Height, to_height: Height })
  .openapi("NewBackfill");

export const Backfill = z
  .object({
    id: z.string(),
    network: z.string(),
    from_height: z.int(),
    to_height: z.int(),
    status: z.enum(["queued", "running", "done", "failed"]),
    progress: z.object({ scanned_to: z.int().nullable(), of: z.int() }),
    found: z.int(),
    already_known: z.int(),
    added: z.int(),
    conflicts: z.int().openapi({ description: "Payments credited to another tenant before; never credited here." }),
    error: z.string().nullable(),
    created_at: Time,
    finished_at: Time.nullable(),
  })
  .openapi("Backfill");
