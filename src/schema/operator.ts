/** What the operator of the service sees and does. */

import { z } from "@hono/zod-openapi";
import { Height, timeOf } from "./fields.ts";

export const Health = z
  .object({ status: z.literal("ok").openapi({ description: "Always ok: anything else is a 503." }) })
  .openapi("Health", { example: { status: "ok" } });

export const ScannerView = z
  .object({
    network: z.string().openapi({ description: "The network's id." }),
    head: z.int().nullable().openapi({ description: "Highest block height known; null: none yet." }),
    scanned_to: z.int().nullable().openapi({ description: "Every block up to this height was read; null: none yet." }),
    finalized: z.int().nullable().openapi({ description: "Highest height that the chain calls final; null: unknown." }),
    window_from: z
      .int()
      .nullable()
      .openapi({ description: "Lowest height that may still be replaced without a person." }),
    status: z.enum(["ok", "lagging", "halted"]).openapi({ description: "halted: it waits for a resume." }),
    internal: z.enum(["traced", "untraced", "off", "unknown"]).openapi({
      description: "Coins sent by contracts. untraced: no node of this network traces, so they are not seen.",
    }),
    incident: z
      .object({
        id: z.string().openapi({ description: "Names the halt." }),
        reason: z.string().openapi({ description: "What was seen, in words." }),
        at: timeOf("When it halted."),
      })
      .nullable()
      .openapi({ description: "Why it is halted; null: it is not." }),
    watched_addresses: z.int().openapi({ description: "Of all tenants." }),
    counters: z.record(z.string(), z.number()).openapi({ description: "What was counted since the scanner was made." }),
    last_poll_at: timeOf("When the chain was asked last; null: never.").nullable(),
    last_error: z
      .string()
      .nullable()
      .openapi({ description: "What went wrong last; null: nothing since it went well." }),
  })
  .openapi("Scanner", {
    example: {
      network: "ethereum",
      head: 21_000_045,
      scanned_to: 21_000_044,
      finalized: 20_999_968,
      window_from: 20_999_917,
      status: "ok",
      internal: "traced",
      incident: null,
      watched_addresses: 1204,
      counters: { polls: 81_244 },
      last_poll_at: "2026-01-31T12:08:48.000Z",
      last_error: null,
    },
  });

export const ResumeBody = z
  .strictObject({
    from_height: Height.nullable().default(null).openapi({
      description: "First block height that was replaced. Left out: the service looks for it.",
    }),
  })
  .openapi("Resume", { example: {} });

export const Resumed = z
  .object({ from_height: z.int().openapi({ description: "First block height that is read anew." }) })
  .openapi("Resumed", { example: { from_height: 20_999_905 } });
