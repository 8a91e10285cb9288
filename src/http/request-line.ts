/**
 * One line of the log for each request: who asked for what, and what came of it. The path is the route's pattern, so
 * that no id is in it and lines of one call can be counted; nothing of header, query or body is in it either.
 */

import type { Context } from "hono";
import { matchedRoutes } from "hono/route";
import { log } from "../log.ts";
import type { Caller } from "../objects/api.ts";
import type { HttpEnv } from "./services.ts";
import { clientOf } from "./stages.ts";

/** Asked for every few seconds by what watches the service: only what fails is worth a line. */
const WATCHED = ["/healthz", "/metrics"];

/** @param startedAt unix ms. On Cloudflare the clock stands still between calls that go out: it counts the waiting */
export function logRequest(c: Context<HttpEnv>, startedAt: number): void {
  const { status } = c.res;
  const route = routeOf(c);
  if (status < 400 && WATCHED.includes(route ?? "")) return;
  const caller: Caller | undefined = (c.var as { caller?: Caller }).caller;
  log(status >= 500 ? "warn" : "info", "request", {
    request_id: c.var.requestId,
    tenant: caller?.tenantId,
    key_id: c.var.keyId,
    via: caller === undefined ? undefined : "sessionHash" in caller ? "session" : "api_key",
    method: c.req.method,
    route,
    status,
    duration_ms: c.var.services.now() - startedAt,
    client: clientOf(c).address,
  });
}

/** null: there is no such path. */
function routeOf(c: Context): string | null {
  const method = c.req.method === "HEAD" ? "GET" : c.req.method;
  const matched = matchedRoutes(c).filter(({ path }) => path !== "/*");
  return (matched.find((route) => route.method === method) ?? matched[0])?.path ?? null;
}
