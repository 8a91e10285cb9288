/** Reconciliation: chain, keys and ledger compared, each difference named. */

import { z } from "@hono/zod-openapi";
import { Time } from "./fields.ts";

export const Reconciliation = z
  .object({
    id: z.string(),
    created_at: Time,
    status: z.enum(["matched", "mismatched", "incomplete"]).openapi({
      description: "incomplete: a source was out of reach; the rest agrees.",
    }),
    compared: z.record(z.string(), z.int()),
    differences: z.array(
      z.object({
        kind: z.string(),
        subject: z.string().openapi({ description: "The withdrawal, deposit, account or nonce it concerns." }),
        expected: z.string(),
        found: z.string(),
      }),
    ),
    unreachable: z.array(z.string()).openapi({ description: "Sources that did not answer." }),
    counters: z.record(z.string(), z.int()),
  })
  .openapi("Reconciliation");
