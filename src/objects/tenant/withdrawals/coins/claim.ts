/**
 * Claims in D1 what was chosen. An output is for one spend and a withdrawal for one pinned output, whatever copy of
 * this object says so: what an earlier copy chose holds, since it may have signed it.
 */

import {
  type ClaimedSpend,
  claimSpend,
  type HeldSpend,
  readSpend,
  releaseOutputs,
} from "../../../../store/d1/spends.ts";
import { coinAt, removeCoin } from "../../../../store/tenant/coin-store.ts";
import {
  changeInput,
  changeSpend,
  deleteSpend,
  freedInputs,
  inputAt,
  inputsOf,
  insertMember,
  insertSpend,
  memberOf,
  membersOf,
  openSpends,
  removeInput,
  removeMember,
  type SpendInputRow,
  type SpendRow,
  spendAt,
  spendAttemptsOf,
  spendOfPin,
} from "../../../../store/tenant/spend-store.ts";
import { count, raiseWallet } from "../../../../store/tenant/wallet-store.ts";
import { changeWithdrawal, type WithdrawalRow, withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { askPerson } from "../settle.ts";
import { stopWallet, walletOf } from "../wallet.ts";
import { lockInput } from "./allocate.ts";
import { toCoin } from "./choosable.ts";
import { type CoinPayer, pinText, withdrawalsOf } from "./payer.ts";

/** @returns how many events were written */
export async function claimSpends(payer: CoinPayer): Promise<number> {
  const { c, network, sender, tenantId } = payer;
  let written = 0;
  for (const spend of openSpends(c.db, network.id, sender)) {
    const wanted = inputsOf(c.db, spend).filter(({ claimed }) => spend.claimed === 0 || claimed === 0);
    if (wanted.length === 0) continue;
    const pin = pinText(spend);
    const members = membersOf(c.db, spend).map(({ withdrawalId }) => withdrawalId);
    const claim = { network: network.id, tenantId, pin, inputs: wanted, members, now: c.now() };
    const claimed = await claimSpend(c.env.DB, claim);
    const known = new Map<string, HeldSpend>();
    for (const other of pinsOfOthers(claimed, tenantId)) {
      known.set(other, await readSpend(c.env.DB, { network: network.id, tenantId, pin: other }));
    }
    written += c.storage.transactionSync(() => takeClaim(payer, spend, wanted, claimed, known));
  }
  return written;
}

/** The spends that an earlier copy of this object made. */
function pinsOfOthers(claimed: ClaimedSpend, tenantId: string): ReadonlySet<string> {
  if (claimed.kind === "own") return new Set(claimed.elsewhere.map(({ pin }) => pin));
  return new Set(claimed.holders.flatMap((holder) => (holder.tenantId === tenantId ? [holder.pin] : [])));
}

function takeClaim(
  payer: CoinPayer,
  asked: SpendRow,
  wanted: readonly SpendInputRow[],
  claimed: ClaimedSpend,
  known: ReadonlyMap<string, HeldSpend>,
): number {
  const { c, tenantId } = payer;
  const spend = spendAt(c.db, asked);
  // Something else became of it while D1 answered.
  if (spend === undefined || spend.status === "final" || spend.claimed !== asked.claimed) return 0;
  const commit = new WithdrawalCommit(c, tenantId);
  if (claimed.kind === "own") {
    takeOwn(payer, commit, spend, wanted, new Set(claimed.elsewhere.map(({ withdrawalId }) => withdrawalId)));
  } else {
    count(c.db, "coin_conflicts");
    for (const input of wanted) removeInput(c.db, input);
    if (spend.claimed === 0) {
      for (const row of withdrawalsOf(payer, spend)) changeWithdrawal(c.db, row.id, { sender: null, nonce: null });
      deleteSpend(c.db, spend);
    }
    for (const holder of claimed.holders) {
      if (holder.tenantId === tenantId) continue;
      removeCoin(c.db, { network: spend.network, ...holder });
      stopWallet(payer, `${holder.txId}:${holder.vout} of this wallet was claimed by another tenant`);
    }
  }
  for (const [pin, held] of known) adopt(payer, commit, pin, held);
  return commit.written;
}

/** @param elsewhere members that an earlier copy tied to another spend, and may have paid with that one */
function takeOwn(
  payer: CoinPayer,
  commit: WithdrawalCommit,
  spend: SpendRow,
  wanted: readonly SpendInputRow[],
  elsewhere: ReadonlySet<string>,
): void {
  const { db } = payer.c;
  for (const input of wanted) changeInput(db, input, { claimed: 1 });
  for (const id of elsewhere) {
    count(db, "coin_conflicts");
    removeMember(db, id);
    changeWithdrawal(db, id, { sender: null, nonce: null });
  }
  const rows = withdrawalsOf(payer, spend);
  const isEmpty = rows.length === 0 && elsewhere.size > 0 && spendAttemptsOf(db, spend).length === 0;
  changeSpend(db, spend, isEmpty ? { claimed: 1, status: "final" } : { claimed: 1 });
  // Nothing was signed for it: its coins are given back.
  if (isEmpty) for (const input of inputsOf(db, spend)) changeInput(db, input, { status: "freed" });
  for (const row of rows) beginSending(commit, row, pinText(spend));
}

/** A spend that D1 knows and this copy may not: it goes on here, and what is signed now excludes what was signed then. */
function adopt(payer: CoinPayer, commit: WithdrawalCommit, pin: string, { inputs, members }: HeldSpend): void {
  const { c, network } = payer;
  const [pinTxId = "", vout] = pin.split(":");
  const spend =
    spendOfPin(c.db, network.id, { txId: pinTxId, vout: Number(vout) }) ?? begin(payer, pinTxId, Number(vout));
  for (const input of inputs) {
    const key = { network: network.id, ...input };
    const row = coinAt(c.db, key);
    if (row === undefined || inputAt(c.db, key) !== undefined) continue;
    lockInput(payer, spend.number, toCoin(row), 1);
    // That copy added it, and the final transaction does without: D1 has still to give it back.
    if (spend.status === "final") changeInput(c.db, key, { status: "freed" });
  }
  let place = membersOf(c.db, spend).length;
  for (const id of members) {
    const row = withdrawalById(c.db, id);
    if (row?.state !== "funds_reserved" || row.nonce !== null || memberOf(c.db, id) !== undefined) continue;
    const { sender, number } = spend;
    insertMember(c.db, { network: network.id, sender, number, place: place++, withdrawalId: id, givenUp: 0 });
    const key = { sender, nonce: number, waitingFor: null };
    changeWithdrawal(c.db, id, key);
    const sending = beginSending(commit, { ...row, ...key }, pin);
    // Used up already, perhaps by that copy's payment: nothing more comes from the chain, so a person looks.
    const evidence = `${pin}, chosen by an earlier copy of this tenant`;
    if (spend.status === "final") askPerson(commit, sending, { reason: "input_spent_by_another", evidence });
  }
}

function begin(payer: CoinPayer, pinTxId: string, pinVout: number): SpendRow {
  const { c, network, sender } = payer;
  const number = walletOf(payer).nextNonce;
  const row: SpendRow = {
    network: network.id,
    sender,
    number,
    pinTxId,
    pinVout,
    status: "open",
    claimed: 1,
    speedUp: 0,
    minedAttempt: null,
    minedTxId: null,
    minedHeight: null,
    minedBlockHash: null,
    foreignTxId: null,
    createdAt: c.now(),
    deadlineAt: c.now() + network.payout.deadlineS * 1_000,
  };
  insertSpend(c.db, row);
  raiseWallet(c.db, { network: network.id, sender }, { nextNonce: number + 1 });
  return row;
}

/** From here on a final transaction that spends the pinned output decides. @returns the row as it stands */
function beginSending(commit: WithdrawalCommit, row: WithdrawalRow, pin: string): WithdrawalRow {
  if (row.state !== "funds_reserved") return row;
  return commit.move(row, { to: "broadcast_pending", reason: "coins_chosen", evidence: `spends ${pin}` });
}

/** The pinned output of an adopted spend, once the chain shows what it holds. */
export function completePins(payer: CoinPayer): void {
  const { c, network, sender } = payer;
  for (const spend of openSpends(c.db, network.id, sender)) {
    const key = { network: network.id, txId: spend.pinTxId, vout: spend.pinVout };
    if (inputAt(c.db, key) !== undefined) continue;
    const row = coinAt(c.db, key);
    if (row !== undefined) lockInput(payer, spend.number, toCoin(row), 1);
  }
}

/** Gives back what final spends did not use. First in D1: what is free here may be claimed again at once. */
export async function releaseFreed(payer: CoinPayer): Promise<number> {
  const { c, network, sender, tenantId } = payer;
  const freed = freedInputs(c.db, network.id, sender);
  for (const [number, inputs] of Map.groupBy(freed, (input) => input.number)) {
    const key = { network: network.id, sender, number };
    const spend = spendAt(c.db, key);
    if (spend === undefined) throw new Error(`inputs of spend ${number} of ${sender} are left without it`);
    await releaseOutputs(c.env.DB, { network: network.id, tenantId, pin: pinText(spend), inputs });
    c.storage.transactionSync(() => {
      for (const input of inputs) removeInput(c.db, input);
      const isVoid = spendAttemptsOf(c.db, key).length === 0 && membersOf(c.db, key).length === 0;
      if (isVoid && spend.minedTxId === null && inputsOf(c.db, key).length === 0) deleteSpend(c.db, key);
    });
  }
  return 0;
}
