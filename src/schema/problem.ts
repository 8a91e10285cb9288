/** Problem documents (RFC 9457), the one shape of every answer that is not a success. */

import { z } from "@hono/zod-openapi";
import { REFUSALS, type RefusalCode } from "../core/refusal.ts";
import { maybe } from "./fields.ts";

const codes = Object.keys(REFUSALS) as RefusalCode[];

export const Problem = z
  .object({
    type: z.string().openapi({ format: "uri-reference", description: "Where this kind of problem is explained." }),
    title: z.string().openapi({ description: "The code in words; always the same for one code." }),
    status: z.int().openapi({ description: "The HTTP status, once more." }),
    detail: z.string().openapi({ description: "What was wrong with this call, for the developer who made it." }),
    code: z.enum(codes).openapi({ description: "Stable. Programs decide by this, never by the texts." }),
    request_id: z.string().openapi({ description: "The X-Request-Id. Name it when you ask about the call." }),
    retryable: z
      .boolean()
      .openapi({ description: "Whether it helps to send the same call again soon, without anything else being done." }),
    errors: maybe(
      z.array(
        z.object({
          path: z.string().openapi({ description: "Dotted path into the body or query: limits.0.asset." }),
          message: z.string().openapi({ description: "What was expected." }),
        }),
      ),
    ).openapi({ description: "What did not fit, field by field, where fields are to blame." }),
  })
  .openapi("Problem");

export type Problem = z.infer<typeof Problem>;
