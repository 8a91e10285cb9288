/**
 * Whether a payment can be made as it is asked for, from the accounts it touches: what the chain would refuse, or carry
 * out otherwise than asked, is told before anything is signed.
 */

import type { ExpiringIntent, Prepared } from "../expiring-payout.ts";
import {
  type AccountFacts,
  type Mint,
  readMint,
  readTokenAccount,
  type TokenAccountFacts,
  TRANSFER_HOOK,
} from "./mint.ts";
import { bytesOf } from "./program-address.ts";

export type Refusal = Extract<Prepared, { ok: false }>;

/** The accounts of one payment; null: there is none. */
export interface TouchedAccounts {
  readonly sender: AccountFacts | null;
  readonly destination: AccountFacts | null;
  /** Of a payment in tokens. */
  readonly mint: AccountFacts | null;
  readonly source: AccountFacts | null;
  readonly target: AccountFacts | null;
}

/** Lamports that an account must hold to exist, by the bytes of its data. */
export interface RentRules {
  readonly empty: bigint;
  readonly destination: bigint;
  readonly tokenAccount: bigint;
}

/** Extensions of a mint that change what a transfer does. */
const NON_TRANSFERABLE = 9;

function extensionProblem({ extensions }: Mint): string | null {
  if (extensions.has(NON_TRANSFERABLE)) return "its mint lets nobody transfer it";
  return callsProgram(extensions.get(TRANSFER_HOOK)) ? "its mint calls a program of its own on each transfer" : null;
}

/** Who may set the program (32), and it: zeros while there is none, as in mints that only keep the possibility open. */
function callsProgram(hook: Uint8Array | undefined): boolean {
  return hook !== undefined && (hook.length < 64 || hook.subarray(32, 64).some((byte) => byte !== 0));
}

export function refused(detail: string): Refusal {
  return { ok: false, reason: "refused", detail };
}

export function walletShort(detail: string): Refusal {
  return { ok: false, reason: "wallet_short", detail };
}

/** Null when nothing speaks against the destination itself. */
export function destinationProblem(
  { sender, destination }: ExpiringIntent,
  account: AccountFacts | null,
): Refusal | null {
  if (destination === sender) return refused("the destination is the wallet itself");
  if (account === null) return null;
  if (account.isExecutable) return refused(`${destination} is a program: nobody could spend what it receives`);
  if (readMint(account) !== null) return refused(`${destination} is a token's mint, and no owner`);
  if (readTokenAccount(account) !== null) return refused(`${destination} is a token account, and no owner`);
  return null;
}

/** Coins to an account that would hold less than it must to exist are refused by the chain. */
export function coinsProblem(intent: ExpiringIntent, accounts: TouchedAccounts, rent: RentRules): Refusal | null {
  const held = accounts.destination?.units ?? 0n;
  const then = held + intent.amountUnits;
  if (then >= rent.destination) return null;
  return refused(
    `${intent.destination} would hold ${then} lamports, an account must hold ${rent.destination} (the rent-exempt minimum)`,
  );
}

/** @param program of the mint @returns null, or why tokens cannot be paid as asked */
export function tokensProblem(intent: ExpiringIntent, accounts: TouchedAccounts): Refusal | null {
  const mint = accounts.mint === null ? null : readMint(accounts.mint);
  if (mint === null) return refused(`${intent.asset} is no token's mint`);
  if (mint.decimals !== intent.decimals) {
    return refused(`${intent.asset} has ${mint.decimals} decimals, expected ${intent.decimals}`);
  }
  // The receiver must get the amount asked for, and a fee that may change meanwhile cannot be added exactly.
  if (mint.takesFee) return refused(`${intent.asset} keeps a fee of each transfer: less than the amount would arrive`);
  const odd = extensionProblem(mint);
  if (odd !== null) return refused(`${intent.asset} cannot be paid: ${odd}`);
  const source = accounts.source === null ? null : readTokenAccount(accounts.source);
  if (source?.isFrozen) return refused(`the wallet's account of ${intent.asset} is frozen`);
  const units = source?.units ?? 0n;
  if (units < intent.amountUnits) return walletShort(`the wallet has ${units} of ${intent.asset}`);
  if (accounts.target === null) return null;
  const target = readTokenAccount(accounts.target);
  if (target === null || !isOwnedBy(target, intent)) {
    return refused(`the associated account of ${intent.destination} for ${intent.asset} belongs to somebody else`);
  }
  return target.isFrozen ? refused(`${intent.destination}'s account of ${intent.asset} is frozen`) : null;
}

/** A token account can be given to another owner; its address stays. */
function isOwnedBy({ owner, mint }: TokenAccountFacts, { destination, asset }: ExpiringIntent): boolean {
  const isSame = (a: Uint8Array, b: Uint8Array) => a.every((byte, i) => byte === b[i]);
  return isSame(owner, bytesOf(destination)) && isSame(mint, bytesOf(asset));
}
