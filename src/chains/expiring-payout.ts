/**
 * What a chain adapter offers to the withdrawal line, for chains whose signed transactions expire by themselves and
 * exclude each other by nothing else. One `ExpiringNode` is one provider. Nothing is repeated behind the caller's
 * back, a send least of all.
 *
 * One signed transaction of a withdrawal lives at a time. Another one is made only when final blocks past the
 * expiry of the one before do not have it.
 */

import type { ExpiringLook, ExpiringQuestion } from "../core/expiring-look.ts";
import type { FeePart } from "../core/fee-kind.ts";
import type { NetworkSettings } from "../core/network.ts";
import type { SendMeaning } from "../core/send-answer.ts";

export type { ExpiringLook, ExpiringQuestion, Landed } from "../core/expiring-look.ts";

/** What is to be paid. The same in every attempt of a withdrawal. */
export interface ExpiringIntent {
  /** Canonical, as all addresses here. */
  readonly sender: string;
  /** `NATIVE` or the token's contract (TRON) or mint (Solana). */
  readonly asset: string;
  readonly decimals: number;
  readonly destination: string;
  readonly amountUnits: bigint;
  /** Most that it may cost in fees of every kind, base units of the native coin. */
  readonly maxFeeUnits: bigint;
}

/** A transaction made for one attempt, to be signed. */
export interface Unsigned {
  /** What is signed, hex. */
  readonly bytes: string;
  /**
   * The last point at which it can land, in the chain's own measure: milliseconds of block time (TRON), a block
   * height (Solana). Never earlier than the truth, whatever a provider says.
   */
  readonly expiresAt: number;
  /** Most that it can cost, base units of the native coin. */
  readonly feeMostUnits: bigint;
}

export type Prepared =
  | { readonly ok: true; readonly unsigned: Unsigned }
  /** `refused`: the chain itself would not carry it out now, and a later try may do no better. */
  | { readonly ok: false; readonly reason: "fee_above_cap" | "wallet_short" | "refused"; readonly detail: string };

export interface SignedExpiring {
  readonly txId: string;
  /** Serialized and signed, hex. */
  readonly raw: string;
}

export type ReadExpiring =
  | { readonly ok: true; readonly signed: SignedExpiring }
  | { readonly ok: false; readonly problem: string };

export interface ExpiringSigner {
  readonly address: string;
  /** Where the key is found from the seed, for people. No secret. */
  readonly path: string;
  /** The whole signed transaction, hex. Deterministic. @throws SignerFault */
  sign(unsigned: Unsigned): Promise<string>;
}

export interface ExpiringCost {
  readonly nowUnits: bigint;
  readonly mostUnits: bigint;
  /** What `nowUnits` is made of. */
  readonly parts: readonly FeePart[];
  /** What would keep it from being paid now, in words; null: nothing that is known. */
  readonly warning: string | null;
}

export interface ExpiringNode {
  /** Host of the provider: safe to log. */
  readonly name: string;
  /** @throws ChainFault */
  look(question: ExpiringQuestion): Promise<ExpiringLook>;
  /** Makes a transaction that can land from now on. @throws ChainFault */
  prepare(intent: ExpiringIntent): Promise<Prepared>;
  /** What the node makes of signed bytes without sending them; null where it cannot be asked. @throws ChainFault */
  simulate(raw: string): Promise<{ readonly ok: true } | { readonly ok: false; readonly detail: string } | null>;
  /** One request with these bytes. Never throws for what a provider says or does not say. */
  send(raw: string, txId: string): Promise<{ readonly meaning: SendMeaning; readonly text: string }>;
  /** @throws ChainFault */
  cost(intent: ExpiringIntent): Promise<ExpiringCost>;
  /**
   * Why nobody could be paid there, in words, where an address alone does not tell; null: nothing that is known.
   * @throws ChainFault
   */
  destinationProblem?(intent: ExpiringIntent): Promise<string | null>;
  /** Base units, final: of the native coin, then of each contract; null for one that does not say. @throws ChainFault */
  balances(owner: string, contracts: readonly string[]): Promise<readonly (bigint | null)[]>;
}

/** Everything of one family that paying out takes. */
export interface ExpiringChain {
  readonly nodes: readonly ExpiringNode[];
  /**
   * Beyond the point that final blocks have reached, the furthest at which what is signed now may expire, in the
   * measure of `expiresAt`. What one provider dates later would keep its withdrawal waiting for as long as it likes.
   */
  readonly longestLife: number;
  /** @param seedHex as for every derived wallet @throws Error for a seed that is none */
  signer(seedHex: string, tenantId: string): ExpiringSigner;
  /**
   * The last point at which anything that was signed can land, whatever a provider said of its expiry, when final blocks
   * had reached this one. Absent where the signed bytes state their expiry themselves.
   */
  readonly landsUntil?: (finalPoint: number) => number;
  /** Decodes signed bytes and compares them with what was approved, field by field. */
  read(raw: string, unsigned: Unsigned, intent: ExpiringIntent): ReadExpiring;
}

export type ExpiringNetwork = Extract<NetworkSettings, { payout: { kind: "expiring" } }>;
