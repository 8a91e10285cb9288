/** The coins that a wallet is made of, where a chain keeps outputs instead of balances. */

/** An output, as the transaction that spends it names it. */
export interface CoinRef {
  /** 64 hex digits, lower case, in the order in which people read them. */
  readonly txId: string;
  readonly vout: number;
}

/** An output of our own. */
export interface Coin extends CoinRef {
  /** Satoshi. */
  readonly amountUnits: bigint;
  /** Canonical. */
  readonly address: string;
  /** Where its key stands below the wallet's account key: `0/0`, `1/7`. */
  readonly path: string;
}

export interface Payment {
  /** Canonical. */
  readonly address: string;
  /** Satoshi. */
  readonly amountUnits: bigint;
}

/** One string for one coin, for maps and sets. */
export function coinText({ txId, vout }: CoinRef): string {
  return `${txId}:${vout}`;
}
