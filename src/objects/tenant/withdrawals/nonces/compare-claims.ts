/**
 * Nonces with their claims in D1. A claim is made before anything is signed with it, so a slot that says that its
 * nonce is claimed must have the claim, and a claim that D1 gave must have its slot after.
 */

import { compareNonceClaim, difference, type NonceClaimRow } from "../../../../core/reconciliation.ts";
import type { DifferenceView } from "../../../../core/views.ts";
import { log } from "../../../../log.ts";
import { claimedNonces } from "../../../../store/d1/comparison.ts";
import { StoreFault } from "../../../../store/d1/deadline.ts";
import { type SlotKey, slotAt } from "../../../../store/tenant/slot-store.ts";
import { withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../../context.ts";
import type { Findings } from "../findings.ts";
import { MAX_NONCES, type NonceScope, slotName, type WalletScope } from "./compare-scope.ts";

/** How the id of a withdrawal begins; what a nonce carries otherwise is the name of a gap. */
const WITHDRAWAL = "wd_";

export interface WalletClaims {
  readonly wallet: WalletScope;
  readonly claims: ReadonlyMap<number, NonceClaimRow>;
  /** Nonces from here on were not read. */
  readonly readBelow: number;
}

/** @returns null when D1 does not answer */
export async function readNonceClaims(
  c: TenantContext,
  tenantId: string,
  scope: NonceScope,
): Promise<readonly WalletClaims[] | null> {
  try {
    return await Promise.all(scope.wallets.map((wallet) => readWallet(c.env.DB, wallet)));
  } catch (error) {
    if (!(error instanceof StoreFault)) throw error;
    log("warn", "reconciliation_incomplete", { tenant: tenantId }, error);
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
export function compareNonces(c: TenantContext, tenantId: string, read: WalletClaims, findings: Findings): void {
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
