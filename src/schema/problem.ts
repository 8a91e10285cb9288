/** Problem documents (RFC 9457), the one shape of every answer that is not a success. */

import { z } from "@hono/zod-openapi";
import { REFUSALS, type RefusalCode } from "../core/refusal.ts";
import { maybe } from "./fields.ts";

const codes = Object.keys(REFUSALS) as RefusalCode[];

export const Problem = z
  .object({
    type: z.string().openapi({ format: "uri-reference", description: "Where this kind of problem is explained." }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(codes).openapi({ description: "Stable. Programs decide by this, never by the texts." }),
    request_id: z.string(),
    retryable: z
      .boolean()
      .openapi({ description: "Whether it helps to send the same call again soon, without anything else being done." }),
    errors: maybe(z.array(z.object({ path: z.string(), message: z.string() }))),
  })
  .openapi("Problem");

export type Problem = z.infer<typeof Problem>;
