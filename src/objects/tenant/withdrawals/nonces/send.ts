/**
 * Sends stored bytes to every provider, lowest nonce first, and writes down what the answers mean. No answer
 * releases anything, and what is not understood means: the same bytes again, later.
 */

import { meaningOf, type SendMeaning, together } from "../../../../core/send-answer.ts";
import {
  type AttemptRow,
  attemptsOf,
  noteOutcome,
  noteSend,
  openSlots,
  type SlotRow,
} from "../../../../store/tenant/slot-store.ts";
import { count } from "../../../../store/tenant/wallet-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { logProvider, stopForForeignSpend, stopWallet, walletOf } from "../wallet.ts";
import { type Payer, setWaiting, withdrawalOf } from "./payer.ts";

/** The same bytes go out again after so long, as long as they are not mined: pools forget. */
const RESEND_MS = 30_000;

/** @returns how many events were written */
export async function sendSlots(payer: Payer, head: number): Promise<number> {
  const { c, network, sender } = payer;
  let written = 0;
  for (const slot of openSlots(c.db, network.id, sender)) {
    if (walletOf(payer).status === "stopped") break;
    const attempt = attemptsOf(c.db, slot).at(-1);
    if (attempt === undefined || slot.minedTxId !== null) continue;
    if (attempt.lastSentAt !== null && c.now() - attempt.lastSentAt < RESEND_MS) continue;
    written += await sendOne(payer, slot, attempt, head);
  }
  return written;
}

async function sendOne(payer: Payer, slot: SlotRow, attempt: AttemptRow, head: number): Promise<number> {
  const { c, nodes } = payer;
  // Written down before the bytes leave: what has perhaps been sent is known to have been.
  noteSend(c.db, attempt, c.now(), head);
  if (attempt.sends > 0) count(c.db, "repeated_broadcasts");
  await c.storage.sync();
  const replies = await Promise.all(nodes.map((node) => node.send(attempt.raw)));
  const meanings = replies.map((reply) => meaningOf(reply, attempt.txId));
  for (const [i, reply] of replies.entries()) {
    const said = reply.kind === "hash" ? null : `${meanings[i]}: ${reply.text}`;
    if (said !== null && meanings[i] !== "already_known") logProvider(payer, "send", nodes[i]?.name, said);
  }
  const meaning = together(meanings);
  return c.storage.transactionSync(() => takeAnswer(payer, slot, attempt, meaning));
}

function takeAnswer(payer: Payer, slot: SlotRow, attempt: AttemptRow, meaning: SendMeaning): number {
  const { c, tenantId } = payer;
  noteOutcome(c.db, attempt, meaning);
  const row = withdrawalOf(payer, slot);
  const commit = new WithdrawalCommit(c, tenantId);
  switch (meaning) {
    case "accepted":
    case "already_known":
      if (row?.state === "broadcast_pending") {
        commit.move(row, {
          to: "confirmation_tracking",
          reason: meaning,
          evidence: attempt.txId,
          changes: { waitingFor: null },
        });
      } else {
        setWaiting(payer, slot, null);
      }
      break;
    case "replacement_underpriced":
      // Ours offers less than what is there. With a single attempt, what is there is not ours.
      if (attempt.number > 1) break;
      stopForForeignSpend(payer, `nonce ${slot.nonce} is held in the pool by a transaction that is not ours`);
      if (row?.state === "broadcast_pending" || row?.state === "confirmation_tracking") {
        commit.move(row, {
          to: "manual_review",
          reason: "nonce_held_by_another",
          evidence: attempt.txId,
          changes: { waitingFor: "person" },
        });
      }
      break;
    case "setup_fault":
      stopWallet(payer, `every provider refuses nonce ${slot.nonce} as wrongly set up: ${attempt.txId}`);
      break;
    case "wallet_short":
      setWaiting(payer, slot, "wallet_top_up");
      break;
    default:
      break;
  }
  return commit.written;
}
