/**
 * Webhook endpoints as the tenant knows them: where they point, what they want, and up to which event
 * their object was handed the log. Secrets, queues and attempts belong to the endpoint's own object.
 *
 * A secret is in the answer to the request that made it, and nowhere else: not in a row here, not in a replay.
 */

import { API_VERSION } from "../../core/api-version.ts";
import { newId } from "../../core/ids.ts";
import { refuse } from "../../core/refusal.ts";
import type { EndpointView, Page } from "../../core/views.ts";
import { log } from "../../log.ts";
import { decodeCursor, toPage } from "../../store/cursor.ts";
import {
  countEndpoints,
  type EndpointRow,
  endpointById,
  endpointsToClose,
  endpointsToConfigure,
  insertEndpoint,
  listEndpoints,
  toEndpointView,
  updateEndpoint,
} from "../../store/tenant/endpoint-store.ts";
import { EventAppender, lastSequence } from "../../store/tenant/event-store.ts";
import { bindKey, useOfKey } from "../../store/tenant/key-store.ts";
import type { Idempotency, PageRequest, TenantApi } from "../api.ts";
import { soon } from "../soon.ts";
import type { Audited } from "./audited-call.ts";
import { BAD_CURSOR, type Done, KEY_REUSED, notFound } from "./authorize.ts";
import type { TenantContext } from "./context.ts";
import { hearEndpoint } from "./endpoint-status.ts";
import { endpointIsOver } from "./incidents/endpoint.ts";
import { recordSight } from "./incidents/record.ts";
import { ENDPOINT_DEADLINE_MS, endpointOf } from "./peers.ts";
import { refusedTarget } from "./targets.ts";

const MAX_ENDPOINTS = 50;
const TOO_MANY = refuse("state_conflict", `A tenant has at most ${MAX_ENDPOINTS} endpoints; delete one first.`);

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
  if (countEndpoints(c.db) >= MAX_ENDPOINTS) return TOO_MANY;

  const row = {
    id: newId("we", c.random(16)),
    url: input.url,
    events: input.events === null ? null : [...input.events],
    description: input.description,
    status: "enabled" as const,
    disabledReason: null,
    disabledAt: null,
    signature: input.signature,
    publicKey: null,
    // Pinned: a later version of the bodies is for endpoints that are created later.
    apiVersion: API_VERSION,
    revision: 0,
    handedTo: 0,
    createdAt: c.now(),
    deletedAt: null,
    closePending: 0,
    configurePending: 0,
  };
  // The object first: a row never stands for an endpoint whose secret nobody was shown.
  const { secret, state } = await endpointOf(c.env, row.id).configure(configOf(tenantId, row));
  const meanwhile = useOfKey(c.db, idempotency);
  if (meanwhile.kind !== "fresh") {
    await endpointOf(c.env, row.id).close();
    return meanwhile.kind === "other_request" ? KEY_REUSED : replayed(c, meanwhile.objectId);
  }
  if (countEndpoints(c.db) >= MAX_ENDPOINTS) {
    await endpointOf(c.env, row.id).close();
    return TOO_MANY;
  }
  const { publicKey, revision } = state;
  const made = { ...row, publicKey, revision };
  c.storage.transactionSync(() => {
    // Only what happens from now on.
    insertEndpoint(c.db, { ...made, handedTo: lastSequence(c.db) });
    bindKey(c.db, idempotency, row.id);
  });
  const view = toEndpointView(made);
  return { ok: true, value: secret === null ? view : { ...view, secret }, created: true };
}

function replayed(c: TenantContext, id: string): Done<EndpointView> {
  const row = endpointById(c.db, id);
  return row === undefined ? notFound("webhook endpoint") : { ok: true, value: toEndpointView(row), replayed: true };
}

