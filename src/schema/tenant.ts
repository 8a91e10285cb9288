/** Tenants: sign-up and the caller's own. */

import { z } from "@hono/zod-openapi";
import { ApiKey } from "./api-key.ts";
import { EXAMPLE } from "./examples.ts";
import { line, timeOf } from "./fields.ts";

const EMAIL = /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}.]+(?:\.[^\s@\p{Cc}.]+)+$/u;

/** Shape only: whether mail arrives there is nobody's business at sign-up. */
const Email = z
  .string()
  .max(254)
  .refine((text) => EMAIL.test(text), "expected an e-mail address")
  .openapi({ format: "email", description: "Where to write to you. Only its form is checked." });

export const SignUpBody = z
  .strictObject({
    name: z.string().trim().pipe(line(100)).openapi({
      type: "string",
      minLength: 1,
      maxLength: 100,
      description: "A text for people.",
      example: "Acme",
    }),
    email: Email.nullable().default(null),
  })
  .openapi("SignUp", { example: { name: "Acme", email: "ops@acme.example" } });

export const Tenant = z
  .object({
    id: z.string().openapi({ example: EXAMPLE.tenant }),
    name: z.string().openapi({ description: "A text for people." }),
    email: z.string().nullable().openapi({ description: "As it was given; null: it was not." }),
    created_at: timeOf("When it was signed up."),
  })
  .openapi("Tenant", {
    example: {
      id: EXAMPLE.tenant,
      name: "Acme",
      email: "ops@acme.example",
      created_at: "2026-01-31T12:00:00.000Z",
    },
  });

export const SignedUp = z.object({ tenant: Tenant, api_key: ApiKey }).openapi("SignedUp", {
  example: {
    tenant: {
      id: EXAMPLE.tenant,
      name: "Acme",
      email: "ops@acme.example",
      created_at: "2026-01-31T12:00:00.000Z",
    },
    api_key: {
      id: EXAMPLE.key,
      name: "default",
      scopes: ["admin"],
      created_at: "2026-01-31T12:00:00.000Z",
      expires_at: null,
      revoked_at: null,
      secret: EXAMPLE.secret,
    },
  },
});
