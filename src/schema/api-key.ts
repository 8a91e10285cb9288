/** API keys. The secret is in the answer that makes the key, and nowhere else. */

import { z } from "@hono/zod-openapi";
import { SCOPES } from "../core/views.ts";
import { EXAMPLE } from "./examples.ts";
import { Instant, line, maybe, timeOf } from "./fields.ts";
import { pageOf } from "./page.ts";

const Scopes = z
  .array(z.enum(SCOPES))
  .min(1)
  .refine((scopes) => new Set(scopes).size === scopes.length, "a scope is named twice")
  .openapi({
    description: "What the key may do, each once. admin includes every other scope.",
    example: ["read", "addresses:write"],
  });

export const NewApiKeyBody = z
  .strictObject({
    name: line(100).openapi({ description: "A text for people." }),
    scopes: Scopes,
    expires_at: Instant.nullable().default(null).openapi({
      description: "RFC 3339, in the future. From then on the key is refused; null: never.",
    }),
  })
  .openapi("NewApiKey", { example: { name: "Payout service", scopes: ["read", "withdrawals:write"] } });

export const ApiKey = z
  .object({
    id: z.string(),
    name: z.string().openapi({ description: "A text for people." }),
    scopes: z.array(z.enum(SCOPES)).openapi({ description: "What the key may do." }),
    created_at: timeOf("When it was made."),
    expires_at: timeOf("When it ends, by its own term or by the overlap of a rotation; null: never.").nullable(),
    revoked_at: timeOf("When it was revoked; null: it was not.").nullable(),
    secret: maybe(z.string()).openapi({
      description: "The key itself, sk_... Only in the answer that creates it, and never again.",
    }),
  })
  .openapi("ApiKey", {
    example: {
      id: EXAMPLE.key,
      name: "Payout service",
      scopes: ["read", "withdrawals:write"],
      created_at: "2026-01-31T12:00:00.000Z",
      expires_at: null,
      revoked_at: null,
    },
  });

export const ApiKeyPage = pageOf(ApiKey, "ApiKey");
