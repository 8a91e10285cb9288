/**
 * The tables of one webhook endpoint. Times are unix milliseconds. Every index serves a query and is a
 * row written per change, so those on the queue hold pending deliveries only.
 */

import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { EventType, SignatureScheme } from "../../core/views.ts";
import type { DeliveryOutcome, DisabledReason } from "../../core/webhook-schedule.ts";

/** One row. */
export const endpoint = sqliteTable("endpoint", {
  id: integer("id").primaryKey(),
  tenantId: text("tenant_id").notNull(),
  endpointId: text("endpoint_id").notNull(),
  url: text("url").notNull(),
  apiVersion: text("api_version").notNull(),
  status: text("status").$type<"enabled" | "disabled">().notNull(),
  disabledReason: text("disabled_reason").$type<DisabledReason>(),
  /** When `status` last changed: an answer to an older request says nothing about what holds now. */
  statusAt: integer("status_at").notNull(),
  /** When the tenant is next to be told `status`; null: it knows. */
  tellAt: integer("tell_at"),
  /** Rises with each change that the tenant is told of, so that news which arrive late are known to be old. */
  revision: integer("revision").notNull().default(1),
  signature: text("signature").$type<SignatureScheme>().notNull().default("v1"),
  /** First failed attempt on the present target after which none succeeded; null: the latest one succeeded, or nothing was left to send. */
  failingSince: integer("failing_since"),
});

/** The newest signs, and older ones beside it until they end. */
export const secrets = sqliteTable("secrets", {
  n: integer("n").primaryKey(),
  /** Sealed, see `keyVersion`. With `v1a` the private key. */
  secret: text("secret").notNull(),
  /** The request that made it: a repeated one gets the same secret. */
  requestId: text("request_id").notNull().unique(),
  /** null: the newest. */
  endsAt: integer("ends_at"),
  /** Version of the root key that it is sealed under; null: plain text, written before secrets were sealed. */
  keyVersion: text("key_version"),
  /** `whpk_...` with `v1a`; null: a secret that both sides have. */
  publicKey: text("public_key"),
});

export const deliveries = sqliteTable(
  "deliveries",
  {
    /** Ascending in the order of arrival. */
    position: integer("position").primaryKey(),
    eventId: text("event_id").notNull(),
    eventType: text("event_type").$type<EventType>().notNull(),
    sequence: integer("sequence").notNull(),
    /** 0 for the first delivery of an event, then one more for each replay. */
    replay: integer("replay").notNull(),
    subject: text("subject").notNull(),
    subjectSequence: integer("subject_sequence").notNull(),
    status: text("status").$type<"pending" | "delivered" | "given_up">().notNull(),
    /** 1 while an earlier delivery of the same subject is pending. */
    blocked: integer("blocked").notNull(),
    /** Attempts that count against the schedule. */
    failures: integer("failures").notNull(),
    nextAt: integer("next_at").notNull(),
    createdAt: integer("created_at").notNull(),
    settledAt: integer("settled_at"),
    /** What the API names it, in rows from before names had their position in them: delivery-id.ts. */
    id: text("id"),
    /** The bytes of every attempt. */
    body: text("body").notNull(),
    /** 1: its name has its position in it. */
    isNumbered: integer("is_numbered"),
    /** The attempt that was acknowledged, which so needs no row of its own; null in rows from before, where it has one. */
    acknowledgedAt: integer("acknowledged_at"),
    acknowledgedStatus: integer("acknowledged_status"),
    acknowledgedMs: integer("acknowledged_ms"),
    acknowledgedResponse: text("acknowledged_response"),
  },
  (t) => [
    uniqueIndex("deliveries_event").on(t.eventId, t.replay),
    index("deliveries_due").on(t.nextAt).where(sql`status = 'pending' AND blocked = 0`),
    index("deliveries_subject").on(t.subject, t.sequence, t.replay).where(sql`status = 'pending'`),
    uniqueIndex("deliveries_id").on(t.id).where(sql`id IS NOT NULL`),
    index("deliveries_unnamed").on(t.position).where(sql`id IS NULL AND is_numbered IS NULL`),
    index("deliveries_given_up").on(t.position).where(sql`status = 'given_up'`),
  ],
);

/** Those that failed. WITHOUT ROWID in the migration, so that an attempt is one row written, not two. */
export const attempts = sqliteTable(
  "attempts",
  {
    delivery: integer("delivery").notNull(),
    n: integer("n").notNull(),
    at: integer("at").notNull(),
    outcome: text("outcome").$type<DeliveryOutcome>().notNull(),
    status: integer("status"),
    durationMs: integer("duration_ms").notNull(),
    response: text("response"),
    error: text("error"),
  },
  (t) => [primaryKey({ columns: [t.delivery, t.n] })],
);
