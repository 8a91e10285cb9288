/**
 * One nonce of one hot wallet: what was signed for it, and what the chain made of it. Whatever is mined at a
 * nonce, it is one transaction, so the payments of one slot exclude each other: that is what keeps a
 * withdrawal from being paid twice.
 */

import type { AgreedLook, MinedReceipt } from "./wallet-look.ts";

export interface SignedAttempt {
  readonly txId: string;
  /** `payment` does what the withdrawal says; `burn` moves nothing and makes the payments void. */
  readonly kind: "payment" | "burn";
}

export interface Slot {
  readonly nonce: number;
  readonly attempts: readonly SignedAttempt[];
  /** Where an attempt was last seen mined; null: nowhere. */
  readonly mined: { readonly txId: string; readonly height: number; readonly blockHash: string } | null;
}

export type SlotNews =
  /** An attempt is in a block. `depth`: that block is 1. */
  | {
      readonly kind: "mined";
      readonly attempt: SignedAttempt;
      readonly receipt: MinedReceipt;
      readonly depth: number;
      readonly isFinal: boolean;
    }
  /** The block it was mined in is replaced, and none of the attempts is in another one. */
  | { readonly kind: "unmined" }
  /** A final transaction that is none of the attempts has the nonce. */
  | { readonly kind: "foreign" }
  /** The chain does not say yet. */
  | { readonly kind: "waiting" };

export function newsOf(slot: Slot, look: AgreedLook): SlotNews {
  for (const attempt of slot.attempts) {
    const receipt = look.receipts.get(attempt.txId);
    if (receipt === undefined) continue;
    const { depth, isFinal } = look.standingOf(receipt);
    // Heads behind the block itself: the providers that agree on it do not stand above it yet.
    if (depth < 1) continue;
    return { kind: "mined", attempt, receipt, depth, isFinal };
  }
  if (slot.mined !== null) {
    return look.isReplaced(slot.mined.height, slot.mined.blockHash) ? { kind: "unmined" } : { kind: "waiting" };
  }
  const hashes = slot.attempts.map(({ txId }) => txId);
  return look.isConsumedByAnother(slot.nonce, hashes) ? { kind: "foreign" } : { kind: "waiting" };
}
