/** Signs a browser in with an API key that the service itself hands over, as the link of a local start does. */

import type { Context } from "hono";
import { readApiKey } from "../core/api-key.ts";
import type { Refusal } from "../core/refusal.ts";
import { UNAUTHORIZED } from "./problem.ts";
import type { HttpEnv } from "./services.ts";

/** @returns why not; null: the browser is signed in by the answer's headers */
export async function signIn(c: Context<HttpEnv>, secret: string): Promise<Refusal | null> {
  const { services, requestId } = c.var;
  const key = readApiKey(secret, services.settings.keyPepper);
  if (key === null) return UNAUTHORIZED;
  const { tenantId, hash: keyHash } = key;
  const asked = await services.tenant(tenantId).getTenant({ tenantId, keyHash, requestId });
  return asked.ok ? null : asked.refusal;
}
