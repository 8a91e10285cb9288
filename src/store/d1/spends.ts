/**
 * Claims of spends: outputs of hot wallets, and the withdrawals that are paid with them. A spend is named by its
 * pinned output, which every transaction of it spends. Every call may be repeated; one whose answer is lost was
 * perhaps applied.
 */

import { StoreFault, withDeadline } from "./deadline.ts";

export interface OutputRef {
  readonly txId: string;
  readonly vout: number;
}

export interface SpendClaim {
  readonly network: string;
  readonly tenantId: string;
  /** `txid:vout`. */
  readonly pin: string;
  /** The pinned one among them, unless it was claimed before. */
  readonly inputs: readonly OutputRef[];
  /** Ids of withdrawals. */
  readonly members: readonly string[];
  readonly now: number;
}

export type ClaimedSpend =
  /** All inputs are the spend's. `elsewhere`: members that another pinned output has, by an earlier copy of the object. */
  | { readonly kind: "own"; readonly elsewhere: readonly { readonly withdrawalId: string; readonly pin: string }[] }
  /** Nothing was claimed: these inputs are for other spends. */
  | {
      readonly kind: "held";
      readonly holders: readonly (OutputRef & { readonly tenantId: string; readonly pin: string })[];
    };

interface HeldRow extends Record<string, unknown> {
  readonly txId: string;
  readonly vout: number;
  readonly tenantId: string;
  readonly pin: string;
}

interface MemberRow extends Record<string, unknown> {
  readonly withdrawalId: string;
  readonly tenantId: string;
  readonly pin: string;
}

const HELD = `json_each(?2) AS j JOIN spent_outputs AS o
  ON o.network = ?1 AND o.tx_id = json_extract(j.value, '$[0]') AND o.vout = json_extract(j.value, '$[1]')`;

/** Claims all inputs or none, and then the members. @throws StoreFault */
export async function claimSpend(db: D1Database, claim: SpendClaim): Promise<ClaimedSpend> {
  const { network, tenantId, pin, inputs, members, now } = claim;
  const refs = JSON.stringify(inputs.map(({ txId, vout }) => [txId, vout]));
  const ids = JSON.stringify(members);
  const [, , held, carried] = await withDeadline("claim spend", () =>
    db.batch<HeldRow & MemberRow>([
      db
        .prepare(
          `INSERT INTO spent_outputs (network, tx_id, vout, tenant_id, pin, created_at)
           SELECT ?1, json_extract(value, '$[0]'), json_extract(value, '$[1]'), ?3, ?4, ?5 FROM json_each(?2)
           WHERE NOT EXISTS (SELECT 1 FROM ${HELD} WHERE o.tenant_id <> ?3 OR o.pin <> ?4)
           ON CONFLICT DO NOTHING`,
        )
        .bind(network, refs, tenantId, pin, now),
      db
        .prepare(
          `INSERT INTO spend_members (withdrawal_id, tenant_id, network, pin, created_at)
           SELECT value, ?3, ?1, ?4, ?5 FROM json_each(?6)
           WHERE json_array_length(?2) = (SELECT count(*) FROM ${HELD} WHERE o.tenant_id = ?3 AND o.pin = ?4)
           ON CONFLICT DO NOTHING`,
        )
        .bind(network, refs, tenantId, pin, now, ids),
      db.prepare(`SELECT o.tx_id AS txId, o.vout, o.tenant_id AS tenantId, o.pin FROM ${HELD}`).bind(network, refs),
      db
        .prepare(
          `SELECT m.withdrawal_id AS withdrawalId, m.tenant_id AS tenantId, m.pin
           FROM json_each(?1) AS j JOIN spend_members AS m ON m.withdrawal_id = j.value`,
        )
        .bind(ids),
    ]),
  );
  if (held === undefined || carried === undefined) throw new StoreFault("claim spend: D1 gave an incomplete answer");
  const others = held.results.filter((row) => row.tenantId !== tenantId || row.pin !== pin);
  if (others.length > 0) return { kind: "held", holders: others };
  if (held.results.length < inputs.length || carried.results.length < members.length)
    throw new StoreFault("claim spend: D1 gave an incomplete answer");
  return { kind: "own", elsewhere: carried.results.filter((row) => row.pin !== pin) };
}

