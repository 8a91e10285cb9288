/**
 * Sign-up and the caller's own tenant.
 *
 * Sign-up is the one call without a key: D1 gets its rows first, then the object. The first hash that
 * reaches the object is the key's, so a repeated sign-up shows a secret only after it opened the door.
 */

import { createRoute } from "@hono/zod-openapi";
import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import { mintApiKey } from "../../core/api-key.ts";
import { newId } from "../../core/ids.ts";
import type { Refusal } from "../../core/refusal.ts";
import type { Idempotency } from "../../objects/api.ts";
import { NoQuery } from "../../schema/page.ts";
import { SignedUp, SignUpBody, Tenant } from "../../schema/tenant.ts";
import { send } from "../answers.ts";
import { body, json, keyed, mayRefuse, needs, openPost, problems } from "../calls.ts";
import { problem } from "../problem.ts";
import type { App, Services } from "../services.ts";
import { clientOf, idempotencyOf } from "../stages.ts";

const signUp = createRoute({
  method: "post",
  path: "/v1/tenants",
  operationId: "signUp",
  tags: ["Tenants"],
  summary: "Sign up",
  description:
    "Makes a tenant and its first API key, with the scope admin. The secret is shown in this answer and never " +
    "again. Rate limited per client address. Repeated with the same Idempotency-Key it is the same tenant and " +
    "the same key; the secret is in the answer only until the first one that showed it has opened the door.",
  ...mayRefuse("forbidden", "rate_limited", "idempotency_key_reused"),
  ...openPost,
  request: { query: NoQuery, body: body(SignUpBody) },
  responses: { 201: json(SignedUp, "The tenant and its key"), ...problems(400, 403, 413, 415, 422, 429, 500, 503) },
});

const getTenant = createRoute({
  method: "get",
  path: "/v1/tenant",
  operationId: "getTenant",
  tags: ["Tenants"],
  summary: "The caller's tenant",
  description: "Names the tenant that the key belongs to. A cheap way to see whether a key holds.",
  ...needs("read"),
  ...keyed,
  request: { query: NoQuery },
  responses: { 200: json(Tenant, "The tenant"), ...problems(401, 403, 422, 429, 500, 503) },
});

const RATE_LIMITED: Refusal = {
  code: "rate_limited",
  detail: "Too many sign-ups from this address. Wait a minute.",
  retryAfterS: 60,
};
const KEY_REUSED: Refusal = {
  code: "idempotency_key_reused",
  detail: "This Idempotency-Key was sent before with another sign-up.",
};

export function tenantRoutes(app: App): void {
  app.openapi(signUp, async (c) => {
    const { services } = c.var;
    // Set by Cloudflare; absent in local work, where all clients are one.
    const client = c.req.header("cf-connecting-ip") ?? "local";
    if (services.signUpLimit !== null && !(await services.signUpLimit(client))) return problem(c, RATE_LIMITED, null);

    const { name, email } = c.req.valid("json");
    const idempotency = idempotencyOf(c, { name, email });
    const ids = await signUpIds(services, client, idempotency);
    if (ids === null) return problem(c, KEY_REUSED, null);

    const now = services.now();
    const { tenantId, keyId } = ids;
    const { secret, hash } = mintApiKey(tenantId, services.random(20), services.settings.keyPepper);
    const tenant = { id: tenantId, name, email };
    const key = { id: keyId, hash, scopes: ["admin"] as const };
    await services.store.insertTenant({ ...tenant, createdAt: now }, { ...key, createdAt: now });
    const object = services.tenant(tenantId);
    const made = await object.signUp({ tenant, key, now, requestId: c.var.requestId, client: clientOf(c) });

    const caller = { tenantId, keyHash: hash, requestId: c.var.requestId };
    const opens = idempotency === null || (await object.getTenant(caller)).ok;
    if (!opens) c.header("Idempotent-Replayed", "true");
    return c.json({ tenant: made.tenant, api_key: opens ? { ...made.key, secret } : made.key }, 201);
  });

  app.openapi(getTenant, async (c) => send(c, await c.var.tenant.getTenant(c.var.caller), 200));
}

/** Fresh ids, or those that an earlier request with this client's idempotency key got; null: it meant something else. */
async function signUpIds(
  services: Services,
  client: string,
  idempotency: Idempotency,
): Promise<{ tenantId: string; keyId: string } | null> {
  const fresh = { tenantId: newId("ten", services.random(16)), keyId: newId("key", services.random(16)) };
  if (idempotency === null) return fresh;
  const scopeHash = bytesToHex(sha256(utf8ToBytes(`${client}\n${idempotency.key}`)));
  const claim = await services.store.claimSignUp({
    scopeHash,
    fingerprint: idempotency.fingerprint,
    ...fresh,
    now: services.now(),
  });
  switch (claim.kind) {
    case "claimed":
      return fresh;
    case "known":
      return { tenantId: claim.tenantId, keyId: claim.keyId };
    case "other_request":
      return null;
  }
}
