/**
 * Claims of signed transactions that expire by themselves. Nothing but their expiry keeps two of them from being paid
 * both, so a copy of an object makes another one only when it knows every one that was ever claimed for the withdrawal.
 * Every call may be repeated; one whose answer is lost was perhaps applied.
 */

import { StoreFault, withDeadline } from "./deadline.ts";

export interface AttemptClaim {
  readonly withdrawalId: string;
  readonly number: number;
  readonly tenantId: string;
  readonly network: string;
  readonly sender: string;
  /** Null: nothing more is ever to be made for this withdrawal. */
  readonly attempt: { readonly txId: string; readonly expiresAt: number; readonly signedAbove: number } | null;
  /** Ids of all that the claimant knows. With anything else in D1, nothing is claimed. */
  readonly known: readonly string[];
  readonly now: number;
}

export interface HeldAttempt {
  readonly withdrawalId: string;
  readonly number: number;
  readonly tenantId: string;
  readonly network: string;
  readonly sender: string;
  /** Null: nothing more is made. */
  readonly txId: string | null;
  readonly expiresAt: number | null;
  readonly signedAbove: number | null;
}

interface Row extends HeldAttempt, Record<string, unknown> {}

const COLUMNS = `withdrawal_id AS withdrawalId, number, tenant_id AS tenantId, network, sender, tx_id AS txId,
  expires_at AS expiresAt, signed_above AS signedAbove`;

/** @returns all that D1 has of the withdrawal then, by number; the claim among it if it was made. @throws StoreFault */
export async function claimAttempt(db: D1Database, claim: AttemptClaim): Promise<readonly HeldAttempt[]> {
  const { withdrawalId, number, tenantId, network, sender, attempt, known, now } = claim;
  const [, held] = await withDeadline("claim attempt", () =>
    db.batch<Row>([
      db
        .prepare(
          `INSERT INTO live_attempts
             (withdrawal_id, number, tenant_id, network, sender, tx_id, expires_at, signed_above, created_at)
           SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
           WHERE NOT EXISTS (SELECT 1 FROM live_attempts WHERE withdrawal_id = ?1
             AND (tx_id IS NULL OR number >= ?2 OR tx_id NOT IN (SELECT value FROM json_each(?10))))
           ON CONFLICT DO NOTHING`,
        )
        .bind(
          withdrawalId,
          number,
          tenantId,
          network,
          sender,
          attempt?.txId ?? null,
          attempt?.expiresAt ?? null,
          attempt?.signedAbove ?? null,
          now,
          JSON.stringify(known),
        ),
      db.prepare(`SELECT ${COLUMNS} FROM live_attempts WHERE withdrawal_id = ?1 ORDER BY number`).bind(withdrawalId),
    ]),
  );
  if (held === undefined || held.results.length === 0)
    throw new StoreFault("claim attempt: D1 gave an incomplete answer");
  return held.results;
}

/** All that D1 has of these withdrawals. @throws StoreFault */
export async function readLiveAttempts(db: D1Database, ids: readonly string[]): Promise<readonly HeldAttempt[]> {
  const answer = await withDeadline("read live attempts", () =>
    db
      .prepare(
        `SELECT ${COLUMNS} FROM json_each(?1) AS j JOIN live_attempts AS a ON a.withdrawal_id = j.value
         ORDER BY withdrawal_id, number`,
      )
      .bind(JSON.stringify(ids))
      .all<Row>(),
  );
  return answer.results;
}
