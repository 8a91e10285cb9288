/** The audit log: what callers did and tried, oldest first, each entry's hash over the one before. */

import { z } from "@hono/zod-openapi";
import { AUDITED_CALLS } from "../core/audit-entry.ts";
import { EXAMPLE } from "./examples.ts";
import { maybe, timeOf } from "./fields.ts";
import { Limit, Sequence } from "./page.ts";

export const AuditEntry = z
  .object({
    sequence: z.int().openapi({ description: "Place in the tenant's audit log, from 1 on without a gap." }),
    created_at: timeOf("When it was written, in the commit that made the change."),
    api_key_id: z.string().openapi({ description: "The key that called, or that the session was signed in with." }),
    via: z.enum(["api_key", "session"]).openapi({ description: "How it called." }),
    request_id: z.string().openapi({ description: "The X-Request-Id of the answer; log lines have it too." }),
    call: z.string().openapi({ description: "The operationId of the call." }),
    subject: z.string().nullable().openapi({
      description: "What it was about: an id, a network or a contract; null: it made nothing and names nothing.",
    }),
    outcome: z.string().openapi({
      description:
        "ok, replayed, or the code of the refusal. begun: another part of the service was asked to make the " +
        "change; the next entry of the same request says what came of it.",
    }),
    client_address: z.string().nullable().openapi({
      description: "IP address that the platform took the request from; null: it names none.",
    }),
    user_agent: z.string().nullable().openapi({ description: "What the client called itself; null: nothing." }),
    hash: z.string().openapi({ description: "SHA-256 over this entry and the hash before it, hex." }),
  })
  .openapi("AuditEntry", {
    example: {
      sequence: 17,
      created_at: "2026-01-31T12:20:11.000Z",
      api_key_id: EXAMPLE.key,
      via: "api_key",
      request_id: EXAMPLE.request,
      call: "approveWithdrawal",
      subject: EXAMPLE.withdrawal,
      outcome: "ok",
      client_address: "192.0.2.7",
      user_agent: "sluice-js/0.1.0",
      hash: "1db7c3a5e9f8d2b4c6a8e0f1d3b5c7a9e1f3d5b7c9a0e2f4d6b8c0a1e3f5d7b9",
    },
  });

export const AuditPage = z
  .object({
    data: z.array(AuditEntry).openapi({ description: "Oldest first." }),
    next_cursor: z.string().nullable().openapi({ description: "Pass it as after; null: nothing more now." }),
  })
  .openapi("AuditPage");

export const AuditQuery = z
  .strictObject({
    after: maybe(Sequence).openapi({ description: "The last sequence you have; left out: from the first." }),
    cursor: maybe(Sequence).openapi({ description: "Another name for after." }),
    call: maybe(z.enum(AUDITED_CALLS)).openapi({ description: "Entries of this call alone, by its operationId." }),
    api_key_id: maybe(z.string().regex(/^key_[0-9a-z]{26}$/)).openapi({
      description: "Entries of this key alone, sessions of it included.",
    }),
    limit: Limit,
  })
  .refine((query) => query.after === undefined || query.cursor === undefined, {
    path: ["after"],
    error: "expected either after or cursor",
  });
