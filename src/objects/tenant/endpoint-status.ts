/**
 * Whether an endpoint is enabled: its own object decides, and the tenant hears of it, in an answer or by being told,
 * perhaps twice and perhaps late. Each time an endpoint is disabled is one event, in the commit that shows it.
 */

import type { EndpointView } from "../../core/views.ts";
import { endpointById, toEndpointView, updateEndpoint } from "../../store/tenant/endpoint-store.ts";
import { EventAppender } from "../../store/tenant/event-store.ts";
import { bindKey, useOfKey } from "../../store/tenant/key-store.ts";
import { markTold, wasTold } from "../../store/tenant/notice-store.ts";
import type { EndpointState, Idempotency } from "../api.ts";
import type { Audited } from "./audited-call.ts";
import { type Done, KEY_REUSED, notFound } from "./authorize.ts";
import type { TenantContext } from "./context.ts";
import { recordEndpoint } from "./incidents/endpoint.ts";
import { endpointOf } from "./peers.ts";
import { endpointSubject } from "./wanted-events.ts";

/** Enabling an enabled endpoint changes nothing. What waited meanwhile goes out, in order. */
export async function enableEndpoint(
  c: TenantContext,
  tenantId: string,
  id: string,
  idempotency: Idempotency,
  audit: Audited,
): Promise<Done<EndpointView>> {
  return once(c, tenantId, id, idempotency, audit, async () => {
    const { before, state } = await endpointOf(c.env, id).enable();
    // Nothing else tells of it any more, should the endpoint not have been heard before.
    hearEndpoint(c, tenantId, id, before);
    return state;
  });
}

/** Disabling a disabled endpoint changes nothing, its reason least of all. */
export async function disableEndpoint(
  c: TenantContext,
  tenantId: string,
  id: string,
  idempotency: Idempotency,
  audit: Audited,
): Promise<Done<EndpointView>> {
  return once(c, tenantId, id, idempotency, audit, () => endpointOf(c.env, id).disable());
}

/** A repeat that arrives late must not undo what was done after it was first answered. */
async function once(
  c: TenantContext,
  tenantId: string,
  id: string,
  idempotency: Idempotency,
  audit: Audited,
  act: () => Promise<EndpointState>,
): Promise<Done<EndpointView>> {
  const row = endpointById(c.db, id);
  if (row === undefined) return notFound("webhook endpoint");
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  if (use.kind === "replay") return { ok: true, value: toEndpointView(row), replayed: true };
  audit.begun();
  hearEndpoint(c, tenantId, id, await act());
  if (useOfKey(c.db, idempotency).kind === "fresh") bindKey(c.db, idempotency, id);
  const now = endpointById(c.db, id);
  return now === undefined ? notFound("webhook endpoint") : { ok: true, value: toEndpointView(now) };
}

/** Older news than what is known change no row; that the endpoint was disabled is told all the same. */
export function hearEndpoint(c: TenantContext, tenantId: string, id: string, state: EndpointState): void {
  const row = endpointById(c.db, id);
  if (row === undefined) return;
  const { revision, status, disabledReason, disabledAt, publicKey } = state;
  const news = { revision, status, disabledReason, disabledAt, publicKey };
  const isNewer = revision > row.revision;
  const notice = disabledAt === null ? null : `${id}/${disabledAt}`;
  const isUntold = notice !== null && !wasTold(c.db, notice, "endpoint.disabled");
  if (!isNewer && !isUntold) return;
  c.storage.transactionSync(() => {
    const events = new EventAppender(c.db, tenantId, c.now());
    if (isNewer) {
      updateEndpoint(c.db, id, news);
      recordEndpoint(c, events, tenantId, { ...row, ...news }, state.failingSince);
    }
    if (!isUntold) return;
    const event = events.append("endpoint.disabled", endpointSubject(id), toEndpointView({ ...row, ...news }));
    markTold(c.db, notice, "endpoint.disabled", event.id);
  });
}
