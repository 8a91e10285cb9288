/**
 * Where a tenant may have us send something: its webhooks and its signers' requests. The form of the URL is
 * judged first, and costs nothing; then where its name leads.
 */

import { type Refusal, refuse } from "../../core/refusal.ts";
import { checkTarget } from "../../webhooks/target.ts";
import { checkPlace, type PlaceCheck, placePolicy } from "../../webhooks/target-place.ts";
import type { TenantContext } from "./context.ts";

/** Resolvers come back soon, and a name that is being mended takes longer than anybody waits. */
const RETRY_AFTER_S = 5;

/** Asks the resolver, where there is one: whatever was read before has to be read again. */
export function placeOf(c: TenantContext, url: URL): Promise<PlaceCheck> {
  return checkPlace(url, placePolicy(c.settings), (to, init) => fetch(to, init));
}

/** @returns null when webhooks may go there now */
export async function refusedTarget(c: TenantContext, url: string): Promise<{ ok: false; refusal: Refusal } | null> {
  const target = checkTarget(url, placePolicy(c.settings));
  if (!target.ok) return refused(target.detail);
  const place = await placeOf(c, target.url);
  if (place.ok) return null;
  if (place.reason !== "unresolved") return refused(place.detail);
  return refuse("store_unavailable", `The target is not known to be outside: ${place.detail} Try again.`, {
    retryAfterS: RETRY_AFTER_S,
  });
}

function refused(detail: string): { ok: false; refusal: Refusal } {
  return refuse("invalid_webhook_target", `The target is refused: ${detail}`, {
    errors: [{ path: "url", message: detail }],
  });
}
