/**
 * Claims of the withdrawal line: idempotency keys and nonces, each given once and never taken back from
 * whoever paid with it. Every call may be repeated; one whose answer is lost was perhaps applied.
 */

import { StoreFault, withDeadline } from "./deadline.ts";

/** One key of one tenant, for one request. */
export interface KeyClaim {
  readonly account: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly withdrawalId: string;
}

export type ClaimedKey =
  /** `had`: a nonce, a pinned output, or a transaction was claimed for this withdrawal before, so bytes of it may exist. */
  { readonly kind: "own"; readonly had: string | null } | { readonly kind: "other_request" };

/**
 * Claims keys, each for one request, and lists the tenant for cron: all of it or nothing.
 * @param claims none of whose keys is another's
 * @param times `workDueAt`: when cron shall look after the tenant, unless it is listed already
 * @returns what became of each, in their order
 * @throws StoreFault
 */
export async function claimWithdrawalKeys(
  db: D1Database,
  tenantId: string,
  claims: readonly KeyClaim[],
  { now, workDueAt }: { readonly now: number; readonly workDueAt: number },
): Promise<ClaimedKey[]> {
  const list = JSON.stringify(claims.map((claim) => [claim.account, claim.key, claim.fingerprint, claim.withdrawalId]));
  const [, , held] = await withDeadline("claim withdrawal key", () =>
    db.batch<Had & { readonly place: number; readonly is_own: number }>([
      db
        .prepare(
          `INSERT INTO withdrawal_keys (tenant_id, account, idempotency_key, fingerprint, withdrawal_id, created_at)
           SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, ?3 FROM json_each(?2)
           WHERE true ON CONFLICT DO NOTHING`,
        )
        .bind(tenantId, list, now),
      db
        .prepare(
          // Touched, so that cron's removal of a row it saw before this request misses it.
          `INSERT INTO tenant_work (tenant_id, due_at, unresolved, mismatches) VALUES (?1, ?2, 0, 0)
           ON CONFLICT (tenant_id) DO UPDATE SET due_at = due_at + 1`,
        )
        .bind(tenantId, workDueAt),
      db
        .prepare(
          `SELECT asked.key AS place, k.fingerprint = asked.value ->> 2 AS is_own,
             (SELECT max(nonce) FROM wallet_nonces WHERE subject = k.withdrawal_id) AS nonce,
             (SELECT pin FROM spend_members AS m WHERE m.withdrawal_id = k.withdrawal_id) AS pin,
             (SELECT coalesce(tx_id, '') FROM live_attempts AS a WHERE a.withdrawal_id = k.withdrawal_id
              ORDER BY number DESC LIMIT 1) AS attempt
           FROM json_each(?2) AS asked CROSS JOIN withdrawal_keys AS k
             ON k.tenant_id = ?1 AND k.account = asked.value ->> 0 AND k.idempotency_key = asked.value ->> 1`,
        )
        .bind(tenantId, list),
    ]),
  );
  const found = new Map(held?.results.map((row) => [row.place, row]));
  return claims.map((_, place): ClaimedKey => {
    const row = found.get(place);
    if (row === undefined) throw new StoreFault("claim withdrawal key: the claim was given back while it was read");
    return row.is_own === 1 ? { kind: "own", had: hadBy(row) } : { kind: "other_request" };
  });
}

interface Had extends Record<string, unknown> {
  readonly nonce: number | null;
  readonly pin: string | null;
  /** Empty: decided not to be made. */
  readonly attempt: string | null;
}

function hadBy({ nonce, pin, attempt }: Had): string | null {
  if (nonce !== null) return `nonce ${nonce}`;
  if (pin !== null) return `coin ${pin}`;
  if (attempt === null) return null;
  return attempt === "" ? "up" : `transaction ${attempt}`;
}

