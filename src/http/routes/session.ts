/**
 * A browser's sign-in: the API key is sent once, and a cookie takes its place. The edge makes the token and puts it
 * into Set-Cookie, and nowhere else; the object only ever gets its hash.
 */

import { createRoute } from "@hono/zod-openapi";
import { NoFields } from "../../schema/fields.ts";
import { NoQuery } from "../../schema/page.ts";
import { Session } from "../../schema/session.ts";
import { send } from "../answers.ts";
import { json, keyOnlyAction, needs, ofSession, optionalBody, problems } from "../calls.ts";
import type { App } from "../services.ts";
import { clearSessionCookie } from "../session-cookie.ts";
import { openSession } from "../sign-in.ts";

const SETS_COOKIE = { headers: { "Set-Cookie": { $ref: "#/components/headers/Set-Cookie" as const } } };

const createSession = createRoute({
  method: "post",
  path: "/v1/session",
  operationId: "createSession",
  tags: ["Sessions"],
  summary: "Sign in",
  description:
    "Exchanges an API key for a session of 12 hours. Its token is in the cookie that the answer sets and nowhere " +
    "else. Calls with the cookie are made as the key: with its scopes, counted with its requests, and refused as " +
    "soon as it is revoked or ends. A session makes no session. A repeat makes another one, with the same " +
    "Idempotency-Key too; of one key the newest 20 hold.",
  ...needs("read"),
  ...keyOnlyAction,
  request: { query: NoQuery, body: optionalBody(NoFields) },
  responses: {
    201: { ...json(Session, "Signed in; the cookie is set"), ...SETS_COOKIE },
    ...problems(400, 401, 403, 413, 415, 422, 429, 500, 503),
  },
});

const getSession = createRoute({
  method: "get",
  path: "/v1/session",
  operationId: "getSession",
  tags: ["Sessions"],
  summary: "Who is signed in",
  description: "The session that the cookie stands for. Without one that holds the answer is 401, with an API key too.",
  ...needs("read"),
  ...ofSession,
  request: { query: NoQuery },
  responses: { 200: json(Session, "The session"), ...problems(401, 403, 422, 429, 500, 503) },
});

const endSession = createRoute({
  method: "delete",
  path: "/v1/session",
  operationId: "endSession",
  tags: ["Sessions"],
  summary: "Sign out, at once",
  description:
    "The session is refused from the next call on, and the cookie is taken back. One that had ended before is " +
    "answered alike. Other sessions of the same key go on.",
  ...ofSession,
  request: { query: NoQuery },
  responses: {
    204: { description: "Signed out; the cookie is taken back", ...SETS_COOKIE },
    ...problems(401, 403, 422, 500, 503),
  },
});

export function sessionRoutes(app: App): void {
  app.openapi(createSession, async (c) => send(c, await openSession(c, c.var.caller), 201));

  app.openapi(getSession, async (c) => send(c, await c.var.tenant.getSession(c.var.caller), 200));

  app.openapi(endSession, async (c) => {
    await c.var.tenant.endSession(c.var.caller);
    clearSessionCookie(c);
    return c.body(null, 204);
  });
}
