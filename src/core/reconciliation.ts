/**
 * What must agree between ledger, withdrawals, D1's claims and the chain, and how a difference is named. Every
 * comparison takes both sides as they were read and gives the differences; nothing here mends one.
 */

import { type Balance, EMPTY_BALANCE } from "./ledger.ts";
import type { DifferenceView, ReconciliationView } from "./views.ts";
import type { AgreedLook } from "./wallet-look.ts";
import { isOpen, type WithdrawalState } from "./withdrawal.ts";

/** What a movement adds up to: the sum of every entry from one bucket to another. */
export interface Movement {
  readonly from: string;
  readonly to: string;
  readonly units: bigint;
}

/** Unlike a posting's result it may be below zero: entries that are wrong are to be shown, not refused. */
export function foldOf(movements: readonly Movement[]): Balance {
  const sums = { ...EMPTY_BALANCE };
  const add = (bucket: string, units: bigint) => {
    // An account's debt grows when units leave the bucket.
    if (bucket === "debt") sums.debt -= units;
    else if (bucket === "available" || bucket === "reserved" || bucket === "settled") sums[bucket] += units;
  };
  for (const { from, to, units } of movements) {
    add(from, -units);
    add(to, units);
  }
  return sums;
}

/** @param subject account, network and asset */
export function compareBalance(subject: string, held: Balance, fold: Balance): DifferenceView[] {
  return difference("balance_differs", subject, balanceText(fold), balanceText(held));
}

/** @param openUnits sum of the open withdrawals */
export function compareReserved(subject: string, held: Balance, openUnits: bigint): DifferenceView[] {
  return difference("reserved_differs", subject, String(openUnits), String(held.reserved));
}

export interface JournalLine extends Movement {
  readonly journalId: string;
  readonly cause: string;
  readonly account: string;
  readonly network: string;
  readonly asset: string;
}

export interface SettledRow {
  readonly id: string;
  readonly account: string;
  readonly network: string;
  readonly asset: string;
  readonly amountUnits: bigint;
  readonly state: WithdrawalState;
}

/** @param lines every entry that the withdrawal caused, the network's fee left out */
export function compareJournals(row: SettledRow, lines: readonly JournalLine[]): DifferenceView[] {
  const journals = (what: string) =>
    new Set(lines.filter(({ cause }) => cause === `withdrawal.${what}`).map(({ journalId }) => journalId)).size;
  const own = lines.filter((l) => l.account === row.account && l.network === row.network && l.asset === row.asset);
  const { reserved, settled } = foldOf(own);
  const open = isOpen(row.state);
  const paid = row.state === "confirmed";
  return difference(
    "journal_differs",
    row.id,
    journalText({
      reserved: 1,
      confirmed: paid ? 1 : 0,
      released: open || paid ? 0 : 1,
      elsewhere: 0,
      holds: open ? row.amountUnits : 0n,
      paid: paid ? row.amountUnits : 0n,
    }),
    journalText({
      reserved: journals("reserved"),
      confirmed: journals("confirmed") - journals("reopened"),
      released: journals("released"),
      elsewhere: lines.length - own.length,
      holds: reserved,
      paid: settled,
    }),
  );
}

export interface KeyClaimRow {
  readonly account: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly withdrawalId: string;
}

/** @param claim what D1 has under the withdrawal's account and key */
export function compareKey(
  row: { readonly id: string; readonly fingerprint: string },
  claim: Pick<KeyClaimRow, "fingerprint" | "withdrawalId"> | undefined,
): DifferenceView[] {
  const text = (id: string, fingerprint: string) => `${id} with fingerprint ${fingerprint}`;
  const expected = text(row.id, row.fingerprint);
  if (claim === undefined) return difference("key_missing", row.id, expected, "no key");
  return difference("key_differs", row.id, expected, text(claim.withdrawalId, claim.fingerprint));
}

export interface NonceClaimRow {
  readonly nonce: number;
  readonly tenantId: string;
  readonly subject: string;
}

