/**
 * What a chain adapter offers to the withdrawal line, for chains whose wallets are sets of coins. One `CoinNode`
 * is one provider. Nothing is repeated behind the caller's back, a send least of all.
 *
 * What excludes two payments of one withdrawal is an input that all its transactions spend: the pinned one.
 */

import type { SendMeaning } from "../core/send-answer.ts";

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

/** What a transaction does. Everything but the change's amount and inputs after the pinned one is fixed by its payments. */
export interface SpendIntent {
  /** The first one is pinned. All of the wallet's own. */
  readonly inputs: readonly Coin[];
  /** What is paid, in this order: canonical addresses, satoshi. Empty: a transaction that pays nobody. */
  readonly payments: readonly { readonly address: string; readonly amountUnits: bigint }[];
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

export interface CoinQuestion {
  /** Pinned inputs whose spender is wanted. */
  readonly pins: readonly CoinPin[];
  /** Heights whose block hash is wanted: where attempts were seen mined. */
  readonly heights: readonly number[];
}

export interface CoinPin {
  readonly ref: CoinRef;
  /** No spender stands below this height: the search begins here. */
  readonly from: number;
}

/** A transaction that spends an input, as a block has it. */
export interface Spender {
  readonly txId: string;
  readonly height: number;
  readonly blockHash: string;
  readonly inputs: readonly CoinRef[];
  /** Script in hex, satoshi. */
  readonly outputs: readonly { readonly script: string; readonly amountUnits: bigint }[];
}

/** One provider's answers to one question, all of one moment: its head did not move while they were given. */
export interface CoinLook {
  readonly head: number;
  readonly headHash: string;
  /**
   * By `coinText` of the pin: who spends it on this provider's best chain; null: nobody, and it is there to be
   * spent; `"missing"`: it neither exists there nor was it spent from the pin's height on. Absent: it cannot tell.
   */
  readonly spenders: ReadonlyMap<string, Spender | "missing" | null>;
  /** Hash of the block at each height asked for; absent where it has none. */
  readonly blocks: ReadonlyMap<number, string>;
}

export interface UnspentCoin {
  readonly amountUnits: bigint;
  /** Hex. */
  readonly script: string;
  /** 1: in the head block. */
  readonly depth: number;
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

/** One string for one coin, for maps and sets. */
export function coinText({ txId, vout }: CoinRef): string {
  return `${txId}:${vout}`;
}
