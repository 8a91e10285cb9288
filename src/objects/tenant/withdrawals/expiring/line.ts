/**
 * Paying out where signed transactions expire by themselves, and exclude each other by nothing else: one of a withdrawal
 * lives at a time.
 */

import { refuse } from "../../../../core/refusal.ts";
import {
  allOpenExpiringPayments,
  changeExpiringPayment,
  type ExpiringPaymentRow,
  expiringAttemptsOf,
  expiringPaymentOf,
  openExpiringPayments,
} from "../../../../store/tenant/expiring-store.ts";
import type { WithdrawalRow } from "../../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../../context.ts";
import { type PayoutLine, roundBy } from "../payout-line.ts";
import { comparePayments } from "./compare.ts";
import { costOf, destinationProblem } from "./cost.ts";
import { payerOf } from "./payer.ts";
import { driveWallet, nextLook } from "./round.ts";
import { MAX_ATTEMPTS } from "./sign.ts";
import { expiringNetwork, expiringSigner } from "./signing.ts";
import { walletView } from "./wallet-view.ts";

export const expiringLine: PayoutLine = {
  means: "a signed transaction is",
  maxAttempts: MAX_ATTEMPTS,
  walletAddress: (c, tenantId, network) => expiringSigner(c, tenantId, network).address,
  isOfWallet: (c, tenantId, network, address) => expiringSigner(c, tenantId, network).address === address,

  round: roundBy(payerOf, driveWallet, nextLook),

  problemOf: () => null,

  async destinationProblem(c, tenantId, intent) {
    const payer = payerOf(c, tenantId, intent.network);
    return payer === null ? null : destinationProblem(payer, intent);
  },

  async costOf(c, tenantId, intent) {
    const payer = payerOf(c, tenantId, intent.network);
    return payer === null ? null : costOf(payer, intent);
  },

  openPayment(c, row) {
    const payment = openPaymentOf(c, row);
    if (payment === null) return null;
    const attempts = expiringAttemptsOf(c.db, row.id);
    return {
      // What has landed is final, and decides.
      minedTxId: null,
      isGivenUp: payment.givenUp === 1,
      attempts: attempts.length,
      payments: attempts.flatMap(({ status, txId }) => (status === "live" ? [txId] : [])),
      holds: holdOf(payment, attempts.find(({ status }) => status === "live")?.txId ?? null),
    };
  },

  /** Another one, also after its deadline, which begins anew. */
  hurry(c, row) {
    const { network } = mustBeOpen(c, row);
    const deadlineAt = c.now() + expiringNetwork(c, network).payout.deadlineS * 1_000;
    changeExpiringPayment(c.db, row.id, { hurried: 1, deadlineAt });
  },

  giveUp(c, row, deadlineAt) {
    mustBeOpen(c, row);
    changeExpiringPayment(c.db, row.id, { givenUp: 1, hurried: 0, deadlineAt });
    return "awaiting_expiry";
  },

  walletView: async (c, tenantId, network) => ({ ok: true, value: await walletView(c, tenantId, network) }),

  async provenSigner(c, tenantId, network, choice) {
    if (choice.type === "derived")
      return { ok: true, value: { row: null, address: expiringSigner(c, tenantId, network.id).address } };
    return refuse("invalid_fields", `On ${network.id} nobody else can sign: its wallet is derived.`, {
      errors: [{ path: "type", message: "expected derived" }],
    });
  },

  inFlight: (c, network, sender) => openExpiringPayments(c.db, network, sender).length,

  /** What expired meanwhile is made anew by the next look. */
  resumed: () => {},

  openName: "open_transactions",
  openCount: (c) => allOpenExpiringPayments(c.db).length,
  openWithdrawals: (c) => allOpenExpiringPayments(c.db).map(({ withdrawalId }) => withdrawalId),
  compare: comparePayments,
};

function holdOf({ givenUp }: ExpiringPaymentRow, live: string | null): string | null {
  if (live !== null)
    return `${live} may still land, and nothing can replace it. It is sent again and again; when it has expired, another one is made.`;
  return givenUp === 1 ? "It was given up: nothing more is signed for it." : null;
}

function openPaymentOf(c: TenantContext, { id }: WithdrawalRow): ExpiringPaymentRow | null {
  const payment = expiringPaymentOf(c.db, id);
  return payment?.status === "open" ? payment : null;
}

function mustBeOpen(c: TenantContext, row: WithdrawalRow): ExpiringPaymentRow {
  const payment = openPaymentOf(c, row);
  if (payment === null) throw new Error(`withdrawal ${row.id} has no open payment`);
  return payment;
}
