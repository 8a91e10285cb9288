/**
 * Takes in what the chain made of every open spend, by the output that all its attempts spend: tracking, confirmed,
 * failed, back to tracking, or a person's turn. Nothing is released here but on a final transaction that spends it.
 */

import { unitsFromText } from "../../../../core/amount.ts";
import type { AgreedCoins } from "../../../../core/coin-look.ts";
import { coinText } from "../../../../core/coins.ts";
import { newsOfSpend, type Spend, type SpendNews, shareOf } from "../../../../core/spend.ts";
import { removeCoin } from "../../../../store/tenant/coin-store.ts";
import {
  changeInput,
  changeSpend,
  deleteSpend,
  inputsOf,
  openSpends,
  removeInput,
  type SpendAttemptRow,
  type SpendRow,
  sendSpendAgain,
  spendAt,
  spendAttemptsOf,
  spendsOfTx,
} from "../../../../store/tenant/spend-store.ts";
import { count } from "../../../../store/tenant/wallet-store.ts";
import { changeWithdrawal } from "../../../../store/tenant/withdrawal-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { askPerson, isLate, judgeMined, takeBack } from "../settle.ts";
import { stopForForeignSpend } from "../wallet.ts";
import { type CoinPayer, deepOf, pinOf, pinText, withdrawalsOf } from "./payer.ts";
import { followSearch } from "./search-start.ts";

type Mined = Extract<SpendNews, { kind: "mined" }>;
type Foreign = Extract<SpendNews, { kind: "foreign" }>;

/** @returns how many events were written */
export function follow(payer: CoinPayer, look: AgreedCoins): number {
  const { c, tenantId, network, sender } = payer;
  return c.storage.transactionSync(() => {
    const commit = new WithdrawalCommit(c, tenantId);
    for (const row of openSpends(c.db, network.id, sender)) {
      const attempts = spendAttemptsOf(c.db, row);
      const news = newsOfSpend(spendOf(row, attempts), look, network.reorgWindow);
      switch (news.kind) {
        case "mined":
          takeMined(payer, commit, row, attempts, news);
          if (!news.isFinal) askAtDeadline(payer, commit, { ...row, minedTxId: news.spender.txId });
          break;
        case "unmined":
          takeUnmined(payer, commit, row, look.head);
          break;
        case "foreign":
          if (row.minedTxId !== null) takeUnmined(payer, commit, row, look.head);
          takeForeign(payer, commit, row, news);
          break;
        case "waiting":
          if (!takeNeverMade(payer, commit, row, look)) askAtDeadline(payer, commit, row);
      }
    }
    followSearch(payer, look);
    return commit.written;
  });
}

function spendOf(row: SpendRow, attempts: readonly SpendAttemptRow[]): Spend {
  const { minedHeight: height, minedBlockHash: blockHash } = row;
  return { pin: pinOf(row), attempts, mined: height === null || blockHash === null ? null : { height, blockHash } };
}

function takeMined(
  payer: CoinPayer,
  commit: WithdrawalCommit,
  spend: SpendRow,
  attempts: readonly SpendAttemptRow[],
  news: Mined,
): void {
  const { c, network } = payer;
  const { txId, height, blockHash } = news.spender;
  const attempt = attempts.find((one) => one.attempt === news.attempt);
  if (attempt === undefined) throw new Error(`spend ${spend.number} has no attempt ${news.attempt}`);
  const feeUnits = unitsFromText(attempt.feeUnits);
  const isNew = spend.minedTxId !== txId || spend.minedBlockHash !== blockHash;
  if (isNew) {
    const mined = { minedAttempt: news.attempt, minedTxId: txId, minedHeight: height, minedBlockHash: blockHash };
    changeSpend(c.db, spend, mined);
  }
  for (const found of withdrawalsOf(payer, spend)) {
    const place = attempt.pays.indexOf(found.id);
    let row = found;
    if (isNew) {
      // What does not pay it is neither its transaction nor its fee.
      const share = () => shareOf(feeUnits, place, attempt.pays.length).toString();
      const own = place === -1 ? { feeUnits: null } : { txId, feeUnits: share() };
      const changes = { ...own, waitingFor: row.state === "manual_review" ? row.waitingFor : null };
      changeWithdrawal(c.db, row.id, changes);
      row = { ...row, ...changes };
    }
    judgeMined(c, commit, row, {
      succeeded: place !== -1,
      isPaid: place !== -1,
      isDeep: news.isFinal || news.depth >= deepOf(network),
      isFinal: news.isFinal,
      isNew,
      evidence: `${txId} in block ${height} ${blockHash}`,
      failure: "input_spent_without_it",
    });
  }
  if (!news.isFinal) return;
  close(payer, spend, news);
  const [only, ...others] = attempt.pays;
  const { sender, number: nonce } = spend;
  commit.bookFee({ network: network.id, sender, nonce }, others.length === 0 ? (only ?? null) : null, feeUnits);
}

