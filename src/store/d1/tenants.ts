/** Sign-ups and the operator's view of keys. Requests are decided by the tenant's own object. */

import { StoreFault, withDeadline } from "./deadline.ts";

export interface NewTenant {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly createdAt: number;
}

export interface NewTenantKey {
  readonly id: string;
  readonly hash: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
}

const INSERT_KEY = `INSERT INTO api_keys (id, tenant_id, hash, scopes, created_at, expires_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO NOTHING`;

/** Both rows or none. @throws StoreFault */
export async function insertTenant(db: D1Database, tenant: NewTenant, key: NewTenantKey): Promise<void> {
  await withDeadline("insert tenant", () =>
    db.batch([
      db
        .prepare(
          "INSERT INTO tenants (id, name, email, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING",
        )
        .bind(tenant.id, tenant.name, tenant.email, tenant.createdAt),
      db.prepare(INSERT_KEY).bind(key.id, tenant.id, key.hash, JSON.stringify(key.scopes), key.createdAt, null),
    ]),
  );
}

/** @throws StoreFault */
export async function insertKey(
  db: D1Database,
  tenantId: string,
  key: NewTenantKey & { readonly expiresAt: number | null },
): Promise<void> {
  await withDeadline("insert key", () =>
    db
      .prepare(INSERT_KEY)
      .bind(key.id, tenantId, key.hash, JSON.stringify(key.scopes), key.createdAt, key.expiresAt)
      .run(),
  );
}

/** The first end recorded stays. @throws StoreFault */
export async function endKey(
  db: D1Database,
  id: string,
  end: { readonly revokedAt: number } | { readonly expiresAt: number },
): Promise<void> {
  const column = "revokedAt" in end ? "revoked_at" : "expires_at";
  const at = "revokedAt" in end ? end.revokedAt : end.expiresAt;
  await withDeadline("end key", () =>
    db.prepare(`UPDATE api_keys SET ${column} = coalesce(${column}, ?2) WHERE id = ?1`).bind(id, at).run(),
  );
}

/** Reads a table of ours: a database without its migrations is not ready either. @throws StoreFault */
export async function ping(db: D1Database): Promise<void> {
  await withDeadline("ping", () => db.prepare("SELECT 1 FROM tenants LIMIT 1").first());
}

export type SignUpClaim =
  | { readonly kind: "claimed" }
  | { readonly kind: "known"; readonly tenantId: string; readonly keyId: string }
  | { readonly kind: "other_request" };

/** Binds a client's idempotency key to the tenant it is about to make. @throws StoreFault */
export async function claimSignUp(
  db: D1Database,
  claim: {
    readonly scopeHash: string;
    readonly fingerprint: string;
    readonly tenantId: string;
    readonly keyId: string;
    readonly now: number;
  },
): Promise<SignUpClaim> {
  const [, held] = await withDeadline("claim sign-up", () =>
    db.batch<{ fingerprint: string; tenant_id: string; key_id: string }>([
      db
        .prepare(
          `INSERT INTO sign_up_keys (scope_hash, fingerprint, tenant_id, key_id, created_at)
           VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (scope_hash) DO NOTHING`,
        )
        .bind(claim.scopeHash, claim.fingerprint, claim.tenantId, claim.keyId, claim.now),
      db.prepare("SELECT fingerprint, tenant_id, key_id FROM sign_up_keys WHERE scope_hash = ?1").bind(claim.scopeHash),
    ]),
  );
  const row = held?.results[0];
  if (row === undefined) throw new StoreFault("claim sign-up: D1 gave an incomplete answer");
  if (row.tenant_id === claim.tenantId) return { kind: "claimed" };
  if (row.fingerprint !== claim.fingerprint) return { kind: "other_request" };
  return { kind: "known", tenantId: row.tenant_id, keyId: row.key_id };
}
