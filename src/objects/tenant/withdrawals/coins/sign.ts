/**
 * Signs what open spends need next: a first attempt, one that offers more, one that no longer pays somebody, or one
 * without an input that was lost. Each spends the pinned output and pays the same otherwise. What the signer gives
 * back is decoded and compared with the intent, then stored; only stored bytes are sent.
 */

import { readSigned } from "../../../../chains/bitcoin/signed-spend.ts";
import { outputsOf } from "../../../../chains/bitcoin/spend-form.ts";
import type { CoinSigner, SignedSpend, SpendIntent } from "../../../../chains/coin-payout.ts";
import { SignerFault } from "../../../../chains/payout.ts";
import { unitsFromText } from "../../../../core/amount.ts";
import type { AgreedCoins } from "../../../../core/coin-look.ts";
import { type CoinPlan, selectCoins } from "../../../../core/coin-selection.ts";
import { coinText } from "../../../../core/coins.ts";
import { type FeeDemand, type FeeRateQuote, firstDemand, replacementDemand } from "../../../../core/fee-rate.ts";
import { isOpen } from "../../../../core/withdrawal.ts";
import { step } from "../../../../steps.ts";
import {
  changeSpend,
  inputAt,
  inputsOf,
  insertSpendAttempt,
  membersOf,
  openSpends,
  type SpendAttemptRow,
  type SpendRow,
  spendAt,
  spendAttemptsOf,
} from "../../../../store/tenant/spend-store.ts";
import { changeWithdrawal, type WithdrawalRow, withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import { logProvider, stopWallet, walletOf } from "../wallet.ts";
import { changePath, isWatched } from "./addresses.ts";
import { lockInput, paymentOf } from "./allocate.ts";
import { choosable, chosenOf, type OwnCoin, textsOf, toCoin } from "./choosable.ts";
import { type CoinPayer, limitsOf, pinText, setWaiting, withdrawalsOf } from "./payer.ts";

/** That pay the same people. Each one offers an eighth more, so the last offers nearly four times what the first did. */
export const MAX_ATTEMPTS = 12;
/** Answers that call for another attempt are heeded so often. */
const REPLACE_PAUSE_MS = 3_000;

export async function signSpends(
  payer: CoinPayer,
  signer: CoinSigner,
  look: AgreedCoins,
  quote: FeeRateQuote,
): Promise<number> {
  for (const spend of openSpends(payer.c.db, payer.network.id, payer.sender)) {
    if (walletOf(payer).status === "stopped") break;
    const wanted = wantedOf(payer, spend, look);
    if (wanted === null) continue;
    try {
      await signOne(payer, signer, wanted, quote, look.head);
    } catch (error) {
      if (!(error instanceof SignerFault)) throw error;
      logProvider(payer, "sign", undefined, error);
      setWaiting(payer, spend, "signer");
    }
  }
  return 0;
}

interface Wanted {
  readonly spend: SpendRow;
  readonly attempts: readonly SpendAttemptRow[];
  /** Whom it pays, in order. */
  readonly rows: readonly WithdrawalRow[];
  /** The pinned one first. */
  readonly inputs: readonly OwnCoin[];
}

/** What the next attempt of a spend shall do, or null when none is needed now. */
function wantedOf(payer: CoinPayer, spend: SpendRow, look: AgreedCoins): Wanted | null {
  const { c, network } = payer;
  if (spend.claimed === 0 || spend.minedTxId !== null) return null;
  const rows = payeesOf(payer, spend);
  const attempts = spendAttemptsOf(c.db, spend);
  // A person took what was sent for the payments: it goes on being sent, and nothing is put in its place.
  const isAnyOpen = withdrawalsOf(payer, spend).some(({ state }) => isOpen(state));
  if (rows !== null && rows.length > 0 && attempts.length > 0 && !isAnyOpen) return null;
  const inputs = usable(payer, spend, look);
  if (rows === null || inputs === null) return null;
  const pays = rows.map(({ id }) => id);
  const same = attempts.filter((attempt) => isSame(attempt.pays, pays));
  const wanted = { spend, attempts, rows, inputs };
  if (same.length >= MAX_ATTEMPTS) return null;
  const last = attempts.at(-1);
  if (last === undefined || !isSame(last.pays, pays) || spend.speedUp === 1) return wanted;
  const texts = textsOf(inputs);
  const isRested = c.now() - last.signedAt >= REPLACE_PAUSE_MS;
  if (isRested && last.inputs.some((text) => !texts.has(text))) return wanted;
  switch (last.outcome) {
    case "fee_too_low":
      return isRested ? wanted : null;
    case "replacement_underpriced":
      return isRested && attempts.length > 1 ? wanted : null;
    case "accepted":
    case "already_known":
    case "unknown":
      return look.head - last.signedHeight >= network.payout.replaceAfterBlocks ? wanted : null;
    default:
      return null;
  }
}

/** Whom the next attempt pays: all that were not given up. None: everything goes back to the wallet. Null: a row is missing. */
function payeesOf({ c }: CoinPayer, spend: SpendRow): WithdrawalRow[] | null {
  const wanted = membersOf(c.db, spend).filter(({ givenUp }) => givenUp === 0);
  const rows = wanted.flatMap(({ withdrawalId }) => withdrawalById(c.db, withdrawalId) ?? []);
  return rows.length === wanted.length ? rows : null;
}

/**
 * The inputs that can still be spent, as far as they are claimed: not those that somebody else's transaction took,
 * or whose own is in no block any more. Null: the pinned one cannot be spent now, so nothing can be signed.
 */
function usable({ c }: CoinPayer, spend: SpendRow, look: AgreedCoins): OwnCoin[] | null {
  const claimed = inputsOf(c.db, spend).filter(({ claimed, status }) => claimed === 1 && status === "locked");
  const coins = claimed.map(toCoin).filter((coin) => {
    const said = look.spenders.get(coinText(coin));
    return said === undefined || said === null;
  });
  const pin = coins.find((coin) => coinText(coin) === pinText(spend));
  return pin === undefined ? null : [pin, ...coins.filter((coin) => coin !== pin)];
}

async function signOne(
  payer: CoinPayer,
  signer: CoinSigner,
  wanted: Wanted,
  quote: FeeRateQuote,
  head: number,
): Promise<void> {
  const { network } = payer;
  const { spend, rows } = wanted;
  const change = { path: changePath(spend.number), address: signer.addressAt(changePath(spend.number)) };
  if (!isWatched(payer.c, network.id, change.address)) return;
  const price = priceOf(payer, wanted, quote);
  if (!price.ok) return setWaiting(payer, spend, "lower_fee");
  const plan = await planOf(payer, wanted, price.demand);
  if (plan === null) return;
  const intent: SpendIntent = {
    inputs: plan.inputs,
    payments: rows.map(paymentOf),
    change: plan.changeUnits === null ? null : { ...change, amountUnits: plan.changeUnits },
  };
  const raw = await step("sign", () => signer.sign(intent));
  const { replacedUnits } = price.demand;
  const read = readSigned(raw, intent, { network, replacedUnits });
  if (!read.ok) {
    stopWallet(payer, `the signer did not sign what was asked for spend ${spend.number}: ${read.problem}`);
    return setWaiting(payer, spend, "signer");
  }
  store(payer, wanted, { intent, plan, signed: read.signed, head });
}

function priceOf(payer: CoinPayer, { attempts, rows }: Wanted, quote: FeeRateQuote) {
  const limits = limitsOf(payer);
  if (attempts.length === 0 && rows.length > 0) return firstDemand(quote, limits);
  const earlier = attempts.map(({ feeUnits, vsize }) => ({ feeUnits: unitsFromText(feeUnits), vsize }));
  return replacementDemand(earlier, quote, limits, rows.length === 0 ? "burn" : "replacement");
}

/** From its own inputs; where they do not suffice, more are locked, and claimed before anything is signed. */
async function planOf(payer: CoinPayer, wanted: Wanted, demand: FeeDemand): Promise<CoinPlan | null> {
  const { addresses } = payer.network;
  const { spend, rows, inputs } = wanted;
  const payments = rows.map(paymentOf);
  const own = selectCoins({ addresses, payments, pinned: inputs, coins: [], demand });
  if (own.ok) return own.plan;
  const coins = await choosable(payer);
  const more = selectCoins({ addresses, payments, pinned: inputs, coins, demand });
  if (!more.ok) {
    setWaiting(payer, spend, "wallet_top_up");
    return null;
  }
  extend(payer, spend, chosenOf(coins, more.plan.inputs));
  return null;
}

function extend(payer: CoinPayer, spend: SpendRow, added: readonly OwnCoin[]): void {
  const { c, network } = payer;
  c.storage.transactionSync(() => {
    const now = spendAt(c.db, spend);
    if (now?.status !== "open" || now.minedTxId !== null) return;
    if (added.some((coin) => inputAt(c.db, { network: network.id, ...coin }) !== undefined)) return;
    for (const coin of added) lockInput(payer, spend.number, coin, 0);
  });
}

interface Made {
  readonly intent: SpendIntent;
  readonly plan: CoinPlan;
  readonly signed: SignedSpend;
  readonly head: number;
}

/** The bytes become the spend's only if nothing changed while they were being signed. */
function store(payer: CoinPayer, wanted: Wanted, made: Made): void {
  const { c, network } = payer;
  const { spend, attempts, rows } = wanted;
  const { intent, plan, signed, head } = made;
  const pays = rows.map(({ id }) => id);
  c.storage.transactionSync(() => {
    const now = spendAt(c.db, spend);
    const before = spendAttemptsOf(c.db, spend);
    const payees = now === undefined ? null : payeesOf(payer, now);
    const isUnchanged =
      now?.status === "open" &&
      now.minedTxId === null &&
      before.length === attempts.length &&
      payees !== null &&
      isSame(
        payees.map(({ id }) => id),
        pays,
      );
    // The same numbers have the same bytes: they are there already.
    if (!isUnchanged || before.some(({ txId }) => txId === signed.txId)) return;
    insertSpendAttempt(c.db, {
      network: spend.network,
      sender: spend.sender,
      number: spend.number,
      attempt: before.length + 1,
      txId: signed.txId,
      raw: signed.raw,
      inputs: intent.inputs.map(coinText),
      outputs: outputsOf(network.addresses, intent).map((output) => [output.script, output.amountUnits.toString()]),
      pays,
      feeUnits: plan.feeUnits.toString(),
      vsize: signed.vsize,
      signedAt: c.now(),
      signedHeight: head,
      firstSentAt: null,
      lastSentAt: null,
      sends: 0,
      outcome: null,
    });
    changeSpend(c.db, spend, { speedUp: 0 });
    for (const id of pays) changeWithdrawal(c.db, id, { txId: signed.txId });
    setWaiting(payer, spend, null);
  });
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, i) => one === b[i]);
}
