/**
 * Webhook endpoints as the tenant knows them: where they point, what they want, and up to which event
 * their object was handed the log. Secrets, queues and attempts belong to the endpoint's own object.
 */

import { newId } from "../../core/ids.ts";
import { refuse } from "../../core/refusal.ts";
import type { DeliveryView, EndpointView, EventView, Page } from "../../core/views.ts";
import { decodeCursor, toPage } from "../../store/cursor.ts";
import {
  countEndpoints,
  type EndpointRow,
  endpointById,
  endpointsToClose,
  insertEndpoint,
  listEndpoints,
  toEndpointView,
  updateEndpoint,
} from "../../store/tenant/endpoint-store.ts";
import {
  API_VERSION,
  EventAppender,
  eventById,
  eventsAfter,
  lastSequence,
  sequenceBefore,
  toEventView,
} from "../../store/tenant/event-store.ts";
import { bindKey, useOfKey } from "../../store/tenant/key-store.ts";
import type { Idempotency, PageRequest, TenantApi } from "../api.ts";
import { BAD_CURSOR, type Done, KEY_REUSED, notFound } from "./authorize.ts";
import type { TenantContext } from "./context.ts";
import { toQueued } from "./hand-off.ts";
import { endpointOf } from "./peers.ts";
import { refusedTarget } from "./targets.ts";
import { wantedTypes } from "./wanted-events.ts";

const MAX_ENDPOINTS = 50;
const REPLAY_BATCH = 100;
const MAX_REPLAYED_EVENTS = 10_000;

type NewEndpoint = Parameters<TenantApi["createEndpoint"]>[1];
type EndpointPatch = Parameters<TenantApi["updateEndpoint"]>[2];

export async function createEndpoint(
  c: TenantContext,
  tenantId: string,
  input: NewEndpoint,
  idempotency: Idempotency,
): Promise<Done<EndpointView>> {
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  if (use.kind === "replay") return replayed(c, use.objectId);
  const refused = await refusedTarget(c, input.url);
  if (refused !== null) return refused;
  if (countEndpoints(c.db) >= MAX_ENDPOINTS) {
    return refuse("state_conflict", `A tenant has at most ${MAX_ENDPOINTS} endpoints; delete one first.`);
  }

  const row = {
    id: newId("we", c.random(16)),
    url: input.url,
    events: input.events === null ? null : [...input.events],
    description: input.description,
    status: "enabled" as const,
    disabledReason: null,
    handedTo: 0,
    createdAt: c.now(),
    deletedAt: null,
    closePending: 0,
  };
  // The object first: a row never stands for an endpoint whose secret nobody was shown.
  const { secret } = await endpointOf(c.env, row.id).configure(configOf(tenantId, row));
  const meanwhile = useOfKey(c.db, idempotency);
  if (meanwhile.kind !== "fresh") {
    await endpointOf(c.env, row.id).close();
    return meanwhile.kind === "other_request" ? KEY_REUSED : replayed(c, meanwhile.objectId);
  }
  c.storage.transactionSync(() => {
    // Only what happens from now on.
    insertEndpoint(c.db, { ...row, handedTo: lastSequence(c.db) });
    bindKey(c.db, idempotency, row.id);
  });
  const view = toEndpointView(row);
  return { ok: true, value: secret === null ? view : { ...view, secret }, created: true };
}

function replayed(c: TenantContext, id: string): Done<EndpointView> {
  const row = endpointById(c.db, id);
  return row === undefined ? notFound("webhook endpoint") : { ok: true, value: toEndpointView(row), replayed: true };
}

export async function patchEndpoint(
  c: TenantContext,
  tenantId: string,
  id: string,
  patch: EndpointPatch,
): Promise<Done<EndpointView>> {
  const row = endpointById(c.db, id);
  if (row === undefined) return notFound("webhook endpoint");
  if (patch.url !== undefined) {
    const refused = await refusedTarget(c, patch.url);
    if (refused !== null) return refused;
    // Deleted while the target's name was looked up.
    if (endpointById(c.db, id) === undefined) return notFound("webhook endpoint");
  }
  updateEndpoint(c.db, id, {
    ...(patch.url === undefined ? {} : { url: patch.url }),
    ...(patch.events === undefined ? {} : { events: patch.events === null ? null : [...patch.events] }),
    ...(patch.description === undefined ? {} : { description: patch.description }),
  });
  const now = { ...row, ...endpointById(c.db, id) };
  if (patch.url !== undefined) await endpointOf(c.env, id).configure(configOf(tenantId, now));
  return { ok: true, value: toEndpointView(now) };
}

export function oneEndpoint(c: TenantContext, id: string): Done<EndpointView> {
  const row = endpointById(c.db, id);
  return row === undefined ? notFound("webhook endpoint") : { ok: true, value: toEndpointView(row) };
}

export function pageOfEndpoints(c: TenantContext, page: PageRequest): Done<Page<EndpointView>> {
  const before = page.cursor === null ? null : decodeCursor(page.cursor);
  if (page.cursor !== null && before === null) return BAD_CURSOR;
  const rows = listEndpoints(c.db, before, page.limit + 1);
  return { ok: true, value: toPage(rows, page.limit, (row) => row.seq, toEndpointView) };
}