/** What its final transaction did not spend is free again. */
function close({ c }: CoinPayer, spend: SpendRow, { spender }: Mined | Foreign): void {
  const spent = new Set(spender.inputs.map(coinText));
  changeSpend(c.db, spend, { status: "final" });
  for (const input of inputsOf(c.db, spend)) {
    const isSpent = spent.has(coinText(input));
    changeInput(c.db, input, { status: isSpent ? "spent" : "freed" });
    if (isSpent) removeCoin(c.db, input);
  }
}

function takeUnmined(payer: CoinPayer, commit: WithdrawalCommit, spend: SpendRow, head: number): void {
  const { c, network } = payer;
  const evidence = `block ${spend.minedHeight} ${spend.minedBlockHash} was replaced`;
  const deadlineAt = c.now() + network.payout.deadlineS * 1_000;
  const nowhere = { minedAttempt: null, minedTxId: null, minedHeight: null, minedBlockHash: null };
  changeSpend(c.db, spend, { ...nowhere, deadlineAt });
  sendSpendAgain(c.db, spend, head);
  for (const row of withdrawalsOf(payer, spend)) takeBack(c, commit, row, evidence);
}

/**
 * Somebody else signs with this key: nothing more is signed here until a person has looked, and a person decides
 * about what it was to pay. It is given back only once that transaction is final.
 */
function takeForeign(payer: CoinPayer, commit: WithdrawalCommit, spend: SpendRow, news: Foreign): void {
  const { c, network } = payer;
  const { txId, height, blockHash } = news.spender;
  // A person who lets the wallet go on has seen this one.
  if (spend.foreignTxId !== txId) {
    changeSpend(c.db, spend, { foreignTxId: txId });
    stopForForeignSpend(payer, `${pinText(spend)} was spent by a transaction that is not ours: ${txId}`);
    count(c.db, "foreign_spends");
  }
  if (spend.claimed === 0) {
    // Spent before it was claimed: nothing was signed, and other coins will do.
    for (const row of withdrawalsOf(payer, spend)) changeWithdrawal(c.db, row.id, { sender: null, nonce: null });
    for (const input of inputsOf(c.db, spend)) removeInput(c.db, input);
    deleteSpend(c.db, spend);
    return;
  }
  if (news.isFinal || news.depth >= deepOf(network)) {
    const evidence = `${txId} in block ${height} ${blockHash}`;
    for (const row of withdrawalsOf(payer, spend))
      askPerson(commit, row, { reason: "input_spent_by_another", evidence });
  }
  if (news.isFinal) close(payer, spend, news);
}

/**
 * Its pinned output was the change of an attempt in whose place another one is final: there will never be such an
 * output, and nothing that was signed to spend it can be mined.
 */
function takeNeverMade(payer: CoinPayer, commit: WithdrawalCommit, spend: SpendRow, look: AgreedCoins): boolean {
  const { c } = payer;
  if (spend.claimed === 0 || spend.minedTxId !== null || look.spenders.get(pinText(spend)) !== "missing") return false;
  const makers = spendsOfTx(c.db, spend.pinTxId).flatMap((key) => spendAt(c.db, key) ?? []);
  const instead = makers.find(
    ({ status, minedTxId, foreignTxId }) => status === "final" && (minedTxId ?? foreignTxId) !== spend.pinTxId,
  );
  if (instead === undefined) return false;
  // One that was never made itself has nothing in its place.
  const evidence = `${spend.pinTxId} was replaced by ${instead.minedTxId ?? instead.foreignTxId ?? "nothing"}`;
  const nothing = { succeeded: false, isPaid: false, isDeep: true, isFinal: true, isNew: false };
  for (const row of withdrawalsOf(payer, spend))
    judgeMined(c, commit, row, { ...nothing, evidence, failure: "input_never_made" });
  changeSpend(c.db, spend, { status: "final" });
  for (const input of inputsOf(c.db, spend)) changeInput(c.db, input, { status: "freed" });
  return true;
}

/** Nothing is released for being late. */
function askAtDeadline(payer: CoinPayer, commit: WithdrawalCommit, spend: SpendRow): void {
  const { c } = payer;
  if (!isLate(c, spend)) return;
  const last = spendAttemptsOf(c.db, spend).at(-1);
  const evidence = last === undefined ? "nothing was signed" : `${last.txId}: ${last.outcome ?? "not sent"}`;
  for (const row of withdrawalsOf(payer, spend)) askPerson(commit, row, { reason: "deadline", evidence });
}
