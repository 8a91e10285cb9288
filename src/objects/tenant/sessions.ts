/**
 * Sessions: an API key that a browser signed in with, without having it. Only the keyed hash of the token is held.
 *
 * A session is nothing without its key: it opens what the key opens, and ends when the key does, whatever it says
 * itself.
 */

import type { SessionView, TenantView } from "../../core/views.ts";
import { lastSequence } from "../../store/tenant/event-store.ts";
import { type ApiKeyRow, endOf, toApiKeyView } from "../../store/tenant/key-store.ts";
import {
  deleteExpiredSessions,
  insertSession,
  keepNewestSessions,
  type SessionRow,
  sessionByHash,
} from "../../store/tenant/session-store.ts";
import type { TenantContext } from "./context.ts";
import { iso } from "./deposit-view.ts";

const SESSION_MS = 12 * 60 * 60 * 1_000;
/** Of one key at a time. One more ends the oldest: whoever has the key can always sign in. */
export const MAX_SESSIONS_OF_KEY = 20;

export function createSession(c: TenantContext, tenant: TenantView, key: ApiKeyRow, hash: string): SessionView {
  const known = sessionByHash(c.db, hash);
  if (known !== undefined) return viewOf(c, tenant, key, known);
  const now = c.now();
  const row = { hash, keyId: key.id, createdAt: now, expiresAt: now + SESSION_MS };
  c.storage.transactionSync(() => {
    deleteExpiredSessions(c.db, now);
    keepNewestSessions(c.db, key.id, MAX_SESSIONS_OF_KEY - 1);
    insertSession(c.db, row);
  });
  return viewOf(c, tenant, key, row);
}

/** In the turn in which the session opened the call. */
export function oneSession(c: TenantContext, tenant: TenantView, key: ApiKeyRow, hash: string): SessionView {
  const row = sessionByHash(c.db, hash);
  if (row === undefined) throw new Error("a session that was read before is gone");
  return viewOf(c, tenant, key, row);
}

function viewOf(c: TenantContext, tenant: TenantView, key: ApiKeyRow, row: SessionRow): SessionView {
  const expiresAt = Math.min(row.expiresAt, endOf(key) ?? Number.POSITIVE_INFINITY);
  return { tenant, api_key: toApiKeyView(key), expires_at: iso(expiresAt), event_sequence: lastSequence(c.db) };
}
