/**
 * What a merchant has sent to an endpoint by hand: a test event, past events once more, one delivery once more; and
 * the record of what was sent. An event keeps its id and its bytes, however often it goes out.
 */

import { refuse } from "../../core/refusal.ts";
import type { DeliveryView, EventView, Page } from "../../core/views.ts";
import { endpointById } from "../../store/tenant/endpoint-store.ts";
import { EventAppender, eventById, eventsAfter, sequenceBefore, toEventView } from "../../store/tenant/event-store.ts";
import { bindKey, useOfKey } from "../../store/tenant/key-store.ts";
import type { Idempotency, PageRequest } from "../api.ts";
import type { Audited } from "./audited-call.ts";
import { type Done, KEY_REUSED, notFound } from "./authorize.ts";
import type { TenantContext } from "./context.ts";
import { toQueued } from "./hand-off.ts";
import { endpointOf } from "./peers.ts";
import { endpointSubject, isWanted, wantedTypes } from "./wanted-events.ts";

const REPLAY_BATCH = 100;
const MAX_REPLAYED_EVENTS = 10_000;

/** Writes a `webhook.test` event. It is handed over as every event is, after what its subject had before. */
export function testEndpoint(
  c: TenantContext,
  tenantId: string,
  id: string,
  idempotency: Idempotency,
): Done<EventView> {
  if (endpointById(c.db, id) === undefined) return notFound("webhook endpoint");
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  let event = use.kind === "replay" ? eventById(c.db, use.objectId) : undefined;
  if (event === undefined) {
    let written: EventView | undefined;
    c.storage.transactionSync(() => {
      const events = new EventAppender(c.db, tenantId, c.now());
      written = events.append("webhook.test", endpointSubject(id), { endpoint_id: id, message: "A test event." });
      bindKey(c.db, idempotency, written.id);
    });
    event = written === undefined ? undefined : eventById(c.db, written.id);
  }
  if (event === undefined) throw new Error("a test event that was just written is not there");
  return { ok: true, value: toEventView(event), created: use.kind === "fresh", replayed: use.kind === "replay" };
}

/** Hands the events after a sequence, or since a moment, to the endpoint once more: same ids, same bytes. */
export async function replayEvents(
  c: TenantContext,
  id: string,
  from: { readonly afterSequence: number } | { readonly since: number },
  idempotency: Idempotency,
  audit: Audited,
): Promise<Done<{ from_sequence: number; to_sequence: number }>> {
  const row = endpointById(c.db, id);
  if (row === undefined) return notFound("webhook endpoint");
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  const after = "since" in from ? sequenceBefore(c.db, from.since) : from.afterSequence;
  // What was not handed over yet goes out anyway, in its order, and must not be overtaken by its own replay.
  const bound = use.kind === "replay" ? Number(use.objectId) : row.handedTo;
  const wanted = eventsAfter(c.db, { after, types: wantedTypes(row), upTo: bound }, MAX_REPLAYED_EVENTS);
  if (wanted.length === MAX_REPLAYED_EVENTS) {
    return refuse("invalid_range", `A replay covers at most ${MAX_REPLAYED_EVENTS} events; start from a later point.`);
  }
  const range = { from_sequence: Math.min(after + 1, bound), to_sequence: bound };
  if (use.kind === "replay") return { ok: true, value: range, replayed: true };
  audit.begun();
  const own = wanted.filter((event) => isWanted(row, event));
  for (let i = 0; i < own.length; i += REPLAY_BATCH) {
    const batch = own.slice(i, i + REPLAY_BATCH).map((event) => toQueued(event, row.apiVersion));
    await endpointOf(c.env, id).enqueue(batch, { replay: true });
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

/** The event of one delivery once more, at its place in its subject. */
export async function resendDelivery(
  c: TenantContext,
  id: string,
  deliveryId: string,
  idempotency: Idempotency,
  audit: Audited,
): Promise<Done<DeliveryView>> {
  if (endpointById(c.db, id) === undefined) return notFound("webhook endpoint");
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  const endpoint = endpointOf(c.env, id);
  if (use.kind === "replay") {
    const known = await endpoint.delivery(use.objectId);
    return known.ok ? { ...known, replayed: true } : known;
  }
  audit.begun();
  const sent = await endpoint.resend(deliveryId);
  if (!sent.ok) return sent;
  if (useOfKey(c.db, idempotency).kind === "fresh") bindKey(c.db, idempotency, sent.value.id);
  return { ...sent, created: true };
}
