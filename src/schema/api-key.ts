/** API keys. The secret is in the answer that makes the key, and nowhere else. */

import { z } from "@hono/zod-openapi";
import { SCOPES } from "../core/views.ts";
import { Instant, line, maybe, Time } from "./fields.ts";
import { pageOf } from "./page.ts";

const Scopes = z
  .array(z.enum(SCOPES))
  .min(1)
  .refine((scopes) => new Set(scopes).size === scopes.length, "a scope is named twice")
  .openapi({ description: "admin includes every other scope.", example: ["read", "addresses:write"] });

export const NewApiKeyBody = z
  .strictObject({
    name: line(100),
    scopes: Scopes,
    expires_at: Instant.nullable().default(null),
  })
  .openapi("NewApiKey");

export const ApiKey = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    created_at: Time,
    expires_at: Time.nullable(),
    revoked_at: Time.nullable(),
    secret: maybe(z.string()).openapi({ description: "Only in the answer that creates the key." }),
  })
  .openapi("ApiKey");

export const ApiKeyPage = pageOf(ApiKey, "ApiKey");
