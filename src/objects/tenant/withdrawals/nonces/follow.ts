/**
 * Takes in what the chain made of every open nonce: tracking, confirmed, failed, back to tracking, or a
 * person's turn. Nothing is released here but on a final transaction of the same nonce.
 */

import { unitsFromText } from "../../../../core/amount.ts";
import { networkRule } from "../../../../core/policy.ts";
import { newsOf, type Slot, type SlotNews } from "../../../../core/slot.ts";
import { NATIVE } from "../../../../core/transfer.ts";
import { showsPayment } from "../../../../core/transfer-log.ts";
import type { AgreedLook } from "../../../../core/wallet-look.ts";
import { attemptsOf, changeSlot, openSlots, type SlotRow, sendAgain } from "../../../../store/tenant/slot-store.ts";
import { count, raiseWallet } from "../../../../store/tenant/wallet-store.ts";
import { changeWithdrawal, type WithdrawalRow } from "../../../../store/tenant/withdrawal-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { askPerson, isLate, judgeMined, type MinedFacts, takeBack } from "../settle.ts";
import { stopForForeignSpend } from "../wallet.ts";
import { type Payer, withdrawalOf } from "./payer.ts";

type Mined = Extract<SlotNews, { kind: "mined" }>;

/** A pool may hold so many more transactions of the wallet than are mined; beyond it a count is not believed. */
const MAX_POOLED = 64;

/**
 * @param consumers by nonce: the transaction that has a nonce none of ours has; null: nobody could name it
 * @returns how many events were written
 */
export function follow(payer: Payer, look: AgreedLook, consumers: ReadonlyMap<number, string | null>): number {
  const { c, tenantId, network, sender } = payer;
  return c.storage.transactionSync(() => {
    const commit = new WithdrawalCommit(c, tenantId);
    const pooled = Math.min(look.noncePending, look.nonceLatest + MAX_POOLED);
    raiseWallet(c.db, { network: network.id, sender }, { usedBelow: look.nonceLatest });
    raiseWallet(c.db, { network: network.id, sender }, { nextNonce: Math.max(look.nonceLatest, pooled) });
    for (const row of openSlots(c.db, network.id, sender)) {
      const news = newsOf(slotOf(payer, row), look);
      switch (news.kind) {
        case "mined":
          takeMined(payer, commit, row, news);
          if (!news.isFinal) askAtDeadline(payer, commit, { ...row, minedTxId: news.receipt.txId });
          break;
        case "unmined":
          takeUnmined(payer, commit, row, look.head);
          break;
        case "foreign":
          takeForeign(payer, commit, row, consumers);
          break;
        case "waiting":
          askAtDeadline(payer, commit, row);
      }
    }
    return commit.written;
  });
}

/** The nonces that a final transaction has which is none of ours. */
export function foreignNonces(payer: Payer, look: AgreedLook): number[] {
  return openSlots(payer.c.db, payer.network.id, payer.sender)
    .filter((row) => newsOf(slotOf(payer, row), look).kind === "foreign")
    .map(({ nonce }) => nonce);
}

function slotOf(payer: Payer, row: SlotRow): Slot {
  const { nonce, minedTxId: txId, minedHeight: height, minedBlockHash: blockHash } = row;
  const mined = txId === null || height === null || blockHash === null ? null : { txId, height, blockHash };
  return { nonce, attempts: attemptsOf(payer.c.db, row), mined };
}

function takeMined(payer: Payer, commit: WithdrawalCommit, slot: SlotRow, news: Mined): void {
  const { db } = payer.c;
  const { txId, height, blockHash, feeUnits } = news.receipt;
  const isNew = slot.minedTxId !== txId || slot.minedBlockHash !== blockHash;
  if (isNew) changeSlot(db, slot, { minedTxId: txId, minedHeight: height, minedBlockHash: blockHash });
  let row = withdrawalOf(payer, slot);
  if (row !== undefined) {
    if (isNew) {
      // What only makes the payment void is neither its transaction nor its fee.
      const own = news.attempt.kind === "payment" ? { txId, feeUnits: feeUnits.toString() } : { feeUnits: null };
      const changes = { ...own, waitingFor: row.state === "manual_review" ? row.waitingFor : null };
      changeWithdrawal(db, row.id, changes);
      row = { ...row, ...changes };
    }
    judgeMined(payer.c, commit, row, factsOf(payer, row, news, isNew));
  }
  if (!news.isFinal) return;
  changeSlot(db, slot, { status: "final" });
  commit.bookFee(slot, slot.withdrawalId, feeUnits);
}

