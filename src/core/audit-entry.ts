/**
 * One entry of a tenant's audit log, and the hash that chains it to the one before. Whoever has an entry, and the
 * hash before it, computes the same hash: what was changed, taken out, put in or reordered shows.
 *
 * The text that is hashed is made of netstrings, `<bytes>:<text>,` with the length in UTF-8 bytes, and of `-` where
 * there is nothing. So no two entries have the same text, whatever stands in their fields.
 */

import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import type { AuditEntryView } from "./views.ts";

const GENESIS_DOMAIN = "sluice audit log v1";
const ENTRY_DOMAIN = "sluice audit entry v1";

/** Calls that change something, or try to. A new one belongs here: a test holds the list against the API's own. */
export const AUDITED_CALLS = [
  "signUp",
  "createApiKey",
  "revokeApiKey",
  "rotateApiKey",
  "createSession",
  "endSession",
  "createAsset",
  "createAddress",
  "deleteAddress",
  "createXpub",
  "createWithdrawal",
  "cancelWithdrawal",
  "approveWithdrawal",
  "rejectWithdrawal",
  "speedUpWithdrawal",
  "resolveWithdrawal",
  "chooseSigner",
  "resumeWallet",
  "createWebhookEndpoint",
  "updateWebhookEndpoint",
  "deleteWebhookEndpoint",
  "rotateWebhookSecret",
  "testWebhookEndpoint",
  "enableWebhookEndpoint",
  "disableWebhookEndpoint",
  "replayWebhookEvents",
  "resendWebhookDelivery",
  "createBackfill",
  "putConfirmations",
  "putWithdrawalRules",
  "runReconciliation",
] as const;
export type AuditedCall = (typeof AUDITED_CALLS)[number];

const FIELDS = [
  "created_at",
  "api_key_id",
  "via",
  "request_id",
  "call",
  "subject",
  "outcome",
  "client_address",
  "user_agent",
] as const;

/** The hash before the first entry: another one for each tenant. */
export function auditGenesis(tenantId: string): string {
  return hashOf([GENESIS_DOMAIN, tenantId]);
}

/** @param before the hash of the entry before, or the genesis; hex, lower case */
export function auditHash(before: string, entry: Omit<AuditEntryView, "hash">): string {
  return hashOf([ENTRY_DOMAIN, before, String(entry.sequence), ...FIELDS.map((field) => entry[field])]);
}

function hashOf(parts: readonly (string | null)[]): string {
  return bytesToHex(sha256(utf8ToBytes(parts.map(netstring).join(""))));
}

function netstring(text: string | null): string {
  return text === null ? "-" : `${utf8ToBytes(text).length}:${text},`;
}

const MAX_USER_AGENT_CHARS = 200;

/** What a client calls itself, in printable ASCII and no longer than is worth keeping. */
export function userAgentShown(text: string | null): string | null {
  const shown = text?.replace(/[^\x20-\x7e]/g, "?").slice(0, MAX_USER_AGENT_CHARS);
  return shown === undefined || shown === "" ? null : shown;
}

/** An IP address as the platform names it; what cannot be one is not kept. */
export function clientAddressShown(text: string | null): string | null {
  return text !== null && /^[0-9a-fA-F.:]{2,45}$/.test(text) ? text : null;
}
