/** API keys. The edge makes the secret and shows it once; the object only ever gets its hash. */

import { createRoute } from "@hono/zod-openapi";
import { mintApiKey } from "../../core/api-key.ts";
import { newId } from "../../core/ids.ts";
import type { ApiKeyView } from "../../core/views.ts";
import type { Answer, Caller } from "../../objects/api.ts";
import { ApiKey, ApiKeyPage, NewApiKeyBody } from "../../schema/api-key.ts";
import { EXAMPLE } from "../../schema/examples.ts";
import { idOf, Overlap } from "../../schema/fields.ts";
import { NoQuery, PageQuery } from "../../schema/page.ts";
import { send, sendGone } from "../answers.ts";
import { body, json, keyed, keyedAction, keyedPost, mayRefuse, needs, optionalBody, problems } from "../calls.ts";
import { filterAndPage } from "../pages.ts";
import { problem } from "../problem.ts";
import type { App, Services } from "../services.ts";
import { idempotencyOf } from "../stages.ts";

const NEW_KEY = { secret: EXAMPLE.secret };

const createKey = createRoute({
  method: "post",
  path: "/v1/api-keys",
  operationId: "createApiKey",
  tags: ["API keys"],
  summary: "Make a key",
  description:
    "Makes a further key of the tenant. The secret is in this answer and never again; only a hash of it is " +
    "kept. A repeat with the same Idempotency-Key makes no second key and shows no secret: when the first " +
    "answer was lost, revoke the key and make another.",
  ...needs("admin"),
  ...mayRefuse("idempotency_key_reused"),
  ...keyedPost,
  request: { query: NoQuery, body: body(NewApiKeyBody) },
  responses: {
    201: json(ApiKey, "The key with its secret", NEW_KEY),
    ...problems(400, 401, 403, 413, 415, 422, 429, 500, 503),
  },
});

const listKeys = createRoute({
  method: "get",
  path: "/v1/api-keys",
  operationId: "listApiKeys",
  tags: ["API keys"],
  summary: "List keys, newest first",
  description: "Every key that was ever made, revoked and ended ones included, without secrets.",
  ...needs("admin"),
  ...keyed,
  request: { query: PageQuery },
  responses: { 200: json(ApiKeyPage, "Keys without secrets"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

const revokeKey = createRoute({
  method: "delete",
  path: "/v1/api-keys/{id}",
  operationId: "revokeApiKey",
  tags: ["API keys"],
  summary: "Revoke a key, at once",
  description:
    "The key is refused from the next request on. It stays in the list. Revoking it again changes nothing. A " +
    "key may revoke itself.",
  ...needs("admin"),
  ...keyed,
  request: { query: NoQuery, params: idOf("key") },
  responses: { 204: { description: "Revoked" }, ...problems(401, 403, 404, 422, 429, 500, 503) },
});

const rotateKey = createRoute({
  method: "post",
  path: "/v1/api-keys/{id}/rotate",
  operationId: "rotateApiKey",
  tags: ["API keys"],
  summary: "Replace a key",
  description:
    "Makes a new key with the same name, scopes and expiry. The old one ends after the overlap, or when it " +
    "would have ended anyway if that is sooner. The new key counts as the same hand: it cannot approve what " +
    "the old one asked for. A repeat with the same Idempotency-Key makes no second key and shows no secret.",
  ...needs("admin"),
  ...mayRefuse("state_conflict", "idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, params: idOf("key"), body: optionalBody(Overlap) },
  responses: {
    201: json(ApiKey, "The new key with its secret", NEW_KEY),
    ...problems(400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503),
  },
});

export function apiKeyRoutes(app: App): void {
  app.openapi(createKey, async (c) => {
    const { services, caller, tenant } = c.var;
    const { name, scopes, expires_at: expiresAt } = c.req.valid("json");
    if (expiresAt !== null && expiresAt <= services.now()) {
      const errors = [{ path: "expires_at", message: "expected a time in the future" }];
      return problem(c, { code: "invalid_fields", detail: "The body has fields that do not fit.", errors }, null);
    }
    const { id, hash, secret } = mintKey(services, caller);
    // The scopes are a set: their order means nothing.
    const idempotency = idempotencyOf(c, { name, scopes: scopes.toSorted(), expiresAt });
    const answer = await tenant.createApiKey(caller, { id, hash, name, scopes, expiresAt }, idempotency);
    return send(c, withSecret(answer, id, secret), 201);
  });

  app.openapi(listKeys, async (c) =>
    send(c, await c.var.tenant.listApiKeys(c.var.caller, filterAndPage(c.req.valid("query")).page), 200),
  );

  app.openapi(revokeKey, async (c) =>
    sendGone(c, await c.var.tenant.revokeApiKey(c.var.caller, c.req.valid("param").id)),
  );

  app.openapi(rotateKey, async (c) => {
    const { services, caller, tenant } = c.var;
    const overlap = c.req.valid("json");
    const { id, hash, secret } = mintKey(services, caller);
    const old = c.req.valid("param").id;
    const idempotency = idempotencyOf(c, overlap);
    const answer = await tenant.rotateApiKey(caller, old, { id, hash }, overlap.overlap_seconds, idempotency);
    return send(c, withSecret(answer, id, secret), 201);
  });
}

function mintKey(services: Services, caller: Caller): { id: string; hash: string; secret: string } {
  const minted = mintApiKey(caller.tenantId, services.random(20), services.settings.keyPepper);
  return { id: newId("key", services.random(16)), ...minted };
}

/** Adds the secret only if the key that stands is the one made in this very request: a replay has another id. */
function withSecret(answer: Answer<ApiKeyView>, id: string, secret: string): Answer<ApiKeyView> {
  return answer.ok && answer.value.id === id ? { ...answer, value: { ...answer.value, secret } } : answer;
}
