/** Sessions. Their token is in a cookie and in no body. */

import { z } from "@hono/zod-openapi";
import { ApiKey } from "./api-key.ts";
import { EXAMPLE } from "./examples.ts";
import { timeOf } from "./fields.ts";
import { Tenant } from "./tenant.ts";

export const Session = z
  .object({
    tenant: Tenant,
    api_key: ApiKey,
    expires_at: timeOf("When it ends by itself: 12 hours after it began, or with its key if that ends sooner."),
    event_sequence: z.int().openapi({
      description: "Sequence of the newest event. Follow the events after it to hear what comes after this answer.",
    }),
  })
  .openapi("Session", {
    description: "Who is signed in, with which key, and until when.",
    example: {
      tenant: {
        id: EXAMPLE.tenant,
        name: "Acme",
        email: "ops@acme.example",
        created_at: "2026-01-31T12:00:00.000Z",
      },
      api_key: {
        id: EXAMPLE.key,
        name: "Console",
        scopes: ["read"],
        created_at: "2026-01-31T12:00:00.000Z",
        expires_at: null,
        revoked_at: null,
      },
      expires_at: "2026-02-01T00:00:00.000Z",
      event_sequence: 42,
    },
  });
