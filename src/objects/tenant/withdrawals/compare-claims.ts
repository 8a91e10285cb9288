/**
 * Withdrawals and deposits with their claims in D1. A claim is made before the row that stands on it, so
 * a row read before D1 was asked must have its claim, and a claim that D1 gave must have its row after.
 */

import { compareKey, difference, type KeyClaimRow } from "../../../core/reconciliation.ts";
import { log } from "../../../log.ts";
import {
  type PaymentKey,
  readDepositKeys,
  readWithdrawalKeys,
  withdrawalKeysSince,
} from "../../../store/d1/comparison.ts";
import { StoreFault } from "../../../store/d1/deadline.ts";
import { type DepositRow, depositById } from "../../../store/tenant/deposit-store.ts";
import { withdrawalById } from "../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../context.ts";
import { MAX_CHANGED, type Scope } from "./compare-scope.ts";
import type { Findings } from "./findings.ts";

export interface Claims {
  readonly keys: readonly KeyClaimRow[];
  readonly recentKeys: readonly KeyClaimRow[];
  readonly deposits: readonly (PaymentKey & { readonly tenantId: string })[];
}

/** @returns null when D1 does not answer */
export async function readClaims(c: TenantContext, tenantId: string, scope: Scope): Promise<Claims | null> {
  const { DB } = c.env;
  try {
    const [keys, recentKeys, deposits] = await Promise.all([
      readWithdrawalKeys(DB, tenantId, scope.withdrawals),
      withdrawalKeysSince(DB, tenantId, scope.since, MAX_CHANGED),
      readDepositKeys(DB, scope.deposits.filter(isCredited)),
    ]);
    return { keys, recentKeys, deposits };
  } catch (error) {
    if (!(error instanceof StoreFault)) throw error;
    log("warn", "reconciliation_incomplete", { tenant: tenantId }, error);
    return null;
  }
}

/** In one turn, after the answers. */
export function compareClaims(
  c: TenantContext,
  tenantId: string,
  scope: Scope,
  claims: Claims,
  findings: Findings,
): void {
  compareKeys(c, scope, claims, findings);
  const held = new Set(
    claims.deposits.flatMap((key) => (key.tenantId === tenantId ? [JSON.stringify(paymentOf(key))] : [])),
  );
  for (const asked of scope.deposits) {
    const row = depositById(c.db, asked.id);
    // One that was taken back and credited again since was not asked for.
    if (row === undefined || !isCredited(asked) || !isCredited(row) || row.epoch !== asked.epoch) continue;
    const expected = `claimed by ${tenantId}`;
    const found = held.has(JSON.stringify(paymentOf(row))) ? expected : "no claim of this tenant";
    findings.compared("deposits", difference("deposit_claim_missing", row.id, expected, found));
  }
}

function compareKeys(c: TenantContext, scope: Scope, claims: Claims, findings: Findings): void {
  const nameOf = (account: string, key: string) => JSON.stringify([account, key]);
  const byKey = new Map(claims.keys.map((claim) => [nameOf(claim.account, claim.key), claim]));
  // What a key names never changes, so the rows of before are the rows of now.
  for (const row of scope.withdrawals) {
    findings.compared("keys", compareKey(row, byKey.get(nameOf(row.account, row.idempotencyKey))));
  }
  // A request that broke off after its claim leaves one, and so does one that is being served now.
  const unused = claims.recentKeys.filter(({ withdrawalId }) => withdrawalById(c.db, withdrawalId) === undefined);
  findings.count("unused_keys", unused.length);
}

function isCredited({ status }: DepositRow): boolean {
  return status === "confirmed" || status === "settled";
}

function paymentOf({ network, txId, transferIndex }: PaymentKey): readonly string[] {
  return [network, txId, transferIndex];
}