/** Gives keys back whose requests were refused before anything was reserved. @throws StoreFault */
export async function releaseWithdrawalKeys(
  db: D1Database,
  tenantId: string,
  claims: readonly Pick<KeyClaim, "account" | "key" | "fingerprint">[],
): Promise<void> {
  const list = JSON.stringify(claims.map(({ account, key, fingerprint }) => [account, key, fingerprint]));
  await withDeadline("release withdrawal key", () =>
    db
      .prepare(
        `DELETE FROM withdrawal_keys
         WHERE tenant_id = ?1 AND (account, idempotency_key, fingerprint) IN
             (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2))
           AND NOT EXISTS (SELECT 1 FROM wallet_nonces WHERE subject = withdrawal_keys.withdrawal_id)
           AND NOT EXISTS (SELECT 1 FROM spend_members AS m WHERE m.withdrawal_id = withdrawal_keys.withdrawal_id)
           AND NOT EXISTS (SELECT 1 FROM live_attempts AS a WHERE a.withdrawal_id = withdrawal_keys.withdrawal_id)`,
      )
      .bind(tenantId, list)
      .run(),
  );
}

/**
 * What was claimed to pay a withdrawal with, by whichever copy of its object, in words; null: nothing. Whoever gives
 * funds back because nothing was signed asks here first: an older copy does not remember.
 * @throws StoreFault
 */
export async function claimedFor(db: D1Database, withdrawalId: string): Promise<string | null> {
  const row = await withDeadline("read a withdrawal's claims", () =>
    db
      .prepare(
        `SELECT (SELECT max(nonce) FROM wallet_nonces WHERE subject = ?1) AS nonce,
           (SELECT pin FROM spend_members WHERE withdrawal_id = ?1) AS pin,
           (SELECT coalesce(tx_id, '') FROM live_attempts WHERE withdrawal_id = ?1 ORDER BY number DESC LIMIT 1) AS attempt`,
      )
      .bind(withdrawalId)
      .first<Had>(),
  );
  if (row === null) throw new StoreFault("read a withdrawal's claims: D1 gave an incomplete answer");
  return hadBy(row);
}

export interface NonceClaim {
  readonly network: string;
  readonly sender: string;
  readonly nonce: number;
  readonly tenantId: string;
  readonly subject: string;
  readonly now: number;
}

export type ClaimedNonce =
  | { readonly kind: "own" }
  /** Another tenant's. */
  | { readonly kind: "taken" }
  /** This tenant's, for something else: an earlier copy of its object had it. */
  | { readonly kind: "lost" }
  /** What was to be carried has another nonce, which an earlier copy of the object claimed. */
  | { readonly kind: "elsewhere"; readonly sender: string; readonly nonce: number };

/** Claims one nonce of one wallet for what it shall carry, which never has two. @throws StoreFault */
export async function claimNonce(db: D1Database, claim: NonceClaim): Promise<ClaimedNonce> {
  const { network, sender, nonce, tenantId, subject, now } = claim;
  const [, held] = await withDeadline("claim nonce", () =>
    db.batch<{ sender: string; nonce: number; tenant_id: string; subject: string }>([
      db
        .prepare(
          `INSERT INTO wallet_nonces (network, sender, nonce, tenant_id, subject, created_at)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING`,
        )
        .bind(network, sender, nonce, tenantId, subject, now),
      db
        .prepare(
          `SELECT sender, nonce, tenant_id, subject FROM wallet_nonces
           WHERE subject = ?4 OR (network = ?1 AND sender = ?2 AND nonce = ?3)`,
        )
        .bind(network, sender, nonce, subject),
    ]),
  );
  const rows = held?.results ?? [];
  const carried = rows.find((row) => row.subject === subject && row.tenant_id === tenantId);
  if (carried !== undefined) {
    const isHere = carried.sender === sender && carried.nonce === nonce;
    return isHere ? { kind: "own" } : { kind: "elsewhere", sender: carried.sender, nonce: carried.nonce };
  }
  const holder = rows[0];
  if (holder === undefined) throw new StoreFault("claim nonce: D1 gave an incomplete answer");
  return { kind: holder.tenant_id === tenantId ? "lost" : "taken" };
}

/** The lowest nonce above every one that D1 knows of a wallet; 0 when it knows none. @throws StoreFault */
export async function nextUnclaimedNonce(db: D1Database, network: string, sender: string): Promise<number> {
  const row = await withDeadline("read claimed nonces", () =>
    db
      .prepare("SELECT coalesce(max(nonce) + 1, 0) AS next FROM wallet_nonces WHERE network = ?1 AND sender = ?2")
      .bind(network, sender)
      .first<{ next: number }>(),
  );
  if (row === null) throw new StoreFault("read claimed nonces: D1 gave an incomplete answer");
  return row.next;
}
