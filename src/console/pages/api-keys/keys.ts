/** What scopes permit, how a key stands, and when a new one ends: pure, and told in the API's own words. */

import type { ApiKey, Scope } from "../../../sdk/types.ts";

export const SCOPES: readonly { readonly value: Scope; readonly meaning: string }[] = [
  { value: "read", meaning: "See everything, change nothing. Signing in here needs it." },
  { value: "addresses:write", meaning: "Register and derive addresses, list tokens, read past blocks again." },
  { value: "withdrawals:write", meaning: "Ask for withdrawals, which move money, and reconcile." },
  { value: "withdrawals:approve", meaning: "Approve or reject withdrawals that another key asked for." },
  { value: "webhooks:write", meaning: "Make, change and remove webhook endpoints, and send events again." },
  { value: "admin", meaning: "All of the above, and API keys, policies and signers." },
];

const DAY_MS = 86_400_000;

export type KeyStatus = "active" | "expired" | "revoked";

/** @param now unix ms */
export function keyStatus({ expires_at, revoked_at }: ApiKey, now: number): KeyStatus {
  if (revoked_at !== null) return "revoked";
  return expires_at !== null && Date.parse(expires_at) <= now ? "expired" : "active";
}

export const EXPIRIES = [
  { value: "never", label: "Never" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "at", label: "At a time" },
] as const;

/**
 * @param choice one of EXPIRIES
 * @param at local time, as the browser's field has it
 * @returns RFC 3339; null: never. undefined: the time is none
 */
export function expiryOf(choice: string, at: string, now: number): string | null | undefined {
  if (choice === "never") return null;
  const ms = choice === "at" ? Date.parse(at) : now + Number(choice) * DAY_MS;
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