function factsOf(payer: Payer, row: WithdrawalRow, news: Mined, isNew: boolean): MinedFacts {
  const { attempt, receipt, isFinal } = news;
  const succeeded = attempt.kind === "payment" && receipt.success;
  return {
    succeeded,
    isPaid: succeeded && isPaymentShown(payer, row, news),
    isDeep: isDeepEnough(payer, news),
    isFinal,
    isNew,
    evidence: `${receipt.txId} in block ${receipt.height} ${receipt.blockHash}`,
    failure: attempt.kind === "burn" ? "nonce_burnt" : "reverted_on_chain",
  };
}

function isPaymentShown({ sender }: Payer, row: WithdrawalRow, { receipt }: Mined): boolean {
  if (row.asset === NATIVE) return true;
  const amountUnits = unitsFromText(row.amountUnits);
  return showsPayment(receipt.logs, { contract: row.asset, from: sender, to: row.destination, amountUnits });
}

function isDeepEnough({ network }: Payer, { depth, isFinal }: Mined): boolean {
  const rule = networkRule(network);
  return isFinal || (rule !== "finalized" && depth >= rule);
}

function takeUnmined(payer: Payer, commit: WithdrawalCommit, slot: SlotRow, head: number): void {
  const { c, network } = payer;
  const evidence = `block ${slot.minedHeight} ${slot.minedBlockHash} was replaced`;
  const deadlineAt = c.now() + network.payout.deadlineS * 1_000;
  changeSlot(c.db, slot, { minedTxId: null, minedHeight: null, minedBlockHash: null, deadlineAt });
  sendAgain(c.db, slot, head);
  const row = withdrawalOf(payer, slot);
  if (row !== undefined) takeBack(c, commit, row, evidence);
}

/** Somebody else signs with this key: nothing more is signed here until a person has looked. */
function takeForeign(
  payer: Payer,
  commit: WithdrawalCommit,
  slot: SlotRow,
  consumers: ReadonlyMap<number, string | null>,
): void {
  const { c } = payer;
  const consumer = consumers.get(slot.nonce);
  // Not looked for yet, or it is one of ours whose receipt was late: the next look tells.
  const isOurs = consumer !== null && attemptsOf(c.db, slot).some(({ txId }) => txId === consumer);
  if (consumer === undefined || isOurs) {
    askAtDeadline(payer, commit, slot);
    return;
  }
  const evidence = consumer === null ? "nobody could name the transaction" : consumer;
  changeSlot(c.db, slot, { status: "final" });
  stopForForeignSpend(payer, `nonce ${slot.nonce} was spent by a transaction that is not ours: ${evidence}`);
  count(c.db, "foreign_spends");
  const row = withdrawalOf(payer, slot);
  if (row === undefined) return;
  const reason = consumer === null ? "nonce_spent_by_unknown" : "nonce_spent_by_another";
  if (row.state === "funds_reserved") {
    // Spent before it was claimed: nothing was signed, and another nonce will do.
    changeSlot(c.db, slot, { withdrawalId: null });
    changeWithdrawal(c.db, row.id, { sender: null, nonce: null });
  } else {
    askPerson(commit, row, { reason, evidence });
  }
}

function askAtDeadline(payer: Payer, commit: WithdrawalCommit, slot: SlotRow): void {
  if (!isLate(payer.c, slot)) return;
  const last = attemptsOf(payer.c.db, slot).at(-1);
  const evidence = last === undefined ? "nothing was signed" : `${last.txId}: ${last.outcome ?? "not sent"}`;
  askPerson(commit, withdrawalOf(payer, slot), { reason: "deadline", evidence });
}
