/** API keys of a tenant: made, listed, rotated, ended. Only keyed hashes are held. */

import { refuse } from "../../core/refusal.ts";
import type { ApiKeyView, Page } from "../../core/views.ts";
import { log } from "../../log.ts";
import { decodeCursor, toPage } from "../../store/cursor.ts";
import { endKey, insertKey } from "../../store/d1/tenants.ts";
import {
  type ApiKeyRow,
  apiKeyById,
  bindKey,
  endApiKey,
  endOf,
  insertApiKey,
  listApiKeys,
  toApiKeyView,
  useOfKey,
} from "../../store/tenant/key-store.ts";
import type { Idempotency, NewKey, PageRequest } from "../api.ts";
import type { Audited } from "./audited-call.ts";
import { BAD_CURSOR, type Done, hasEnded, KEY_REUSED, notFound } from "./authorize.ts";
import type { TenantContext } from "./context.ts";

export async function createKey(
  c: TenantContext,
  tenantId: string,
  key: NewKey,
  idempotency: Idempotency,
  audit: Audited,
): Promise<Done<ApiKeyView>> {
  const before = replayedKey(c, idempotency);
  if (before !== null) return before;
  const createdAt = c.now();
  await insertKey(c.env.DB, tenantId, { ...key, createdAt });

  // Other requests ran while D1 answered: decide again on what is there now.
  const meanwhile = replayedKey(c, idempotency);
  if (meanwhile !== null) return meanwhile;
  const row = { ...key, scopes: [...key.scopes], createdAt, revokedAt: null, replacedAt: null, originId: null };
  c.storage.transactionSync(() => {
    insertApiKey(c.db, row);
    bindKey(c.db, idempotency, key.id);
    audit.done(key.id);
  });
  return { ok: true, value: toApiKeyView(row), created: true };
}

/** The old key ends after the overlap, or when it would have ended anyway, whichever is first. */
export async function rotateKey(
  c: TenantContext,
  tenantId: string,
  id: string,
  fresh: { readonly id: string; readonly hash: string },
  overlapS: number,
  idempotency: Idempotency,
  audit: Audited,
): Promise<Done<ApiKeyView>> {
  const before = replayedKey(c, idempotency) ?? refusedRotation(c, id);
  if (before !== null) return before;
  const old = mustBe(apiKeyById(c.db, id));
  const createdAt = c.now();
  const row = {
    ...fresh,
    name: old.name,
    scopes: old.scopes,
    createdAt,
    expiresAt: old.expiresAt,
    revokedAt: null,
    replacedAt: null,
    originId: old.originId ?? old.id,
  };
  await insertKey(c.env.DB, tenantId, row);

  const meanwhile = replayedKey(c, idempotency) ?? refusedRotation(c, id);
  if (meanwhile !== null) return meanwhile;
  // A second rotation of the same key may shorten its overlap, never lengthen it.
  const endsAt = Math.min(
    createdAt + overlapS * 1_000,
    endOf(mustBe(apiKeyById(c.db, id))) ?? Number.POSITIVE_INFINITY,
  );
  c.storage.transactionSync(() => {
    insertApiKey(c.db, row);
    endApiKey(c.db, id, { replacedAt: endsAt });
    bindKey(c.db, idempotency, fresh.id);
    audit.done();
  });
  // D1 follows, for the operator's view. The secret is shown in this answer or never: nothing may keep it back.
  await endKey(c.env.DB, id, { expiresAt: endsAt }).catch((error: unknown) => {
    log("warn", "key_end_not_listed", { key_id: id }, error);
  });
  return { ok: true, value: toApiKeyView(row), created: true };
}

/** Holds from this commit on; D1 follows for the operator's view. Repeating it changes nothing. */
export async function revokeKey(c: TenantContext, id: string, audit: Audited): Promise<Done<null>> {
  const row = apiKeyById(c.db, id);
  if (row === undefined) return notFound("API key");
  const revokedAt = row.revokedAt ?? c.now();
  if (row.revokedAt === null) {
    c.storage.transactionSync(() => {
      endApiKey(c.db, id, { revokedAt });
      audit.done();
    });
  }
  await endKey(c.env.DB, id, { revokedAt });
  return { ok: true, value: null };
}

export function pageOfKeys(c: TenantContext, page: PageRequest): Done<Page<ApiKeyView>> {
  const before = page.cursor === null ? null : decodeCursor(page.cursor);
  if (page.cursor !== null && before === null) return BAD_CURSOR;
  const rows = listApiKeys(c.db, before, page.limit + 1);
  return { ok: true, value: toPage(rows, page.limit, (row) => row.seq, toApiKeyView) };
}

function replayedKey(c: TenantContext, idempotency: Idempotency): Done<ApiKeyView> | null {
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  if (use.kind === "fresh") return null;
  return { ok: true, value: toApiKeyView(mustBe(apiKeyById(c.db, use.objectId))), replayed: true };
}

function refusedRotation(c: TenantContext, id: string): Done<never> | null {
  const old = apiKeyById(c.db, id);
  if (old === undefined) return notFound("API key");
  const now = c.now();
  if (hasEnded(old, now)) {
    return refuse("state_conflict", "This key has ended; make a new one instead.");
  }
  return null;
}

function mustBe(row: ApiKeyRow | undefined): ApiKeyRow {
  if (row === undefined) throw new Error("an API key that was read before is gone");
  return row;
}