export async function deleteEndpoint(c: TenantContext, id: string): Promise<Done<null>> {
  if (endpointById(c.db, id) === undefined) return notFound("webhook endpoint");
  updateEndpoint(c.db, id, { deletedAt: c.now(), closePending: 1 });
  await closeDeleted(c);
  return { ok: true, value: null };
}

/** Tells the objects of deleted endpoints. Called again until it went through. */
export async function closeDeleted(c: TenantContext): Promise<void> {
  for (const row of endpointsToClose(c.db)) {
    await endpointOf(c.env, row.id).close();
    updateEndpoint(c.db, row.id, { closePending: 0 });
  }
}

export async function rotateSecret(
  c: TenantContext,
  id: string,
  overlapS: number,
  idempotency: Idempotency,
  requestId: string,
): Promise<Done<EndpointView>> {
  const row = endpointById(c.db, id);
  if (row === undefined) return notFound("webhook endpoint");
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  if (use.kind === "replay") return { ok: true, value: toEndpointView(row), replayed: true };
  const { secret } = await endpointOf(c.env, id).rotateSecret(overlapS, idempotency?.key ?? requestId);
  if (useOfKey(c.db, idempotency).kind === "fresh") bindKey(c.db, idempotency, id);
  return { ok: true, value: { ...toEndpointView(row), secret } };
}

/** Enabling an enabled endpoint changes nothing. What waited meanwhile goes out. */
export async function enableEndpoint(c: TenantContext, id: string): Promise<Done<EndpointView>> {
  const row = endpointById(c.db, id);
  if (row === undefined) return notFound("webhook endpoint");
  await endpointOf(c.env, id).enable();
  updateEndpoint(c.db, id, { status: "enabled", disabledReason: null });
  return oneEndpoint(c, id);
}

/** Writes a `webhook.test` event, and hands it to this endpoint alone. */
export async function testEndpoint(
  c: TenantContext,
  tenantId: string,
  id: string,
  idempotency: Idempotency,
): Promise<Done<EventView>> {
  const row = endpointById(c.db, id);
  if (row === undefined) return notFound("webhook endpoint");
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  let event = use.kind === "replay" ? eventById(c.db, use.objectId) : undefined;
  if (event === undefined) {
    let written: EventView | undefined;
    c.storage.transactionSync(() => {
      const events = new EventAppender(c.db, tenantId, c.now());
      written = events.append("webhook.test", `endpoint:${id}`, { endpoint_id: id, message: "A test event." });
      bindKey(c.db, idempotency, written.id);
    });
    event = written === undefined ? undefined : eventById(c.db, written.id);
  }
  if (event === undefined) throw new Error("a test event that was just written is not there");
  await endpointOf(c.env, id).enqueue([toQueued(event)], { replay: false });
  return { ok: true, value: toEventView(event), created: use.kind === "fresh", replayed: use.kind === "replay" };
}

/** Hands the events after a sequence, or since a moment, to the endpoint once more: same ids, same bytes. */
export async function replayEvents(
  c: TenantContext,
  id: string,
  from: { readonly afterSequence: number } | { readonly since: number },
  idempotency: Idempotency,
): Promise<Done<{ from_sequence: number; to_sequence: number }>> {
  const row = endpointById(c.db, id);
  if (row === undefined) return notFound("webhook endpoint");
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  const after = "since" in from ? sequenceBefore(c.db, from.since) : from.afterSequence;
  const bound = use.kind === "replay" ? Number(use.objectId) : lastSequence(c.db);
  const wanted = eventsAfter(c.db, after, wantedTypes(row), MAX_REPLAYED_EVENTS, bound);
  if (wanted.length === MAX_REPLAYED_EVENTS) {
    return refuse("invalid_range", `A replay covers at most ${MAX_REPLAYED_EVENTS} events; start from a later point.`);
  }
  const range = { from_sequence: Math.min(after + 1, bound), to_sequence: bound };
  if (use.kind === "replay") return { ok: true, value: range, replayed: true };
  for (let i = 0; i < wanted.length; i += REPLAY_BATCH) {
    await endpointOf(c.env, id).enqueue(wanted.slice(i, i + REPLAY_BATCH).map(toQueued), { replay: true });
  }
  if (useOfKey(c.db, idempotency).kind === "fresh") bindKey(c.db, idempotency, String(bound));
  return { ok: true, value: range, created: true };
}

export async function pageOfDeliveries(
  c: TenantContext,
  id: string,
  filter: { readonly status?: "pending" | "delivered" | "given_up" },
  page: PageRequest,
): Promise<Done<Page<DeliveryView>>> {
  if (endpointById(c.db, id) === undefined) return notFound("webhook endpoint");
  return endpointOf(c.env, id).deliveries(filter, page);
}

function configOf(tenantId: string, row: Pick<EndpointRow, "id" | "url">) {
  return { tenantId, endpointId: row.id, url: row.url, apiVersion: API_VERSION };
}
