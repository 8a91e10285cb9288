/**
 * Chooses coins for withdrawals whose funds are reserved: all that wait together share one transaction, oldest
 * first. Spend, inputs, members and change address in one commit; then the claim in D1. A withdrawal counts as
 * being sent only when D1 says that the coins are its own.
 */

import type { CoinSigner } from "../../../../chains/coin-payout.ts";
import { smaller, unitsFromText } from "../../../../core/amount.ts";
import { type CoinPlan, type Selection, selectCoins } from "../../../../core/coin-selection.ts";
import type { Coin, Payment } from "../../../../core/coins.ts";
import { type FeeDemand, type FeeRateQuote, firstDemand } from "../../../../core/fee-rate.ts";
import { insertWalletAddress } from "../../../../store/tenant/coin-store.ts";
import { inputAt, insertInput, insertMember, insertSpend, openSpends } from "../../../../store/tenant/spend-store.ts";
import { raiseWallet } from "../../../../store/tenant/wallet-store.ts";
import {
  changeWithdrawal,
  type WithdrawalRow,
  withdrawalsWithoutNonce,
} from "../../../../store/tenant/withdrawal-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { mayStillBePaid } from "../judge.ts";
import { setWaitingOf, walletOf } from "../wallet.ts";
import { changePath } from "./addresses.ts";
import { choosable, chosenOf, type OwnCoin } from "./choosable.ts";
import { type CoinPayer, limitsOf } from "./payer.ts";

/** Spends that are open and not mined, of one wallet. */
const MAX_IN_FLIGHT = 16;
/** Looked at in one round. What the wallet cannot cover is passed over. */
const CANDIDATES = 1_000;

/** @returns how many events were written */
export async function allocate(payer: CoinPayer, signer: CoinSigner, quote: FeeRateQuote): Promise<number> {
  const { c, network } = payer;
  const waiting = withdrawalsWithoutNonce(c.db, network.id, CANDIDATES);
  if (waiting.length === 0 || unmined(payer) >= MAX_IN_FLIGHT) return 0;
  const price = firstDemand(quote, limitsOf(payer));
  if (!price.ok) {
    for (const row of waiting) setWaitingOf(c, row, "lower_fee");
    return 0;
  }
  const coins = await choosable(payer);
  return c.storage.transactionSync(() => assign(payer, signer, coins, price.demand));
}

/**
 * What has changed since the reservation counts: a withdrawal that was called off is gone, and one that today's
 * rules would refuse is held back.
 */
function assign(payer: CoinPayer, signer: CoinSigner, asked: readonly OwnCoin[], demand: FeeDemand): number {
  const { c, network, tenantId } = payer;
  if (walletOf(payer).status === "stopped") return 0;
  const coins = asked.filter((coin) => inputAt(c.db, { network: network.id, ...coin }) === undefined);
  const commit = new WithdrawalCommit(c, tenantId);
  const ready: WithdrawalRow[] = [];
  for (const row of withdrawalsWithoutNonce(c.db, network.id, CANDIDATES)) {
    if (mayStillBePaid(c, row)) ready.push(row);
    else setWaitingOf(c, row, "policy");
  }
  const batch = batchOf(payer, commit, ready, coins, demand);
  if (batch !== null) write(payer, signer, batch, chosenOf(coins, batch.plan.inputs));
  return commit.written;
}

interface Batch {
  readonly rows: readonly WithdrawalRow[];
  readonly plan: CoinPlan;
}

/** All that may share a transaction; where the coins do not suffice, the oldest that fit. */
function batchOf(
  payer: CoinPayer,
  commit: WithdrawalCommit,
  ready: readonly WithdrawalRow[],
  coins: readonly Coin[],
  demand: FeeDemand,
): Batch | null {
  const select = (rows: readonly WithdrawalRow[]): Selection =>
    selectCoins({
      addresses: payer.network.addresses,
      payments: rows.map(paymentOf),
      pinned: [],
      coins,
      demand,
    });
  const { maxBatch } = payer.network.payout;
  let rows: readonly WithdrawalRow[] = [];
  let plan: CoinPlan | null = null;
  const first = ready.slice(0, maxBatch);
  const whole = first.length > 1 ? select(first) : null;
  if (whole?.ok) return { rows: first, plan: whole.plan };

  // What the wallet does not hold, or what was too much beside fewer others, is not tried.
  let tooMuch = coins.reduce((sum, { amountUnits }) => sum + amountUnits, 1n);
  for (const row of ready) {
    if (rows.length >= maxBatch) break;
    const units = unitsFromText(row.amountUnits);
    const selection = units >= tooMuch ? null : select([...rows, row]);
    if (selection?.ok) {
      rows = [...rows, row];
      plan = selection.plan;
    } else if (selection?.reason === "dust") {
      // Nothing was signed, so the reservation can go back without further proof.
      const evidence = `the least that pools take is ${selection.leastUnits} satoshi`;
      commit.move(row, { to: "failed", reason: "amount_too_small", evidence, changes: { waitingFor: null } });
    } else {
      tooMuch = smaller(tooMuch, units);
      setWaitingOf(payer.c, row, "wallet_top_up");
    }
  }
  return plan === null ? null : { rows, plan };
}

export function paymentOf(row: WithdrawalRow): Payment {
  return { address: row.destination, amountUnits: unitsFromText(row.amountUnits) };
}

function write(payer: CoinPayer, signer: CoinSigner, { rows, plan }: Batch, inputs: readonly OwnCoin[]): void {
  const { c, network, sender } = payer;
  const [pin] = plan.inputs;
  if (pin === undefined) throw new Error("a spend without inputs was planned");
  const number = walletOf(payer).nextNonce;
  const key = { network: network.id, sender, number };
  insertSpend(c.db, {
    ...key,
    pinTxId: pin.txId,
    pinVout: pin.vout,
    status: "open",
    claimed: 0,
    speedUp: 0,
    minedAttempt: null,
    minedTxId: null,
    minedHeight: null,
    minedBlockHash: null,
    foreignTxId: null,
    createdAt: c.now(),
    deadlineAt: c.now() + network.payout.deadlineS * 1_000,
  });
  for (const coin of inputs) lockInput(payer, number, coin, 0);
  for (const [place, row] of rows.entries()) {
    insertMember(c.db, { ...key, place, withdrawalId: row.id, givenUp: 0 });
    changeWithdrawal(c.db, row.id, { sender, nonce: number, waitingFor: null });
  }
  const path = changePath(number);
  insertWalletAddress(c.db, { network: network.id, address: signer.addressAt(path), sender, path });
  raiseWallet(c.db, key, { nextNonce: number + 1 });
}

export function lockInput({ c, network, sender }: CoinPayer, number: number, coin: OwnCoin, claimed: 0 | 1): void {
  const { txId, vout, address, path, height } = coin;
  const amountUnits = coin.amountUnits.toString();
  const place = { network: network.id, txId, vout };
  insertInput(c.db, { ...place, sender, number, address, path, amountUnits, height, claimed, status: "locked" });
}

function unmined({ c, network, sender }: CoinPayer): number {
  return openSpends(c.db, network.id, sender).filter(({ minedTxId }) => minedTxId === null).length;
}
