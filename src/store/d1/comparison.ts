/**
 * What D1 has claimed, as the reconciliation reads it. Nothing here writes. Lists of keys travel as one JSON
 * text: a statement binds at most a hundred parameters.
 */

import type { KeyClaimRow, NonceClaimRow } from "../../core/reconciliation.ts";
import { withDeadline } from "./deadline.ts";

const KEYS_PER_STATEMENT = 500;

/** The claims of these keys, as far as there are any. @throws StoreFault */
export function readWithdrawalKeys(
  db: D1Database,
  tenantId: string,
  keys: readonly { readonly account: string; readonly idempotencyKey: string }[],
): Promise<KeyClaimRow[]> {
  return inChunks(keys, async (chunk) => {
    const list = JSON.stringify(chunk.map(({ account, idempotencyKey }) => [account, idempotencyKey]));
    const answer = await withDeadline("read withdrawal keys", () =>
      db
        .prepare(
          `SELECT k.account, k.idempotency_key AS key, k.fingerprint, k.withdrawal_id AS withdrawalId
           FROM json_each(?2) AS w JOIN withdrawal_keys AS k
             ON k.tenant_id = ?1 AND k.account = json_extract(w.value, '$[0]')
                AND k.idempotency_key = json_extract(w.value, '$[1]')`,
        )
        .bind(tenantId, list)
        .all<KeyClaimRow & Record<string, unknown>>(),
    );
    return answer.results;
  });
}

/** Keys of a tenant that were claimed since a moment, unix milliseconds. @throws StoreFault */
export async function withdrawalKeysSince(
  db: D1Database,
  tenantId: string,
  since: number,
  limit: number,
): Promise<KeyClaimRow[]> {
  const answer = await withDeadline("read recent withdrawal keys", () =>
    db
      .prepare(
        `SELECT account, idempotency_key AS key, fingerprint, withdrawal_id AS withdrawalId
         FROM withdrawal_keys WHERE tenant_id = ?1 AND created_at >= ?2 LIMIT ?3`,
      )
      .bind(tenantId, since, limit)
      .all<KeyClaimRow & Record<string, unknown>>(),
  );
  return answer.results;
}

/** The claimed nonces of a wallet from one on, lowest first, whoever has them. @throws StoreFault */
export async function claimedNonces(
  db: D1Database,
  network: string,
  sender: string,
  from: number,
  limit: number,
): Promise<NonceClaimRow[]> {
  const answer = await withDeadline("read claimed nonces", () =>
    db
      .prepare(
        `SELECT nonce, tenant_id AS tenantId, subject FROM wallet_nonces
         WHERE network = ?1 AND sender = ?2 AND nonce >= ?3 ORDER BY nonce LIMIT ?4`,
      )
      .bind(network, sender, from, limit)
      .all<NonceClaimRow & Record<string, unknown>>(),
  );
  return answer.results;
}

export interface PaymentKey {
  readonly network: string;
  readonly txId: string;
  readonly transferIndex: string;
}

/** Who holds these payments, as far as anybody does. @throws StoreFault */
export function readDepositKeys(
  db: D1Database,
  keys: readonly PaymentKey[],
): Promise<(PaymentKey & { readonly tenantId: string })[]> {
  return inChunks(keys, async (chunk) => {
    const list = JSON.stringify(chunk.map(({ network, txId, transferIndex }) => [network, txId, transferIndex]));
    const answer = await withDeadline("read payment keys", () =>
      db
        .prepare(
          `SELECT k.network, k.tx_id AS txId, k.transfer_index AS transferIndex, k.tenant_id AS tenantId
           FROM json_each(?1) AS p JOIN deposit_keys AS k
             ON k.network = json_extract(p.value, '$[0]') AND k.tx_id = json_extract(p.value, '$[1]')
                AND k.transfer_index = json_extract(p.value, '$[2]')`,
        )
        .bind(list)
        .all<PaymentKey & { tenantId: string } & Record<string, unknown>>(),
    );
    return answer.results;
  });
}

async function inChunks<K, R>(keys: readonly K[], read: (chunk: readonly K[]) => Promise<R[]>): Promise<R[]> {
  const found: R[] = [];
  for (let i = 0; i < keys.length; i += KEYS_PER_STATEMENT) {
    found.push(...(await read(keys.slice(i, i + KEYS_PER_STATEMENT))));
  }
  return found;
}
