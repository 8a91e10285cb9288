/** Reconciliation: chain, keys and ledger compared, each difference named. */

import { z } from "@hono/zod-openapi";
import { EXAMPLE } from "./examples.ts";
import { timeOf } from "./fields.ts";

export const Reconciliation = z
  .object({
    id: z.string(),
    created_at: timeOf("When it was made."),
    status: z.enum(["matched", "mismatched", "incomplete"]).openapi({
      description:
        "matched: everything compared agrees. mismatched: see differences. incomplete: a source was out of reach; the rest agrees.",
    }),
    compared: z.record(z.string(), z.int()).openapi({ description: "How many of each kind were compared." }),
    differences: z
      .array(
        z.object({
          kind: z.string().openapi({ description: "Which two sources differ, and in what." }),
          subject: z.string().openapi({ description: "The withdrawal, deposit, account or nonce it concerns." }),
          expected: z.string().openapi({ description: "What the books say." }),
          found: z.string().openapi({ description: "What the other source says." }),
        }),
      )
      .openapi({ description: "At most 1,000; counters.mismatches has their number." }),
    unreachable: z.array(z.string()).openapi({ description: "Sources that did not answer." }),
    counters: z.record(z.string(), z.int()).openapi({ description: "What was counted since the tenant was made." }),
  })
  .openapi("Reconciliation", {
    example: {
      id: EXAMPLE.report,
      created_at: "2026-01-31T12:30:00.000Z",
      status: "matched",
      compared: { open_withdrawals: 1, open_nonces: 1 },
      differences: [],
      unreachable: [],
      counters: { unresolved_withdrawals: 0, mismatches: 0 },
    },
  });
