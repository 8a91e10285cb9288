/**
 * Withdrawals, nonces and deposits with their claims in D1. A claim is made before the row that stands on it, so
 * a row read before D1 was asked must have its claim, and a claim that D1 gave must have its row after.
 */

import {
  compareKey,
  compareNonceClaim,
  difference,
  type KeyClaimRow,
  type NonceClaimRow,
} from "../../../core/reconciliation.ts";
import type { DifferenceView } from "../../../core/views.ts";
import {
  claimedNonces,
  type PaymentKey,
  readDepositKeys,
  readWithdrawalKeys,
  withdrawalKeysSince,
} from "../../../store/d1/comparison.ts";
import { StoreFault } from "../../../store/d1/deadline.ts";
import { type DepositRow, depositById } from "../../../store/tenant/deposit-store.ts";
import { type SlotKey, slotAt } from "../../../store/tenant/slot-store.ts";
import { withdrawalById } from "../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../context.ts";
import { MAX_CHANGED, MAX_NONCES, type Scope, slotName, type WalletScope } from "./compare-scope.ts";
import type { Findings } from "./findings.ts";

/** How the id of a withdrawal begins; what a nonce carries otherwise is the name of a gap. */
const WITHDRAWAL = "wd_";

export interface WalletClaims {
  readonly wallet: WalletScope;
  readonly claims: ReadonlyMap<number, NonceClaimRow>;
  /** Nonces from here on were not read. */
  readonly readBelow: number;
}

export interface Claims {
  readonly keys: readonly KeyClaimRow[];
  readonly recentKeys: readonly KeyClaimRow[];
  readonly wallets: readonly WalletClaims[];
  readonly deposits: readonly (PaymentKey & { readonly tenantId: string })[];
}

/** @returns null when D1 does not answer */
export async function readClaims(c: TenantContext, tenantId: string, scope: Scope): Promise<Claims | null> {
  const { DB } = c.env;
  try {
    const [keys, recentKeys, deposits, wallets] = await Promise.all([
      readWithdrawalKeys(DB, tenantId, scope.withdrawals),
      withdrawalKeysSince(DB, tenantId, scope.since, MAX_CHANGED),
      readDepositKeys(DB, scope.deposits.filter(isCredited)),
      Promise.all(scope.wallets.map((wallet) => readWallet(DB, wallet))),
    ]);
    return { keys, recentKeys, deposits, wallets };
  } catch (error) {
    if (!(error instanceof StoreFault)) throw error;
    console.warn(JSON.stringify({ at: "reconciliation", tenant: tenantId, error: error.message }));
    return null;
  }
}

async function readWallet(db: D1Database, wallet: WalletScope): Promise<WalletClaims> {
  const rows = await claimedNonces(db, wallet.network, wallet.sender, wallet.from, MAX_NONCES);
  const last = rows.at(-1);
  const readBelow = rows.length < MAX_NONCES || last === undefined ? Number.POSITIVE_INFINITY : last.nonce + 1;
  return { wallet, claims: new Map(rows.map((row) => [row.nonce, row])), readBelow };
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
  for (const wallet of claims.wallets) compareNonces(c, tenantId, wallet, findings);
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

function compareNonces(c: TenantContext, tenantId: string, read: WalletClaims, findings: Findings): void {
  const { wallet, claims, readBelow } = read;
  const { network, sender } = wallet;
  for (const before of wallet.slots) {
    if (before.claimed === 0 || before.nonce >= readBelow) continue;
    const slot = slotAt(c.db, before);
    if (slot?.withdrawalId !== before.withdrawalId) continue;
    const found = compareNonceClaim(slotName(before), tenantId, before, claims.get(before.nonce));
    findings.compared("nonces", found);
  }
  for (const claim of claims.values()) {
    if (claim.tenantId === tenantId) findings.found(compareBack(c, claim, { network, sender, nonce: claim.nonce }));
  }
}

/** A claim of this tenant's must have its slot and its withdrawal. Where it has not, an older copy may have paid. */
function compareBack(c: TenantContext, { subject }: NonceClaimRow, key: SlotKey): DifferenceView[] {
  const name = slotName(key);
  const slot = slotAt(c.db, key);
  const row = subject.startsWith(WITHDRAWAL) ? withdrawalById(c.db, subject) : undefined;
  const found: DifferenceView[] = [];
  if (slot === undefined) found.push(...difference("nonce_without_slot", name, `a slot for ${subject}`, "none"));
  if (row === undefined) {
    if (!subject.startsWith(WITHDRAWAL)) return found;
    return [
      ...found,
      ...difference("payment_without_withdrawal", subject, "a withdrawal", `nothing but nonce ${name}`),
    ];
  }
  // Claimed for a withdrawal that has another nonce now: until this one is used up by us, it may be paid by both.
  const isUsedUp = slot?.status === "final" && slot.minedTxId !== null;
  if (slot?.withdrawalId !== null || isUsedUp) return found;
  const now = row.nonce === null ? "none" : slotName({ ...row, sender: row.sender ?? "", nonce: row.nonce });
  return [...found, ...difference("nonce_claim_differs", name, `${subject} to have this nonce`, `it has ${now}`)];
}

function isCredited({ status }: DepositRow): boolean {
  return status === "confirmed" || status === "settled";
}

function paymentOf({ network, txId, transferIndex }: PaymentKey): readonly string[] {
  return [network, txId, transferIndex];
}
