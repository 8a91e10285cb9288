/**
 * Sends stored bytes to every provider, and writes down what the answers mean. No answer releases anything or leads to
 * another transaction: what is not understood means the same bytes again, until they have landed or can land no more.
 */

import { type SendMeaning, together } from "../../../../core/send-answer.ts";
import { quorumOf } from "../../../../core/wallet-look.ts";
import {
  changeExpiringAttempt,
  type ExpiringAttemptRow,
  type ExpiringPaymentRow,
  expiringAttemptsOf,
  noteExpiringOutcome,
  noteExpiringSend,
} from "../../../../store/tenant/expiring-store.ts";
import { count } from "../../../../store/tenant/wallet-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { logProvider, setWaitingOf, stopWallet, walletOf } from "../wallet.ts";
import { type ExpiringPayer, heard, liveOf, openOf, withdrawalOf } from "./payer.ts";

/** The same bytes go out again after so long: they live for a minute or so, and nodes drop what they cannot pass on. */
const RESEND_MS = 10_000;

interface Sendable extends ExpiringAttemptRow {
  readonly raw: string;
}

/** @returns how many events were written */
export async function sendPayments(payer: ExpiringPayer): Promise<number> {
  let written = 0;
  for (const payment of openOf(payer)) {
    if (walletOf(payer).status === "stopped") break;
    const attempt = sendableOf(payer, payment);
    if (attempt === null) continue;
    if (attempt.firstSentAt === null && (await isRefused(payer, attempt))) continue;
    written += await sendOne(payer, payment, attempt);
  }
  return written;
}

/** The one that lives, known to D1 and due. While another one lives beside it, nothing of the payment is sent. */
function sendableOf(payer: ExpiringPayer, payment: ExpiringPaymentRow): Sendable | null {
  const [attempt, ...others] = liveOf(payer, payment);
  if (attempt === undefined || others.length > 0) return null;
  const { raw, claimed, refusal, lastSentAt } = attempt;
  if (raw === null || claimed === 0 || refusal !== null) return null;
  if (lastSentAt !== null && payer.c.now() - lastSentAt < RESEND_MS) return null;
  return { ...attempt, raw };
}

/**
 * Tried before the first send, where nodes can. What enough of them refuse is not sent; it counts as dead when it has
 * expired, like everything that was signed.
 */
async function isRefused(payer: ExpiringPayer, attempt: Sendable): Promise<boolean> {
  const { nodes } = payer.chain;
  const tries = heard(payer, "simulate", await Promise.allSettled(nodes.map((node) => node.simulate(attempt.raw))));
  const refusals = tries.flatMap((tried) => (tried !== null && !tried.ok ? [tried.detail] : []));
  const [detail] = refusals;
  if (detail === undefined || refusals.length < quorumOf(nodes.length)) return false;
  logProvider(payer, "simulate", undefined, `${attempt.txId}: ${detail}`);
  return payer.c.storage.transactionSync(() => noteRefusal(payer, attempt, detail));
}

function noteRefusal({ c }: ExpiringPayer, attempt: Sendable, refusal: string): boolean {
  changeExpiringAttempt(c.db, attempt, { refusal });
  return true;
}

async function sendOne(payer: ExpiringPayer, payment: ExpiringPaymentRow, attempt: Sendable): Promise<number> {
  const { c, chain } = payer;
  // Written down before the bytes leave: what has perhaps been sent is known to have been.
  noteExpiringSend(c.db, attempt, c.now());
  if (attempt.sends > 0) count(c.db, "repeated_broadcasts");
  await c.storage.sync();
  const replies = await Promise.all(chain.nodes.map((node) => node.send(attempt.raw, attempt.txId)));
  for (const [i, { meaning, text }] of replies.entries()) {
    // What is said again and again is said once.
    if (meaning !== "accepted" && meaning !== "already_known" && meaning !== attempt.outcome)
      logProvider(payer, "send", chain.nodes[i]?.name, `${meaning}: ${text}`);
  }
  const meaning = together(replies.map((reply) => reply.meaning));
  return c.storage.transactionSync(() => takeAnswer(payer, payment, attempt, meaning));
}

function takeAnswer(
  payer: ExpiringPayer,
  payment: ExpiringPaymentRow,
  attempt: Sendable,
  meaning: SendMeaning,
): number {
  const { c, tenantId } = payer;
  noteExpiringOutcome(c.db, attempt, meaning);
  const now = expiringAttemptsOf(c.db, attempt.withdrawalId).find(({ txId }) => txId === attempt.txId);
  if (now?.status !== "live") return 0;
  const row = withdrawalOf(payer, payment);
  const commit = new WithdrawalCommit(c, tenantId);
  switch (meaning) {
    case "accepted":
    case "already_known":
      if (row.state === "broadcast_pending") {
        const changes = { waitingFor: null };
        commit.move(row, { to: "confirmation_tracking", reason: meaning, evidence: attempt.txId, changes });
      } else {
        setWaitingOf(c, row, null);
      }
      break;
    case "setup_fault":
      stopWallet(payer, `every provider refuses a transaction as wrongly set up: ${attempt.txId}`);
      break;
    case "wallet_short":
      setWaitingOf(c, row, "wallet_top_up");
      break;
    default:
      break;
  }
  return commit.written;
}
