/**
 * Double entry per account and asset. Every posting takes from one bucket and gives the same amount to
 * another, so a journal sums to zero by its form; balances are the fold of the postings. Append-only:
 * a correction is a new posting.
 *
 * `chain` is the world outside. `debt` is what an account owes after a payment it had already spent was
 * taken back: it grows when units leave the bucket and shrinks when they come in.
 */

import { smaller } from "./amount.ts";

export type Bucket = "chain" | "available" | "reserved" | "settled" | "debt";

export interface Posting {
  readonly from: Bucket;
  readonly to: Bucket;
  /** Base units, above zero. */
  readonly amountUnits: bigint;
}

/** Base units, none below zero. */
export interface Balance {
  readonly available: bigint;
  readonly reserved: bigint;
  readonly settled: bigint;
  readonly debt: bigint;
}

export const EMPTY_BALANCE: Balance = { available: 0n, reserved: 0n, settled: 0n, debt: 0n };

/** A confirmed deposit pays debt first, the rest becomes available. */
export function depositConfirmed(balance: Balance, amountUnits: bigint): readonly Posting[] {
  const repaid = smaller(balance.debt, amountUnits);
  return postings(["chain", "debt", repaid], ["chain", "available", amountUnits - repaid]);
}

/** A reverted deposit takes what is available; what was already spent becomes debt. */
export function depositReverted(balance: Balance, amountUnits: bigint): readonly Posting[] {
  const covered = smaller(balance.available, amountUnits);
  return postings(["available", "chain", covered], ["debt", "chain", amountUnits - covered]);
}

/** The amount of a withdrawal is set aside before anything is signed. */
export function withdrawalReserved(amountUnits: bigint): readonly Posting[] {
  return postings(["available", "reserved", amountUnits]);
}

/** The chain has paid it. */
export function withdrawalConfirmed(amountUnits: bigint): readonly Posting[] {
  return postings(["reserved", "settled", amountUnits]);
}

/** The block that paid it is replaced: the payment may come again, so the amount is set aside again. */
export function withdrawalReopened(amountUnits: bigint): readonly Posting[] {
  return postings(["settled", "reserved", amountUnits]);
}

/** A withdrawal that will not be paid gives its amount back; what an account owes is repaid out of it first. */
export function withdrawalReleased(balance: Balance, amountUnits: bigint): readonly Posting[] {
  const repaid = smaller(balance.debt, amountUnits);
  return postings(["reserved", "available", amountUnits], ["available", "debt", repaid]);
}

/**
 * The tenant's own account for what networks took. The wallet pays fees from outside the ledger, so they come
 * in from the chain and are settled at once; no account of a customer bears them.
 */
export const FEE_ACCOUNT = "sluice:fees";

/** Of a mined transaction, on `FEE_ACCOUNT` in the network's native coin. */
export function networkFeePaid(feeUnits: bigint): readonly Posting[] {
  return postings(["chain", "settled", feeUnits]);
}

/** @throws when a bucket would fall below zero: that is a bug in what decided the postings. */
export function post(balance: Balance, journal: readonly Posting[]): Balance {
  const next = { ...balance };
  for (const { from, to, amountUnits } of journal) {
    if (amountUnits <= 0n)
      throw new Error(`a posting moves more than nothing, got ${amountUnits} from ${from} to ${to}`);
    move(next, from, -amountUnits);
    move(next, to, amountUnits);
  }
  for (const bucket of ["available", "reserved", "settled", "debt"] as const) {
    if (next[bucket] < 0n) throw new Error(`${bucket} would fall below zero: ${next[bucket]}`);
  }
  return next;
}

function move(balance: { -readonly [K in keyof Balance]: bigint }, bucket: Bucket, units: bigint): void {
  switch (bucket) {
    case "chain":
      return;
    case "debt":
      balance.debt -= units;
      return;
    default:
      balance[bucket] += units;
  }
}

function postings(...lines: readonly [Bucket, Bucket, bigint][]): readonly Posting[] {
  return lines.filter(([, , units]) => units > 0n).map(([from, to, amountUnits]) => ({ from, to, amountUnits }));
}
