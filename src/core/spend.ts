/**
 * One spend of a hot wallet that is a set of coins: what was signed for it, and what the chain made of the output
 * that all of it spends. An output is spent by one transaction, so the payments of one spend exclude each other:
 * that is what keeps a withdrawal from being paid twice.
 */

import type { AgreedCoins, Spender } from "./coin-look.ts";
import { type CoinRef, coinText } from "./coins.ts";

export interface SignedAttempt {
  readonly attempt: number;
  readonly txId: string;
  /** `txid:vout` of each input, in order. */
  readonly inputs: readonly string[];
  /** Script in hex and satoshi of each output, in order. */
  readonly outputs: readonly (readonly [string, string])[];
}

export interface Spend {
  readonly pin: CoinRef;
  readonly attempts: readonly SignedAttempt[];
  /** Where an attempt was last seen mined; null: nowhere. */
  readonly mined: { readonly height: number; readonly blockHash: string } | null;
}

interface InBlock {
  readonly spender: Spender;
  /** Its own block is 1. */
  readonly depth: number;
  /** As deep as a block must be to be no longer replaced. */
  readonly isFinal: boolean;
}

export type SpendNews =
  /** An attempt is in a block, perhaps under another id than it was signed with. */
  | (InBlock & { readonly kind: "mined"; readonly attempt: number })
  /** The pinned output is spent by a transaction that is none of the attempts. */
  | (InBlock & { readonly kind: "foreign" })
  /** The block it was mined in is replaced, and none of the attempts is in another one. */
  | { readonly kind: "unmined" }
  /** The chain does not say yet. */
  | { readonly kind: "waiting" };

/** @param reorgWindow blocks that may be replaced: what is deeper is final */
export function newsOfSpend({ pin, attempts, mined }: Spend, look: AgreedCoins, reorgWindow: number): SpendNews {
  const isReplaced = mined !== null && look.isReplaced(mined.height, mined.blockHash);
  const elsewhere: SpendNews = isReplaced ? { kind: "unmined" } : { kind: "waiting" };
  const spender = look.spenders.get(coinText(pin));
  if (spender === undefined || spender === null || spender === "missing") return elsewhere;
  const depth = look.depthOf(pin, spender);
  // Heads behind the block itself: the providers that agree on it do not stand above it yet.
  if (depth < 1) return elsewhere;
  const where = { spender, depth, isFinal: depth > reorgWindow };
  const own = attempts.find((attempt) => isSameTransaction(attempt, spender));
  if (own !== undefined) return { kind: "mined", attempt: own.attempt, ...where };
  return mined === null || isReplaced ? { kind: "foreign", ...where } : { kind: "waiting" };
}

/** An id covers what anybody may rewrite on the way. What a transaction spends and pays, nobody may. */
export function isSameTransaction(attempt: SignedAttempt, spender: Spender): boolean {
  if (attempt.txId === spender.txId) return true;
  const spent = spender.inputs.map(coinText);
  const paid = spender.outputs.map(({ script, amountUnits }) => [script, amountUnits.toString()]);
  return (
    JSON.stringify(spent) === JSON.stringify(attempt.inputs) && JSON.stringify(paid) === JSON.stringify(attempt.outputs)
  );
}

/** Each one's part of a fee, in satoshi: their sum is the whole. */
export function shareOf(feeUnits: bigint, place: number, of: number): bigint {
  const [whole, rest] = [feeUnits / BigInt(of), feeUnits % BigInt(of)];
  return BigInt(place) < rest ? whole + 1n : whole;
}
