/**
 * What a chain adapter offers to the withdrawal line, for chains whose wallets are sets of coins. One `CoinNode`
 * is one provider. Nothing is repeated behind the caller's back, a send least of all.
 *
 * What excludes two payments of one withdrawal is an input that all its transactions spend: the pinned one.
 */

import type { CoinLook, CoinQuestion, UnspentCoin } from "../core/coin-look.ts";
import type { Coin, CoinRef, Payment } from "../core/coins.ts";
import type { SendMeaning } from "../core/send-answer.ts";

export type { CoinLook, CoinPin, CoinQuestion, Spender, UnspentCoin } from "../core/coin-look.ts";
export type { Coin, CoinRef, Payment } from "../core/coins.ts";
export { coinText } from "../core/coins.ts";

/** What a transaction does. Everything but the change's amount and inputs after the pinned one is fixed by its payments. */
export interface SpendIntent {
  /** The first one is pinned. All of the wallet's own. */
  readonly inputs: readonly Coin[];
  /** What is paid, in this order: canonical addresses, satoshi. Empty: a transaction that pays nobody. */
  readonly payments: readonly Payment[];
  /** Back to the wallet, as the last output; null: what is left is too little to be an output. */
  readonly change: { readonly address: string; readonly path: string; readonly amountUnits: bigint } | null;
}

export interface SignedSpend {
  readonly txId: string;
  /** Serialized and signed, hex. */
  readonly raw: string;
  /** Virtual bytes (BIP-141). */
  readonly vsize: number;
}

/** Signs for one wallet. What comes back is checked by the caller against the intent before it is kept. */
export interface CoinSigner {
  /** Where the wallet is topped up: path `0/0`. */
  readonly address: string;
  /** Where the account key stands, for people: `m/84'/0'/...'`. */
  readonly path: string;
  addressAt(path: string): string;
  /** The raw signed transaction, hex. Deterministic. @throws SignerFault */
  sign(intent: SpendIntent): Promise<string>;
}

export interface SendAnswer {
  readonly meaning: SendMeaning;
  /** The provider's words, fit for a log. */
  readonly text: string;
}

export interface CoinNode {
  /** Host of the provider: safe to log. */
  readonly name: string;
  /** @throws ChainFault */
  look(question: CoinQuestion): Promise<CoinLook>;
  /** Which of these are unspent, in the chain and in the pool; null for one that is not. By `coinText`. @throws ChainFault */
  unspent(refs: readonly CoinRef[]): Promise<ReadonlyMap<string, UnspentCoin | null>>;
  /** One request with these bytes. Never throws for what a provider says or does not say. */
  send(raw: string, txId: string): Promise<SendAnswer>;
  /**
   * Satoshi per 1,000 virtual bytes. `estimate`: what the node expects to be mined in time, null when it has too
   * little to go by; `floor`: what its pool asks at least now. @throws ChainFault
   */
  quote(): Promise<{ readonly estimate: bigint | null; readonly floor: bigint }>;
}