export interface ClaimedSlot {
  readonly nonce: number;
  readonly withdrawalId: string | null;
}

/** @param name of the nonce, with its wallet */
export function compareNonceClaim(
  name: string,
  tenantId: string,
  slot: ClaimedSlot,
  claim: NonceClaimRow | undefined,
): DifferenceView[] {
  // What carries no withdrawal may have been claimed for one, by a copy of the object that is gone.
  const carried = slot.withdrawalId ?? claim?.subject ?? "nothing";
  const expected = `${carried} of ${tenantId}`;
  if (claim === undefined) return difference("nonce_claim_missing", name, expected, "no claim");
  return difference("nonce_claim_differs", name, expected, `${claim.subject} of ${claim.tenantId}`);
}

/**
 * Nonces that the chain used up and nobody here can account for, in runs.
 * @param first below it is the time before the wallet's first look
 * @param used nonces below it are used up on the chain
 */
export function foreignNonces(
  wallet: string,
  first: number,
  used: number,
  isKnown: (nonce: number) => boolean,
): DifferenceView[] {
  const found: DifferenceView[] = [];
  let from: number | null = null;
  for (let nonce = first; nonce <= used; nonce++) {
    const isForeign = nonce < used && !isKnown(nonce);
    if (isForeign) from ??= nonce;
    else if (from !== null) {
      const run = from === nonce - 1 ? `${from}` : `${from}-${nonce - 1}`;
      found.push(...difference("foreign_nonce", `${wallet}/${run}`, "not used", "used by somebody else"));
      from = null;
    }
  }
  return found;
}

export interface MinedSlot {
  /** The withdrawal, or the nonce's name when it carries none. */
  readonly subject: string;
  readonly mined: { readonly txId: string; readonly height: number; readonly blockHash: string } | null;
  readonly kind: "payment" | "burn";
  /** What the withdrawal says came of it; null: nothing that the chain must bear out. */
  readonly claims: "paid" | "not_paid" | null;
}

/** @returns null when the chain cannot be asked for it yet: it is not that high, or the block may still be replaced */
export function compareMined(
  slot: MinedSlot,
  look: Pick<AgreedLook, "head" | "finalHeight" | "receipts">,
): DifferenceView[] | null {
  const { subject, mined, claims } = slot;
  if (mined === null) {
    return claims === null ? null : difference("receipt_missing", subject, `mined, ${claims}`, "nothing recorded");
  }
  if (look.head < mined.height) return null;
  const expected = `${mined.txId} in block ${mined.height} ${mined.blockHash}`;
  const receipt = look.receipts.get(mined.txId);
  const isReplaceable = mined.height > look.finalHeight;
  if (receipt === undefined) return isReplaceable ? null : difference("receipt_missing", subject, expected, "none");
  if (receipt.blockHash !== mined.blockHash || receipt.height !== mined.height) {
    if (isReplaceable) return null;
    return difference("receipt_differs", subject, expected, `in block ${receipt.height} ${receipt.blockHash}`);
  }
  const isPaid = slot.kind === "payment" && receipt.success;
  if (claims === null || (claims === "paid") === isPaid) return [];
  const found = slot.kind === "burn" ? "a burnt nonce" : receipt.success ? "paid" : "reverted";
  return difference("receipt_differs", subject, `${expected}, ${claims}`, found);
}

/** What the report says as a whole. What is found stays found, whatever could not be asked. */
export function statusOf(differences: number, unreachable: number): ReconciliationView["status"] {
  if (differences > 0) return "mismatched";
  return unreachable > 0 ? "incomplete" : "matched";
}

/** One difference, or none when both say the same. */
export function difference(kind: string, subject: string, expected: string, found: string): DifferenceView[] {
  return expected === found ? [] : [{ kind, subject, expected, found }];
}

function balanceText({ available, reserved, settled, debt }: Balance): string {
  return `available ${available}, reserved ${reserved}, settled ${settled}, debt ${debt}`;
}

function journalText(parts: Readonly<Record<string, number | bigint>>): string {
  return Object.entries(parts)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}
