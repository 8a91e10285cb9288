/**
 * A payment as the chain commits to it.
 *
 * Identity is (network, tx_id, transfer_index): nothing about where the payment was mined or when it
 * was seen, so a reorganisation that re-mines the same transaction at another height or another log
 * position meets the same key again.
 */

/** The chain's own coin, as the `asset` of a transfer. Any other value is a canonical contract address. */
export const NATIVE = "native";

/**
 * The height of a payment that waits to be mined: above every block, and exact in SQLite and in JSON. Such a
 * payment has an empty block hash and the time stamp 0. No rule counts it: it is deep nowhere.
 */
export const UNMINED = 2 ** 52;

/** Bytes of a memo that are kept. Written as JSON, even of control characters alone, an event stays below 20 KB with them. */
export const MAX_MEMO_BYTES = 512;

export interface TransferKey {
  /** Transaction hash, lower case. */
  readonly txId: string;
  /**
   * EVM: `log:<n>`, n counting inside the receipt (never inside the block), `value` for the
   * transaction's own value, `call:<path>` for an internal call, the path being child positions. Bitcoin: `out:<vout>`.
   * TRON: as on an EVM chain, `call:<n>` being the place in the transaction's list of internal transactions.
   */
  readonly transferIndex: string;
}

export interface Transfer extends TransferKey {
  /** Receiver, canonical form. */
  readonly address: string;
  /** `NATIVE` or the token contract's canonical address. */
  readonly asset: string;
  /** Base units, always above zero. */
  readonly amountUnits: bigint;
  /** `UNMINED`: in no block yet. */
  readonly height: number;
  readonly blockHash: string;
  /**
   * What the sender wrote beside it, of `MAX_MEMO_BYTES` at most: text, or `0x` and hex. Not part of the payment's
   * identity; the transaction's id commits to it. Left out: nothing, or the chain has no such thing.
   */
  readonly memo?: string;
  /** Depth below which the chain itself keeps it from being spent, whatever anybody's policy says; left out: 1. */
  readonly leastDepth?: number;
}

/** One string for one key, for maps and sets inside a process; never stored. */
export function keyText(key: TransferKey): string {
  return `${key.txId}/${key.transferIndex}`;
}

/** Coins that a contract sent on: only traces show them, and not every node has traces. */
export function isInternal({ transferIndex }: TransferKey): boolean {
  return transferIndex.startsWith("call:");
}

/** Whether two transfers under one key pay the same thing. Where and when they were mined does not count. */
export function samePayment(
  a: Pick<Transfer, "address" | "asset" | "amountUnits">,
  b: Pick<Transfer, "address" | "asset" | "amountUnits">,
): boolean {
  return a.address === b.address && a.asset === b.asset && a.amountUnits === b.amountUnits;
}
