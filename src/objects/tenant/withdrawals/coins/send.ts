/**
 * Sends stored bytes to every provider, and writes down what the answers mean. No answer releases anything, and
 * what is not understood means: the same bytes again, later.
 */

import { type SendMeaning, together } from "../../../../core/send-answer.ts";
import {
  noteSpendOutcome,
  noteSpendSend,
  openSpends,
  type SpendAttemptRow,
  type SpendRow,
  spendAttemptsOf,
} from "../../../../store/tenant/spend-store.ts";
import { count } from "../../../../store/tenant/wallet-store.ts";
import { withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { askPerson } from "../settle.ts";
import { logProvider, setWaitingOf, stopForForeignSpend, stopWallet, walletOf } from "../wallet.ts";
import { type CoinPayer, pinText, setWaiting, withdrawalsOf } from "./payer.ts";

/** The same bytes go out again after so long, as long as they are not mined: pools forget. */
const RESEND_MS = 30_000;

/** @returns how many events were written */
export async function sendSpends(payer: CoinPayer, head: number): Promise<number> {
  const { c, network, sender } = payer;
  let written = 0;
  for (const spend of openSpends(c.db, network.id, sender)) {
    if (walletOf(payer).status === "stopped") break;
    const attempt = spendAttemptsOf(c.db, spend).at(-1);
    if (attempt === undefined || spend.minedTxId !== null) continue;
    if (attempt.lastSentAt !== null && c.now() - attempt.lastSentAt < RESEND_MS) continue;
    written += await sendOne(payer, spend, attempt, head);
  }
  return written;
}

async function sendOne(payer: CoinPayer, spend: SpendRow, attempt: SpendAttemptRow, head: number): Promise<number> {
  const { c, nodes } = payer;
  // Written down before the bytes leave: what has perhaps been sent is known to have been.
  noteSpendSend(c.db, attempt, c.now(), head);
  if (attempt.sends > 0) count(c.db, "repeated_broadcasts");
  await c.storage.sync();
  const answers = await Promise.all(nodes.map((node) => node.send(attempt.raw, attempt.txId)));
  for (const [i, { meaning, text }] of answers.entries()) {
    if (meaning !== "accepted" && meaning !== "already_known")
      logProvider(payer, "send", nodes[i]?.name, `${meaning}: ${text}`);
  }
  const meaning = together(answers.map((answer) => answer.meaning));
  return c.storage.transactionSync(() => takeAnswer(payer, spend, attempt, meaning));
}

function takeAnswer(payer: CoinPayer, spend: SpendRow, attempt: SpendAttemptRow, meaning: SendMeaning): number {
  const { c, tenantId } = payer;
  noteSpendOutcome(c.db, attempt, meaning);
  const commit = new WithdrawalCommit(c, tenantId);
  switch (meaning) {
    case "accepted":
    case "already_known":
      for (const id of attempt.pays) {
        const row = withdrawalById(c.db, id);
        if (row?.state === "broadcast_pending") {
          const changes = { waitingFor: null };
          commit.move(row, { to: "confirmation_tracking", reason: meaning, evidence: attempt.txId, changes });
        } else {
          setWaitingOf(c, row, null);
        }
      }
      break;
    case "replacement_underpriced":
      // Ours offers less than what is there. With a single attempt, what is there is not ours.
      if (attempt.attempt > 1) break;
      stopForForeignSpend(payer, `${pinText(spend)} is spent in the pool by a transaction that is not ours`);
      for (const row of withdrawalsOf(payer, spend))
        askPerson(commit, row, { reason: "input_held_by_another", evidence: attempt.txId });
      break;
    case "setup_fault":
      stopWallet(payer, `every provider refuses spend ${spend.number} as wrongly set up: ${attempt.txId}`);
      break;
    case "wallet_short":
      setWaiting(payer, spend, "wallet_top_up");
      break;
    default:
      break;
  }
  return commit.written;
}
