/**
 * Claims of indexes below extended public keys, and of their addresses. D1 hands the indexes out: the first at or
 * above what the object knows that nobody was given. Every call may be repeated; one whose answer is lost was
 * perhaps applied.
 */

import { StoreFault, withDeadline } from "./deadline.ts";

export interface IndexClaim {
  readonly network: string;
  readonly keyHash: string;
  /** No lower index is given. */
  readonly from: number;
  readonly tenantId: string;
  /** Of the address that the index is for. One id has one index for ever. */
  readonly addressId: string;
  /** What names the request, the tenant's own: it has one index for ever as well. Null: nothing names it. */
  readonly request: string | null;
  /** An index that the request was given and that no address could be made of; it lets go of it. */
  readonly passedOver: number | null;
  readonly now: number;
}

export type ClaimedIndex =
  /** `addressId`: the one asked with, or the one that the request was given its index with before. */
  | { readonly kind: "own"; readonly index: number; readonly addressId: string }
  /** No index is left below this key. */
  | { readonly kind: "exhausted" };

/** Highest index that a public key has (BIP-32). */
const MAX_INDEX = 0x7fffffff;

/** @throws StoreFault */
export async function claimIndex(db: D1Database, claim: IndexClaim): Promise<ClaimedIndex> {
  const { network, keyHash, from, tenantId, addressId, request, passedOver, now } = claim;
  const [, , held] = await withDeadline("claim index", () =>
    db.batch<{ idx: number; address_id: string }>([
      db
        .prepare(
          `UPDATE xpub_indexes SET request = NULL
           WHERE network = ?1 AND key_hash = ?2 AND idx = ?3 AND request = ?4`,
        )
        .bind(network, keyHash, passedOver ?? -1, request),
      db
        .prepare(
          `INSERT INTO xpub_indexes (network, key_hash, idx, tenant_id, address_id, request, created_at)
           SELECT ?1, ?2, free.idx, ?4, ?5, ?6, ?7 FROM (
             SELECT CASE
               WHEN NOT EXISTS (SELECT 1 FROM xpub_indexes WHERE network = ?1 AND key_hash = ?2 AND idx = ?3) THEN ?3
               ELSE (
                 SELECT x.idx + 1 FROM xpub_indexes AS x
                 WHERE x.network = ?1 AND x.key_hash = ?2 AND x.idx >= ?3 AND NOT EXISTS (
                   SELECT 1 FROM xpub_indexes AS y WHERE y.network = ?1 AND y.key_hash = ?2 AND y.idx = x.idx + 1
                 )
                 ORDER BY x.idx LIMIT 1
               )
             END AS idx
           ) AS free
           WHERE free.idx <= ?8
             AND NOT EXISTS (SELECT 1 FROM xpub_indexes WHERE address_id = ?5 OR request = ?6)`,
        )
        .bind(network, keyHash, from, tenantId, addressId, request, now, MAX_INDEX),
      db
        .prepare("SELECT idx, address_id FROM xpub_indexes WHERE address_id = ?1 OR request = ?2")
        .bind(addressId, request),
    ]),
  );
  if (held === undefined) throw new StoreFault("claim index: D1 gave an incomplete answer");
  const row = held.results[0];
  if (row === undefined) return { kind: "exhausted" };
  return { kind: "own", index: row.idx, addressId: row.address_id };
}

/**
 * Claims the address of an index. "taken" when anybody held it before: another tenant, or this one for something
 * else, as an older copy of its object that does not know of it any more.
 * @throws StoreFault
 */
export async function claimDerivedAddress(
  db: D1Database,
  claim: {
    readonly network: string;
    readonly address: string;
    readonly tenantId: string;
    readonly addressId: string;
    readonly now: number;
  },
): Promise<"own" | "taken"> {
  const { network, address, tenantId, addressId, now } = claim;
  const [, , held] = await withDeadline("claim derived address", () =>
    db.batch<{ tenant_id: string; has_address: number }>([
      db
        .prepare(
          `UPDATE xpub_indexes SET has_address = 1 WHERE address_id = ?3
             AND NOT EXISTS (SELECT 1 FROM addresses WHERE network = ?1 AND address = ?2)`,
        )
        .bind(network, address, addressId),
      db
        .prepare(
          `INSERT INTO addresses (network, address, tenant_id, created_at)
           SELECT ?1, ?2, ?4, ?5 WHERE EXISTS (SELECT 1 FROM xpub_indexes WHERE address_id = ?3 AND has_address = 1)
           ON CONFLICT (network, address) DO NOTHING`,
        )
        .bind(network, address, addressId, tenantId, now),
      db
        .prepare(
          `SELECT a.tenant_id, x.has_address FROM addresses AS a, xpub_indexes AS x
           WHERE a.network = ?1 AND a.address = ?2 AND x.address_id = ?3`,
        )
        .bind(network, address, addressId),
    ]),
  );
  const row = held?.results[0];
  if (row === undefined) throw new StoreFault("claim derived address: D1 gave an incomplete answer");
  return row.tenant_id === tenantId && row.has_address === 1 ? "own" : "taken";
}
