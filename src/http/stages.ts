/**
 * What a request passes before its route: the key, the idempotency key, the body. Each stage lets it
 * on or answers with a problem; nothing here asks anybody else, so a forged key costs no I/O.
 */

import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { equalInConstantTime, readApiKey } from "../core/api-key.ts";
import type { Refusal } from "../core/refusal.ts";
import type { Idempotency } from "../objects/api.ts";
import { IDEMPOTENCY_KEY } from "../schema/fields.ts";
import { fingerprint } from "./fingerprint.ts";
import { problem, UNAUTHORIZED } from "./problem.ts";
import type { HttpEnv, KeyedOnceEnv, TenantEnv } from "./services.ts";
import { readStrictJson } from "./strict-json.ts";

/** Names the tenant from the key itself. Whether the key still holds, and what it may do, its object decides. */
export const authenticate = createMiddleware<TenantEnv>(async (c, next) => {
  const { services, requestId } = c.var;
  const text = bearerToken(c);
  const key = text === null ? null : readApiKey(text, services.settings.keyPepper);
  if (key === null) return problem(c, UNAUTHORIZED, null);
  c.set("caller", { tenantId: key.tenantId, keyHash: key.hash, requestId });
  c.set("tenant", services.tenant(key.tenantId));
  return next();
});

/** The operator's own token, for what concerns no tenant. */
export const operatorOnly = createMiddleware<HttpEnv>(async (c, next) => {
  const given = bearerToken(c);
  // Hashes have one length, so the comparison does not tell the token's.
  const equal = given !== null && equalInConstantTime(digest(given), digest(c.var.services.settings.operatorToken));
  return equal ? next() : problem(c, UNAUTHORIZED, null);
});

function digest(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/**
 * RFC 6750; the scheme's case does not count (RFC 9110, 11.1). Two header lines arrive as one, joined by
 * ", ": no key and no token is equal to that.
 */
function bearerToken(c: Context): string | null {
  return /^Bearer (.+)$/i.exec(c.req.header("authorization") ?? "")?.[1] ?? null;
}

const BAD_IDEMPOTENCY_KEY: Refusal = {
  code: "invalid_idempotency_key",
  detail: "An Idempotency-Key has 1 to 255 printable ASCII characters and neither begins nor ends with a space.",
};

/**
 * Two header lines arrive joined by ", ": they cannot be told from one key that has a comma, and the same
 * two lines give the same key, so they are taken as that one.
 */
export const checkIdempotencyKey = createMiddleware<HttpEnv>(async (c, next) => {
  const key = c.req.header("idempotency-key");
  return key === undefined || IDEMPOTENCY_KEY.test(key) ? next() : problem(c, BAD_IDEMPOTENCY_KEY, null);
});

const NO_IDEMPOTENCY_KEY: Refusal = {
  code: "idempotency_key_missing",
  detail: "Send an Idempotency-Key, and the same one with every repetition: it is what keeps you from paying twice.",
};

/** For calls that must never be done twice. Behind it every request has a key that fits. */
export const requireIdempotencyKey = createMiddleware<KeyedOnceEnv>(async (c, next) => {
  const key = c.req.header("idempotency-key");
  if (key === undefined) return problem(c, NO_IDEMPOTENCY_KEY, null);
  if (!IDEMPOTENCY_KEY.test(key)) return problem(c, BAD_IDEMPOTENCY_KEY, null);
  c.set("idempotencyKey", key);
  return next();
});

/** The key with the fingerprint of what the request means. `body`: as parsed, defaults filled in. */
export function idempotencyOf<E extends HttpEnv>(c: Context<E>, body: unknown): Idempotency {
  const key = c.req.header("idempotency-key");
  if (key === undefined) return null;
  return { key, fingerprint: fingerprint({ method: c.req.method, path: c.req.path, body }) };
}

export const requireJson = jsonBody("required");
export const allowJson = jsonBody("optional");

/**
 * Puts the checked text in the place of the body, so that whatever reads it next reads what was checked.
 */
function jsonBody(body: "required" | "optional") {
  return createMiddleware<HttpEnv>(async (c, next) => {
    const read = await readStrictJson(c.req.raw, body);
    if (!read.ok) return problem(c, read.refusal, null);
    const headers = new Headers(c.req.raw.headers);
    headers.set("content-type", "application/json");
    c.req.raw = new Request(c.req.raw, { body: read.text, headers });
    return next();
  });
}
