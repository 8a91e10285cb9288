/** Backfills: past heights read again, with a report in numbers. */

import { z } from "@hono/zod-openapi";
import { EXAMPLE } from "./examples.ts";
import { Height, NetworkId, timeOf } from "./fields.ts";

export const NewBackfillBody = z
  .strictObject({
    network: NetworkId,
    from_height: Height.openapi({ description: "First block height to read." }),
    to_height: Height.openapi({ description: "Last block height to read. Not above what was read already." }),
  })
  .openapi("NewBackfill", { example: { network: "ethereum", from_height: 20_990_000, to_height: 20_999_999 } });

export const Backfill = z
  .object({
    id: z.string(),
    network: z.string().openapi({ description: "The network's id." }),
    from_height: z.int().openapi({ description: "First block height." }),
    to_height: z.int().openapi({ description: "Last block height." }),
    status: z.enum(["queued", "running", "done", "failed"]).openapi({ description: "done and failed are final." }),
    progress: z
      .object({
        scanned_to: z.int().nullable().openapi({ description: "Last block height read so far; null: none yet." }),
        of: z.int().openapi({ description: "The height it ends with." }),
      })
      .openapi({ description: "How far it is." }),
    found: z.int().openapi({ description: "Payments to your addresses that the range has." }),
    already_known: z.int().openapi({ description: "Of them, those that were known before." }),
    added: z.int().openapi({ description: "Of them, those that became deposits now." }),
    conflicts: z
      .int()
      .openapi({ description: "Payments that were credited to another tenant before; never credited here." }),
    error: z.string().nullable().openapi({ description: "Why it failed; null otherwise." }),
    created_at: timeOf("When it was asked for."),
    finished_at: timeOf("When it was done or failed; null: it is under way.").nullable(),
  })
  .openapi("Backfill", {
    example: {
      id: EXAMPLE.backfill,
      network: "ethereum",
      from_height: 20_990_000,
      to_height: 20_999_999,
      status: "done",
      progress: { scanned_to: 20_999_999, of: 20_999_999 },
      found: 3,
      already_known: 2,
      added: 1,
      conflicts: 0,
      error: null,
      created_at: "2026-01-31T12:00:00.000Z",
      finished_at: "2026-01-31T12:04:10.000Z",
    },
  });
