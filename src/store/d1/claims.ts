/**
 * Claims of keys that must be unique for everybody. D1 and an object share no transaction, so a claim
 * comes first and the object commits after it: insert unless present, then read back who holds the key.
 * Every call may be repeated; a call whose answer is lost was perhaps applied, and repeating it is safe.
 */

import { StoreFault, withDeadline } from "./deadline.ts";

export interface DepositClaim {
  readonly txId: string;
  readonly transferIndex: string;
  readonly tenantId: string;
}

export interface DepositClaims {
  /** Keys another tenant holds. They must not be credited to the one that asked. */
  readonly conflicts: readonly DepositClaim[];
  /** How many of the keys nobody held before this call. */
  readonly fresh: number;
}

/** Bounds one statement's bound text to well under D1's 2 MB. */
const CLAIMS_PER_CALL = 2_000;

/**
 * Claims the keys of new payments for all tenants of one network: one call to D1 for up to 2,000 of them.
 * @throws StoreFault when D1 is out of reach or its answer is lost
 */
export async function claimDeposits(
  db: D1Database,
  network: string,
  claims: readonly DepositClaim[],
): Promise<DepositClaims> {
  const conflicts: DepositClaim[] = [];
  let fresh = 0;
  for (let i = 0; i < claims.length; i += CLAIMS_PER_CALL) {
    const chunk = claims.slice(i, i + CLAIMS_PER_CALL);
    const list = JSON.stringify(chunk.map((claim) => [claim.txId, claim.transferIndex, claim.tenantId]));
    const [inserted, held] = await withDeadline("claim deposits", () =>
      db.batch<{ i: number }>([
        db
          .prepare(
            `INSERT INTO deposit_keys (network, tx_id, transfer_index, tenant_id)
             SELECT ?1, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
             FROM json_each(?2) WHERE true
             ON CONFLICT (network, tx_id, transfer_index) DO NOTHING`,
          )
          .bind(network, list),
        db
          .prepare(
            `SELECT j.key AS i FROM json_each(?2) AS j
             LEFT JOIN deposit_keys AS k ON k.network = ?1
               AND k.tx_id = json_extract(j.value, '$[0]')
               AND k.transfer_index = json_extract(j.value, '$[1]')
             WHERE k.tenant_id IS NOT json_extract(j.value, '$[2]')`,
          )
          .bind(network, list),
      ]),
    );
    if (inserted === undefined || held === undefined)
      throw new StoreFault("claim deposits: D1 gave an incomplete answer");
    for (const row of held.results) {
      const claim = chunk[row.i];
      if (claim !== undefined) conflicts.push(claim);
    }
    fresh += inserted.meta.changes;
  }
  return { conflicts, fresh };
}

/**
 * Claims an address for a tenant. "taken" when another tenant holds it.
 * @throws StoreFault
 */
export async function claimAddress(
  db: D1Database,
  claim: { readonly network: string; readonly address: string; readonly tenantId: string; readonly now: number },
): Promise<"own" | "taken"> {
  const [, held] = await withDeadline("claim address", () =>
    db.batch<{ tenant_id: string }>([
      db
        .prepare(
          `INSERT INTO addresses (network, address, tenant_id, created_at) VALUES (?1, ?2, ?3, ?4)
           ON CONFLICT (network, address) DO NOTHING`,
        )
        .bind(claim.network, claim.address, claim.tenantId, claim.now),
      db
        .prepare("SELECT tenant_id FROM addresses WHERE network = ?1 AND address = ?2")
        .bind(claim.network, claim.address),
    ]),
  );
  const owner = held?.results[0]?.tenant_id;
  // Released between the two statements by its owner: the caller may ask again.
  if (owner === undefined) throw new StoreFault("claim address: the claim was given back while it was read");
  return owner === claim.tenantId ? "own" : "taken";
}

/** Gives an address back. Another tenant's claim is never touched. @throws StoreFault */
export async function releaseAddress(
  db: D1Database,
  claim: { readonly network: string; readonly address: string; readonly tenantId: string },
): Promise<void> {
  await withDeadline("release address", () =>
    db
      .prepare("DELETE FROM addresses WHERE network = ?1 AND address = ?2 AND tenant_id = ?3")
      .bind(claim.network, claim.address, claim.tenantId)
      .run(),
  );
}