export interface HeldSpend {
  readonly inputs: readonly OutputRef[];
  readonly members: readonly string[];
}

/** What D1 knows of a tenant's spend. @throws StoreFault */
export async function readSpend(
  db: D1Database,
  { network, tenantId, pin }: Pick<SpendClaim, "network" | "tenantId" | "pin">,
): Promise<HeldSpend> {
  const [inputs, members] = await withDeadline("read spend", () =>
    db.batch<HeldRow & MemberRow>([
      db
        .prepare(
          `SELECT tx_id AS txId, vout FROM spent_outputs WHERE network = ?1 AND pin = ?2 AND tenant_id = ?3
           ORDER BY tx_id, vout`,
        )
        .bind(network, pin, tenantId),
      db
        .prepare(
          `SELECT withdrawal_id AS withdrawalId FROM spend_members
           WHERE network = ?1 AND pin = ?2 AND tenant_id = ?3 ORDER BY withdrawal_id`,
        )
        .bind(network, pin, tenantId),
    ]),
  );
  if (inputs === undefined || members === undefined) throw new StoreFault("read spend: D1 gave an incomplete answer");
  return {
    inputs: inputs.results.map(({ txId, vout }) => ({ txId, vout })),
    members: members.results.map(({ withdrawalId }) => withdrawalId),
  };
}

/**
 * Gives back outputs that a spend no longer needs: a final transaction that does not spend them has decided it, or
 * nothing was signed for it. One that withdrawals are still named for keeps its pinned output. @throws StoreFault
 */
export async function releaseOutputs(
  db: D1Database,
  { network, tenantId, pin, inputs }: Pick<SpendClaim, "network" | "tenantId" | "pin" | "inputs">,
): Promise<void> {
  const refs = JSON.stringify(inputs.map(({ txId, vout }) => [txId, vout]));
  await withDeadline("release outputs", () =>
    db
      .prepare(
        `DELETE FROM spent_outputs
         WHERE network = ?1 AND tenant_id = ?3 AND pin = ?4
           AND (tx_id, vout) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?2))
           AND (tx_id || ':' || vout <> pin
             OR NOT EXISTS (SELECT 1 FROM spend_members AS m WHERE m.network = ?1 AND m.pin = ?4))`,
      )
      .bind(network, refs, tenantId, pin)
      .run(),
  );
}

export interface OutputClaimRow extends OutputRef {
  readonly tenantId: string;
  readonly pin: string;
}

/** The claims of these outputs, as far as there are any, whoever has them. @throws StoreFault */
export async function readOutputClaims(
  db: D1Database,
  network: string,
  outputs: readonly OutputRef[],
): Promise<OutputClaimRow[]> {
  const refs = JSON.stringify(outputs.map(({ txId, vout }) => [txId, vout]));
  const answer = await withDeadline("read output claims", () =>
    db
      .prepare(`SELECT o.tx_id AS txId, o.vout, o.tenant_id AS tenantId, o.pin FROM ${HELD}`)
      .bind(network, refs)
      .all<HeldRow>(),
  );
  return answer.results;
}

/** The pinned outputs that withdrawals are named for, `txid:vout` by id. @throws StoreFault */
export async function readMemberClaims(db: D1Database, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const answer = await withDeadline("read member claims", () =>
    db
      .prepare(
        `SELECT m.withdrawal_id AS withdrawalId, m.pin
         FROM json_each(?1) AS j JOIN spend_members AS m ON m.withdrawal_id = j.value`,
      )
      .bind(JSON.stringify(ids))
      .all<MemberRow>(),
  );
  return new Map(answer.results.map(({ withdrawalId, pin }) => [withdrawalId, pin]));
}
