/**
 * The local sandbox: calls that a developer's own chain, provider and receiver are played with. They are answered by
 * the process behind a binding that nothing but a local start has; a Worker without it has none of these paths.
 *
 * Who calls is decided here, by the tenant's object; what a call may do, and within which bounds, is decided there.
 */

import type { Context } from "hono";
import { REFUSALS, type Refusal } from "../../core/refusal.ts";
import { problem } from "../problem.ts";
import type { App, HttpEnv, Sandbox, TenantEnv } from "../services.ts";
import { signIn } from "../sign-in.ts";
import { authenticate, requireJson } from "../stages.ts";

const GETS = ["", "/deliveries"] as const;
const POSTS = ["/pay", "/mine", "/reorg", "/rpc", "/receiver", "/receiver/keys", "/fees"] as const;
const TENANT_HEADER = "x-sluice-tenant";

const OUT_OF_REACH: Refusal = { code: "store_unavailable", detail: "The sandbox is out of reach. Try again." };

export function sandboxRoutes(app: App, sandbox: Sandbox): void {
  // A browser that follows the link of this start has no key: the code in the link is what lets it in.
  app.get("/sandbox/enter", async (c) => {
    const code = c.req.query("code") ?? "";
    const answer = await sandbox(new Request(`http://sandbox/enter?code=${encodeURIComponent(code)}`));
    if (!answer.ok) return refused(c, answer);
    const { key } = (await answer.json()) as { key: string };
    const refusal = await signIn(c, key);
    return refusal === null ? c.redirect("/?entered", 303) : problem(c, refusal, null);
  });
  for (const path of GETS) app.get(`/sandbox${path}`, authenticate, (c) => forward(c, sandbox, path));
  for (const path of POSTS) app.post(`/sandbox${path}`, authenticate, requireJson, (c) => forward(c, sandbox, path));
}

async function forward(c: Context<TenantEnv>, sandbox: Sandbox, path: string): Promise<Response> {
  const caller = await c.var.tenant.getTenant(c.var.caller);
  if (!caller.ok) return problem(c, caller.refusal, caller.rate);
  const { search } = new URL(c.req.url);
  const headers = { [TENANT_HEADER]: caller.value.id, "content-type": "application/json" };
  const { method } = c.req;
  const body = method === "POST" ? await c.req.text() : null;
  const url = `http://sandbox${path === "" ? "/" : path}${search}`;
  // HEAD is answered as GET is: what sends it takes the body off.
  const answer = await sandbox(new Request(url, { method: method === "HEAD" ? "GET" : method, headers, body }));
  if (!answer.ok) return refused(c, answer);
  if (answer.status === 204) return c.body(null, 204);
  return new Response(answer.body, { status: 200, headers: { "content-type": "application/json" } });
}

/** Its refusals are the API's own; anything else is a fault of the sandbox. */
async function refused<E extends HttpEnv>(c: Context<E>, answer: Response): Promise<Response> {
  const refusal = readRefusal(await answer.text());
  return problem(c, refusal ?? OUT_OF_REACH, null);
}

function readRefusal(text: string): Refusal | null {
  try {
    const refusal = JSON.parse(text) as Refusal;
    return refusal.code in REFUSALS && typeof refusal.detail === "string" ? refusal : null;
  } catch {
    return null;
  }
}
