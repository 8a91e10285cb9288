/**
 * Whether an audit log is whole: no entry changed, taken out, put in or moved, and none of those that you know of
 * gone. Each entry's hash covers the one before it, so one hash that you kept vouches for everything up to it.
 *
 * What is hashed: netstrings, `<UTF-8 bytes>:<text>,`, or `-` for null, one after the other: a fixed text, the hash
 * before in hex, then the entry's fields in the order below. The service computes the same; vectors hold both to it.
 */

import type { AuditEntry } from "./types.ts";

const GENESIS_DOMAIN = "sluice audit log v1";
const ENTRY_DOMAIN = "sluice audit entry v1";

/** An entry to hold on to, outside of the service: its hash stands for all entries up to it. */
export interface AuditHead {
  /** 0: before the first entry. */
  readonly sequence: number;
  readonly hash: string;
}

export type AuditVerdict =
  /** `head`: the last entry, to be kept for the next time. */
  | { readonly ok: true; readonly head: AuditHead; readonly entries: number }
  /** `sequence`: the first place where it breaks. What comes before is whole. */
  | {
      readonly ok: false;
      readonly sequence: number;
      readonly reason: "out_of_order" | "wrong_hash" | "rewritten" | "cut_off";
      readonly detail: string;
    };

/** The hash before a tenant's first entry. */
export function auditGenesis(tenantId: string): Promise<string> {
  return hashOf([GENESIS_DOMAIN, tenantId]);
}

export function auditHash(before: string, entry: AuditEntry): Promise<string> {
  return hashOf([
    ENTRY_DOMAIN,
    before,
    String(entry.sequence),
    entry.created_at,
    entry.api_key_id,
    entry.via,
    entry.request_id,
    entry.call,
    entry.subject,
    entry.outcome,
    entry.client_address,
    entry.user_agent,
  ]);
}

/**
 * Reads entries as `auditLog.list()` gives them, without a filter, and recomputes the chain.
 *
 * @param from where the entries begin: the tenant's id for the first one, or a head that was verified before
 * @param expect heads that you kept: entries that have to be there with these hashes
 */
export async function verifyAuditLog(
  entries: AsyncIterable<AuditEntry> | Iterable<AuditEntry>,
  from: { readonly tenantId: string } | { readonly head: AuditHead },
  expect: readonly AuditHead[] = [],
): Promise<AuditVerdict> {
  const begin = "head" in from ? from.head : { sequence: 0, hash: await auditGenesis(from.tenantId) };
  let head = begin;
  const kept = new Map<number, Set<string>>();
  for (const one of expect) kept.set(one.sequence, (kept.get(one.sequence) ?? new Set()).add(one.hash));
  const isRewritten = ({ sequence, hash }: AuditHead) => [...(kept.get(sequence) ?? [])].some((one) => one !== hash);
  if (isRewritten(head)) return broken(head.sequence, "rewritten", "the entries do not begin with the hash you kept");
  for await (const entry of entries) {
    const next = head.sequence + 1;
    if (entry.sequence !== next) return broken(next, "out_of_order", `expected entry ${next}, got ${entry.sequence}`);
    const hash = await auditHash(head.hash, entry);
    if (hash !== entry.hash) return broken(next, "wrong_hash", `its hash is ${entry.hash}, computed was ${hash}`);
    head = { sequence: next, hash };
    if (isRewritten(head)) return broken(next, "rewritten", `its hash is ${hash}, another one was kept`);
  }
  const last = Math.max(0, ...kept.keys());
  if (head.sequence < last) {
    return broken(head.sequence + 1, "cut_off", `the log ends at ${head.sequence}, and had ${last} entries`);
  }
  return { ok: true, head, entries: head.sequence - begin.sequence };
}

function broken(sequence: number, reason: Extract<AuditVerdict, { ok: false }>["reason"], detail: string) {
  return { ok: false, sequence, reason, detail } as const;
}

async function hashOf(parts: readonly (string | null)[]): Promise<string> {
  const encoder = new TextEncoder();
  const netstring = (text: string | null) => (text === null ? "-" : `${encoder.encode(text).length}:${text},`);
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(parts.map(netstring).join("")));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