/** @param committed called in the turn in which there is something to tell the endpoint's object */
export async function patchEndpoint(
  c: TenantContext,
  tenantId: string,
  id: string,
  patch: EndpointPatch,
  audit: Audited,
  committed: () => void,
): Promise<Done<EndpointView>> {
  const row = endpointById(c.db, id);
  if (row === undefined) return notFound("webhook endpoint");
  if (patch.url !== undefined) {
    const refused = await refusedTarget(c, patch.url);
    if (refused !== null) return refused;
    // Deleted while the target's name was looked up.
    if (endpointById(c.db, id) === undefined) return notFound("webhook endpoint");
  }
  c.storage.transactionSync(() => {
    updateEndpoint(c.db, id, changesOf(patch));
    audit.done();
  });
  const now = { ...row, ...endpointById(c.db, id) };
  if (patch.url !== undefined) {
    committed();
    await tellTarget(c, tenantId, id);
  }
  return { ok: true, value: toEndpointView(now) };
}

function changesOf(patch: EndpointPatch) {
  return {
    ...(patch.url === undefined ? {} : { url: patch.url, configurePending: 1 }),
    ...(patch.events === undefined ? {} : { events: patch.events === null ? null : [...patch.events] }),
    ...(patch.description === undefined ? {} : { description: patch.description }),
  };
}

/** Tells the objects of endpoints whose target was changed. Called again until it went through. */
export function tellTargets(c: TenantContext, tenantId: string): Promise<boolean> {
  return forEach(endpointsToConfigure(c.db), (row) => tellTarget(c, tenantId, row.id));
}

/** One after the other, each with the target as it stands then: the last call carries what the row says. */
function tellTarget(c: TenantContext, tenantId: string, id: string): Promise<void> {
  return c.turns.take(`endpoint/${id}`, async () => {
    const target = endpointById(c.db, id);
    if (target === undefined) return;
    await soon(endpointOf(c.env, id).configure(configOf(tenantId, target)), ENDPOINT_DEADLINE_MS);
    if (endpointById(c.db, id)?.url === target.url) updateEndpoint(c.db, id, { configurePending: 0 });
  });
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

export async function deleteEndpoint(
  c: TenantContext,
  tenantId: string,
  id: string,
  audit: Audited,
): Promise<Done<null>> {
  if (endpointById(c.db, id) === undefined) return notFound("webhook endpoint");
  c.storage.transactionSync(() => {
    updateEndpoint(c.db, id, { deletedAt: c.now(), closePending: 1 });
    recordSight(c, new EventAppender(c.db, tenantId, c.now()), tenantId, endpointIsOver(id));
    audit.done();
  });
  await close(c, id);
  return { ok: true, value: null };
}

/** Tells the objects of deleted endpoints. Called again until it went through. */
export function closeDeleted(c: TenantContext): Promise<boolean> {
  return forEach(endpointsToClose(c.db), (row) => close(c, row.id));
}

async function close(c: TenantContext, id: string): Promise<void> {
  await soon(endpointOf(c.env, id).close(), ENDPOINT_DEADLINE_MS);
  updateEndpoint(c.db, id, { closePending: 0 });
}

/** One whose object is broken holds up no other. @returns whether it went well for each */
async function forEach(rows: readonly EndpointRow[], tell: (row: EndpointRow) => Promise<void>): Promise<boolean> {
  let complete = true;
  for (const row of rows) {
    try {
      await tell(row);
    } catch (error) {
      complete = false;
      log("warn", "endpoint_follow_up_failed", { endpoint: row.id }, error);
    }
  }
  return complete;
}

export async function rotateSecret(
  c: TenantContext,
  tenantId: string,
  id: string,
  overlapS: number,
  idempotency: Idempotency,
  requestId: string,
  audit: Audited,
): Promise<Done<EndpointView>> {
  const row = endpointById(c.db, id);
  if (row === undefined) return notFound("webhook endpoint");
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  if (use.kind === "replay") return { ok: true, value: toEndpointView(row), replayed: true };
  audit.begun();
  const { secret, state } = await endpointOf(c.env, id).rotateSecret(overlapS, idempotency?.key ?? requestId);
  hearEndpoint(c, tenantId, id, state);
  if (useOfKey(c.db, idempotency).kind === "fresh") bindKey(c.db, idempotency, id);
  const view = toEndpointView({ ...row, ...endpointById(c.db, id) });
  return { ok: true, value: secret === null ? view : { ...view, secret } };
}

function configOf(tenantId: string, row: Pick<EndpointRow, "id" | "url" | "apiVersion" | "signature">) {
  const { id: endpointId, url, apiVersion, signature } = row;
  return { tenantId, endpointId, url, apiVersion, signature };
}
