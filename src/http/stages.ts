/**
 * What a request passes before its route: the key or the session, the idempotency key, the body. Each stage lets it
 * on or answers with a problem; nothing here asks anybody else, so a forged key or cookie costs no I/O.
 */

import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { readApiKey } from "../core/api-key.ts";
import { clientAddressShown, userAgentShown } from "../core/audit-entry.ts";
import { equalInConstantTime } from "../core/keyed-token.ts";
import type { Refusal } from "../core/refusal.ts";
import { readSessionToken } from "../core/session-token.ts";
import type { Caller, Client, Idempotency, KeyCaller, SessionCaller } from "../objects/api.ts";
import { IDEMPOTENCY_KEY } from "../schema/fields.ts";
import { fingerprint } from "./fingerprint.ts";
import { isOfUnprovenName } from "./page-origin.ts";
import { problem, UNAUTHORIZED } from "./problem.ts";
import type { HttpEnv, KeyedOnceEnv, TenantEnv } from "./services.ts";
import { isOfOwnOrigin, sessionCookie } from "./session-cookie.ts";
import { readStrictJson } from "./strict-json.ts";

/** By its key, or by the session's cookie where it names none: what a program says itself goes before what a browser adds. */
export const authenticate = authenticating<Caller>((c) => (hasAuthorization(c) ? keyCaller(c) : sessionCaller(c)));
/** By its key alone: a session makes no session. */
export const authenticateByKey = authenticating<KeyCaller>(keyCaller);
/** By its session alone: there is nothing here that a key has. */
export const authenticateBySession = authenticating<SessionCaller>((c) =>
  hasAuthorization(c) ? null : sessionCaller(c),
);

const FOREIGN_ORIGIN: Refusal = {
  code: "forbidden",
  detail: "A session changes things from the service's own pages alone: send its own Origin, or an API key.",
};

/**
 * Names the tenant from the token itself. Whether it still holds, and what it may do, the tenant's object decides.
 *
 * A browser adds the cookie to what pages of other ports of this host send as well: they count as the same site. So a
 * session's change needs the Origin, which no page can choose, to be the service's own.
 */
function authenticating<C extends Caller>(callerOf: (c: Context<TenantEnv<C>>) => C | null) {
  return createMiddleware<TenantEnv<C>>(async (c, next) => {
    const caller = callerOf(c);
    if (caller === null) return problem(c, UNAUTHORIZED, null);
    if ("sessionHash" in caller && changes(c.req.method) && !isOfOwnOrigin(c)) return problem(c, FOREIGN_ORIGIN, null);
    c.set("caller", caller);
    c.set("tenant", c.var.services.tenant(caller.tenantId));
    return next();
  });
}

function changes(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}

/** Also one that names no key: it asks for a key to be looked at, and not for the cookie. */
function hasAuthorization(c: Context): boolean {
  return c.req.header("authorization") !== undefined;
}

function keyCaller<E extends HttpEnv>(c: Context<E>): KeyCaller | null {
  const { services, requestId }: HttpEnv["Variables"] = c.var;
  const text = bearerToken(c);
  const key = text === null ? null : readApiKey(text, services.settings.keyPepper);
  return key === null ? null : { tenantId: key.tenantId, keyHash: key.hash, requestId, client: clientOf(c) };
}

function sessionCaller<E extends HttpEnv>(c: Context<E>): SessionCaller | null {
  const { services, requestId }: HttpEnv["Variables"] = c.var;
  const text = sessionCookie(c);
  const session = text === null ? null : readSessionToken(text, services.settings.keyPepper);
  if (session === null) return null;
  return { tenantId: session.tenantId, sessionHash: session.hash, requestId, client: clientOf(c) };
}

/**
 * Cloudflare sets this header on every request, whatever the client sent. The local server sets it to the address that it
 * was called from where there is none: there it is the client's word, or that of a proxy before it. X-Forwarded-For is
 * anybody's own words everywhere, and is not read.
 */
export function clientOf(c: Context): Client {
  const address = clientAddressShown(c.req.header("cf-connecting-ip") ?? null);
  return { address, userAgent: userAgentShown(c.req.header("user-agent") ?? null) };
}

const UNPROVEN_NAME: Refusal = {
  code: "forbidden",
  detail:
    "A page signs up over https, at localhost or at an IP address: over http, any site can lead its own name here.",
};

/**
 * Signing up takes no key, so a service that is reached from inside alone is guarded by the browser only: by whose page
 * it is. Over http a site can point its own name at this machine once its page is loaded, and the page is then of the
 * service's own origin. What such a page sends says so in its Origin.
 */
export const fromProvenName = createMiddleware<HttpEnv>(async (c, next) => {
  const origin = c.req.header("origin");
  return origin === undefined || !isOfUnprovenName(origin) ? next() : problem(c, UNPROVEN_NAME, null);
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
 * Puts the checked text in the place of the body, so that whatever reads it next reads what was checked, and nobody reads
 * it a second time from the wire.
 */
function jsonBody(body: "required" | "optional") {
  return createMiddleware<HttpEnv>(async (c, next) => {
    const read = await readStrictJson(c.req.raw, body);
    if (!read.ok) return problem(c, read.refusal, null);
    if (c.req.raw.headers.has("content-type")) {
      // Where hono keeps what it has read, each as a promise.
      c.req.bodyCache = { text: Promise.resolve(read.text) as unknown as string };
    } else {
      const headers = new Headers(c.req.raw.headers);
      headers.set("content-type", "application/json");
      c.req.raw = new Request(c.req.raw, { body: read.text, headers });
    }
    return next();
  });
}
