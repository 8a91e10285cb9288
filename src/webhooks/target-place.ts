/**
 * Owns where the name of a target leads, by every address it has now. Asked at registration and again at every
 * attempt, where the operator has set a resolver.
 *
 * Fails closed: one address that is not public refuses the target, however many good ones stand beside it, and
 * no whole answer is no permission. A Worker cannot pin the connection to an address that was checked; what
 * changes in between is met by egress that has no route inside.
 */

import { addressScope } from "./ip-address.ts";
import { lookUp, type Send } from "./resolver.ts";
import { isLocalHost, type TargetPolicy } from "./target.ts";

export interface PlacePolicy extends TargetPolicy {
  /** URL of a DNS-over-HTTPS resolver; null: names are not looked up. */
  readonly dnsResolver: string | null;
}

export function placePolicy(settings: {
  readonly allowLocalWebhooks: boolean;
  readonly dnsResolver: string | null;
}): PlacePolicy {
  return { allowLocal: settings.allowLocalWebhooks, dnsResolver: settings.dnsResolver };
}

export type PlaceCheck =
  | { readonly ok: true }
  /**
   * `unresolved`: there was no answer, and the same question may have one later. `detail` is one sentence for the
   * merchant's developer.
   */
  | { readonly ok: false; readonly reason: "inside_address" | "no_address" | "unresolved"; readonly detail: string };

/** @param url one that `checkTarget` lets pass */
export async function checkPlace(url: URL, policy: PlacePolicy, send: Send, deadlineMs?: number): Promise<PlaceCheck> {
  if (policy.dnsResolver === null || isLocalHost(url, policy)) return { ok: true };
  const name = url.hostname;
  const { addresses, failure } = await lookUp(name, policy.dnsResolver, send, deadlineMs);
  const inside = addresses.find((address) => !mayBeReached(address, policy));
  if (inside !== undefined) {
    return no("inside_address", `"${name}" has the address ${inside}, which is not on the public internet.`);
  }
  if (failure !== null) return no("unresolved", `"${name}" could not be looked up: ${failure}.`);
  return addresses.length > 0 ? { ok: true } : no("no_address", `"${name}" has no address in the DNS.`);
}

function mayBeReached(address: string, policy: TargetPolicy): boolean {
  const scope = addressScope(address);
  return scope === "public" || (policy.allowLocal && scope === "loopback");
}

function no(reason: "inside_address" | "no_address" | "unresolved", detail: string): PlaceCheck {
  return { ok: false, reason, detail };
}
