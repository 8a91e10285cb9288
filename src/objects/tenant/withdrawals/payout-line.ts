/**
 * What differs between chains in paying out, as the rest of the withdrawal line sees it. One line serves every
 * network whose wallets work alike: those that count nonces, those that are sets of coins, those whose transactions
 * expire. Whatever a line does, it keeps the promise of all of them: of everything that is ever signed for a withdrawal
 * one can be carried out at most, and its amount is released only when something final shows that none can be any more.
 */

import type { FeePart } from "../../../core/fee-kind.ts";
import type { NetworkSettings } from "../../../core/network.ts";
import type { Outcome } from "../../../core/refusal.ts";
import type { WalletView, WithdrawalAttemptView } from "../../../core/views.ts";
import type { SignerRow } from "../../../store/tenant/wallet-store.ts";
import type { WithdrawalRow } from "../../../store/tenant/withdrawal-store.ts";
import type { SignerChoice } from "../../api.ts";
import type { TenantContext } from "../context.ts";
import type { Findings } from "./findings.ts";
import type { WithdrawalIntent } from "./intent.ts";
import { type HotWallet, logProvider } from "./wallet.ts";

/** What is written down about payments. Reads rows alone. */
export interface PaymentRecords {
  /** Everything that was signed for a withdrawal, oldest first. */
  attempts(c: TenantContext, row: Omit<WithdrawalRow, "seq">): WithdrawalAttemptView[];
  /** The withdrawals for which a transaction with this id was signed. */
  withdrawalsOfTx(c: TenantContext, txId: string): string[];
}

/** How the payment of one withdrawal stands that no final transaction has decided yet. */
export interface OpenPayment {
  /** Our transaction that is in a block; null: none is. */
  readonly minedTxId: string | null;
  /** What is signed from here on does not pay it. */
  readonly isGivenUp: boolean;
  /** How many transactions were signed so far, and the ids of those that pay it. */
  readonly attempts: number;
  readonly payments: readonly string[];
  /** Why no other attempt can be wanted now, for people; null: it can. */
  readonly holds: string | null;
}

/** Base units of the native coin. */
export interface Cost {
  readonly now: bigint;
  readonly most: bigint;
  /** What `now` is made of, where fees are of several kinds. */
  readonly parts?: readonly FeePart[];
  readonly warning: string | null;
}

/** Without what is said of every wallet in the same way. */
export type BareWalletView = Omit<WalletView, "status" | "incident">;

/** One wallet in one round. */
export interface WalletRound {
  /** Looks at the chain and goes on from there as far as it can. @returns how many events were written */
  drive(): Promise<number>;
  /** Milliseconds to the next look; null when nothing is under way. */
  nextLook(): number | null;
  /** What kept the round from its end. */
  log(error: unknown): void;
}

export interface ComparedScope {
  /** Withdrawals of the line's own networks. */
  readonly withdrawals: readonly WithdrawalRow[];
  readonly isOwn: (network: string) => boolean;
}

export interface PayoutLine {
  /** What a withdrawal is paid with, in refusals, with its verb: `a nonce is`, `coins are`. */
  readonly means: string;
  /** At most so many transactions are signed for one payment. */
  readonly maxAttempts: number;

  /** The name of the wallet in use. */
  walletAddress(c: TenantContext, tenantId: string, network: string): string;
  isOfWallet(c: TenantContext, tenantId: string, network: string, address: string): boolean;
  /** Null when the network is switched off. */
  round(c: TenantContext, tenantId: string, network: string, sender: string): WalletRound | null;
  /** What is wrong with an amount on this network; null: nothing. */
  problemOf(c: TenantContext, intent: WithdrawalIntent): string | null;
  /** What the chain knows against a destination; null: nothing, or nobody can tell now. Left out: nothing that the address does not tell. */
  destinationProblem?(c: TenantContext, tenantId: string, intent: WithdrawalIntent): Promise<string | null>;
  /** Null: nobody can tell. */
  costOf(c: TenantContext, tenantId: string, intent: WithdrawalIntent): Promise<Cost | null>;

  /** Null when the withdrawal has none: nothing was chosen for it, or a final transaction has decided. */
  openPayment(c: TenantContext, row: WithdrawalRow): OpenPayment | null;
  /** The next attempt is wanted now. In the caller's commit. */
  hurry(c: TenantContext, row: WithdrawalRow): void;
  /** The next attempt shall not pay it. In the caller's commit. @returns the reason of the step */
  giveUp(c: TenantContext, row: WithdrawalRow, deadlineAt: number): string;

  /** Refused where the wallet cannot be shown yet. */
  walletView(c: TenantContext, tenantId: string, network: string): Promise<Outcome<BareWalletView>>;
  /** Who shall sign: its proven row, or null for the derived key. */
  provenSigner(
    c: TenantContext,
    tenantId: string,
    network: NetworkSettings,
    choice: SignerChoice,
  ): Promise<Outcome<{ readonly row: SignerRow | null; readonly address: string }>>;
  /** Transactions of a wallet that no final one has decided. */
  inFlight(c: TenantContext, network: string, sender: string): number;
  /** The wallet goes on: what stopped it is tried again with more, not with the same. In the caller's commit. */
  resumed(c: TenantContext, network: string, sender: string): void;

  /** The name in a report for what is open, how much that is, and whose it is. */
  readonly openName: string;
  openCount(c: TenantContext): number;
  openWithdrawals(c: TenantContext): string[];
  /**
   * Compares payments with D1 and the chain. What others say is asked for first; what is given back is called in
   * one turn, and holds their answers against the rows as they are then.
   */
  compare(c: TenantContext, tenantId: string, scope: ComparedScope, findings: Findings): Promise<() => void>;
}

/** A line's rounds. @param payerOf the wallet as its line drives it; null when the network is switched off */
export function roundBy<Payer extends HotWallet>(
  payerOf: (c: TenantContext, tenantId: string, network: string, sender: string) => Payer | null,
  drive: (payer: Payer) => Promise<number>,
  nextLook: (payer: Payer) => number | null,
): PayoutLine["round"] {
  return (c, tenantId, network, sender) => {
    const payer = payerOf(c, tenantId, network, sender);
    if (payer === null) return null;
    return {
      drive: () => drive(payer),
      nextLook: () => nextLook(payer),
      log: (error) => logProvider(payer, "drive", undefined, error),
    };
  };
}
