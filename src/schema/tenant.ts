/** Tenants: sign-up and the caller's own. */

import { z } from "@hono/zod-openapi";
import { ApiKey } from "./api-key.ts";
import { line, Time } from "./fields.ts";

const EMAIL = /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}.]+(?:\.[^\s@\p{Cc}.]+)+$/u;

/** Shape only: whether mail arrives there is nobody's business at sign-up. */
const Email = z
  .string()
  .max(254)
  .refine((text) => EMAIL.test(text), "expected an e-mail address")
  .openapi({ format: "email" });

export const SignUpBody = z
  .strictObject({
    name: z.string().trim().pipe(line(100)).openapi({ type: "string", minLength: 1, maxLength: 100, example: "Acme" }),
    email: Email.nullable().default(null),
  })
  .openapi("SignUp");

export const Tenant = z
  .object({
    id: z.string().openapi({ example: "ten_01h455vb4pex5vsknk084sn02q" }),
    name: z.string(),
    email: z.string().nullable(),
    created_at: Time,
  })
  .openapi("Tenant");

export const SignedUp = z.object({ tenant: Tenant, api_key: ApiKey }).openapi("SignedUp");
