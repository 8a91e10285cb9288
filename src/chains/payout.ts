/**
 * What a chain adapter offers to the withdrawal line, for chains whose wallets count nonces. One `PayoutNode`
 * is one provider. Nothing is repeated behind the caller's back, a send least of all.
 */

import type { FeeQuote, Fees } from "../core/fees.ts";
import type { SendReply } from "../core/send-answer.ts";
import type { WalletLook, WalletQuestion } from "../core/wallet-look.ts";

/** What a transaction does. Everything but fees is the same in every attempt of a nonce. */
export interface Intent {
  readonly chainId: number;
  readonly sender: string;
  readonly nonce: number;
  /** The receiver, or the token contract. Canonical, as all addresses here. */
  readonly to: string;
  readonly valueUnits: bigint;
  /** `0x` for a plain transfer. */
  readonly data: string;
  readonly gasLimit: bigint;
  readonly fees: Fees;
}

export interface SignedTransaction {
  readonly txId: string;
  /** Serialized and signed, hex. */
  readonly raw: string;
}

/** A call as it would be made, to ask a node about it. */
export interface Call {
  readonly sender: string;
  readonly to: string;
  readonly valueUnits: bigint;
  readonly data: string;
}

export type GasEstimate =
  | { readonly ok: true; readonly gas: bigint }
  /** The execution would revert now. `detail`: the node's words, made fit for a message. */
  | { readonly ok: false; readonly detail: string };

export interface PayoutNode {
  /** Host of the provider: safe to log. */
  readonly name: string;
  /** @throws ChainFault */
  look(question: WalletQuestion): Promise<WalletLook>;
  /** One request with these bytes. Never throws for what a provider says or does not say. */
  send(raw: string): Promise<SendReply>;
  /** @throws ChainFault */
  quote(): Promise<FeeQuote>;
  /** Gas of a call on top of the latest block. @throws ChainFault when the node does not say */
  estimate(call: Call): Promise<GasEstimate>;
  /**
   * Base units at the latest block: of the native coin, then of each contract in the order asked; null for a
   * contract that does not say. @throws ChainFault
   */
  balances(owner: string, contracts: readonly string[]): Promise<readonly (bigint | null)[]>;
  /** The final transaction of a sender that has this nonce, looked for in `from..to`; null when not found. @throws ChainFault */
  consumerOf(sender: string, nonce: number, from: number, to: number): Promise<{ txId: string; height: number } | null>;
}

/** Signs for one address. What comes back is checked by the caller against the intent before it is kept. */
export interface Signer {
  readonly address: string;
  /** The raw signed transaction, hex. @throws SignerFault */
  sign(intent: Intent): Promise<string>;
}

/** No signature. `retryable` says whether asking again may help. The message holds no secret. */
export class SignerFault extends Error {
  override readonly name = "SignerFault";
  constructor(
    message: string,
    readonly retryable: boolean,
  ) {
    super(message);
  }
}
