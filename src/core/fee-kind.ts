/** What networks take fees for, where they take several. */

export const FEE_KINDS = ["bandwidth", "energy", "account", "signature", "priority", "token_account"] as const;

/**
 * TRON: `bandwidth` of the transaction's bytes, `energy` of the token's contract, `account` that does not exist yet.
 * Solana: `signature`, `priority`, and the rent of the receiver's `token_account`.
 */
export type FeeKind = (typeof FEE_KINDS)[number];

export interface FeePart {
  readonly kind: FeeKind;
  /** What is used, in its own measure: bytes, energy; null: it is one thing. */
  readonly quantity: number | null;
  /** What of it is paid for, in base units of the native coin. */
  readonly units: bigint;
}
