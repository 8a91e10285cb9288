/** Signs a browser in: a session of the key, its token in the cookie of the answer and nowhere else. */

import type { Context } from "hono";
import { readApiKey } from "../core/api-key.ts";
import type { Refusal } from "../core/refusal.ts";
import { mintSessionToken } from "../core/session-token.ts";
import type { SessionView } from "../core/views.ts";
import type { Answer, KeyCaller } from "../objects/api.ts";
import { UNAUTHORIZED } from "./problem.ts";
import type { HttpEnv } from "./services.ts";
import { setSessionCookie } from "./session-cookie.ts";
import { clientOf } from "./stages.ts";

export async function openSession<E extends HttpEnv>(c: Context<E>, caller: KeyCaller): Promise<Answer<SessionView>> {
  const { services } = c.var;
  const { secret, hash } = mintSessionToken(caller.tenantId, services.random(20), services.settings.keyPepper);
  const answer = await services.tenant(caller.tenantId).createSession(caller, hash);
  if (answer.ok) {
    const leftMs = Date.parse(answer.value.expires_at) - services.now();
    setSessionCookie(c, secret, Math.max(0, Math.ceil(leftMs / 1_000)));
  }
  return answer;
}

/** With a key that the service itself hands over, as the link of a local start does. @returns why not; null: it is signed in */
export async function signIn(c: Context<HttpEnv>, secret: string): Promise<Refusal | null> {
  const { services, requestId } = c.var;
  const key = readApiKey(secret, services.settings.keyPepper);
  if (key === null) return UNAUTHORIZED;
  const answer = await openSession(c, { tenantId: key.tenantId, keyHash: key.hash, requestId, client: clientOf(c) });
  return answer.ok ? null : answer.refusal;
}
