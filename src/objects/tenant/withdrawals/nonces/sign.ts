/**
 * Signs what open nonces need next: a first attempt, one that offers more, or one that moves nothing. What
 * the signer gives back is decoded and compared with the intent, then stored; only stored bytes are sent.
 */

import { burnCall, gasLimitFor } from "../../../../chains/evm/intent.ts";
import { readSigned } from "../../../../chains/evm/signed-transaction.ts";
import { type Call, type Intent, type SignedTransaction, type Signer, SignerFault } from "../../../../chains/payout.ts";
import { larger } from "../../../../core/amount.ts";
import { type FeeQuote, type Fees, firstFees, mostPerGas, replacementFees } from "../../../../core/fees.ts";
import type { AgreedLook } from "../../../../core/wallet-look.ts";
import { isOpen } from "../../../../core/withdrawal.ts";
import { step } from "../../../../steps.ts";
import {
  type AttemptRow,
  attemptsOf,
  changeSlot,
  insertAttempt,
  openSlots,
  type SlotRow,
  slotAt,
} from "../../../../store/tenant/slot-store.ts";
import { changeWithdrawal } from "../../../../store/tenant/withdrawal-store.ts";
import { logProvider, stopWallet, walletOf } from "../wallet.ts";
import { callOf, capOf, estimateOf, type Payer, setWaiting, withdrawalOf } from "./payer.ts";

/** Of one nonce and kind. Each one offers an eighth more, so the last offers nearly four times what the first did. */
export const MAX_ATTEMPTS = 12;
/** Answers that call for another attempt are heeded so often. */
const REPLACE_PAUSE_MS = 3_000;
/** Some rollups charge for data in gas: a transfer of nothing may need more than 21,000. */
const BURN_GAS = 21_000n;

export async function signSlots(payer: Payer, signer: Signer, look: AgreedLook, quote: FeeQuote): Promise<void> {
  for (const slot of openSlots(payer.c.db, payer.network.id, payer.sender)) {
    if (walletOf(payer).status === "stopped") return;
    const attempts = attemptsOf(payer.c.db, slot);
    const kind = wanted(payer, slot, attempts, look);
    if (kind === null) continue;
    try {
      await signOne(payer, signer, { slot, attempts, kind, look, quote });
    } catch (error) {
      if (!(error instanceof SignerFault)) throw error;
      logProvider(payer, "sign", undefined, error);
      setWaiting(payer, slot, "signer");
      // What comes after it could not be mined before it.
      return;
    }
  }
}

type Kind = AttemptRow["kind"];

/** What the next attempt of a nonce shall do, or null when none is needed now. */
function wanted(payer: Payer, slot: SlotRow, attempts: readonly AttemptRow[], look: AgreedLook): Kind | null {
  if (slot.claimed === 0 || slot.minedTxId !== null) return null;
  const kind = kindWanted(payer, slot, attempts);
  if (kind === null || attempts.filter((attempt) => attempt.kind === kind).length >= MAX_ATTEMPTS) return null;
  const last = attempts.at(-1);
  if (last === undefined || last.kind !== kind || slot.speedUp === 1) return kind;
  const isRested = payer.c.now() - last.signedAt >= REPLACE_PAUSE_MS;
  switch (last.outcome) {
    case "fee_too_low":
    case "wrong_gas_limit":
      return isRested ? kind : null;
    case "replacement_underpriced":
      return isRested && attempts.length > 1 ? kind : null;
    case "accepted":
    case "already_known":
    case "unknown": {
      // Later nonces wait for earlier ones, whatever they offer.
      const isNext = slot.nonce <= look.nonceLatest;
      const isOld = look.head - last.signedHeight >= payer.network.payout.replaceAfterBlocks;
      return isNext && isOld ? kind : null;
    }
    default:
      return null;
  }
}

/** A payment is signed only while its withdrawal is open. A nonce whose payment nobody wants is still to be used up. */
function kindWanted(payer: Payer, slot: SlotRow, attempts: readonly AttemptRow[]): Kind | null {
  if (slot.burn === 1) return "burn";
  const row = withdrawalOf(payer, slot);
  if (row !== undefined && isOpen(row.state)) return "payment";
  // A person took what was sent for the payment: it goes on being sent, and nothing is put in its place.
  return attempts.length === 0 ? "burn" : null;
}

interface Wanted {
  readonly slot: SlotRow;
  readonly attempts: readonly AttemptRow[];
  readonly kind: Kind;
  readonly look: AgreedLook;
  readonly quote: FeeQuote;
}

async function signOne(payer: Payer, signer: Signer, wanted: Wanted): Promise<void> {
  const { slot, attempts, kind, look, quote } = wanted;
  const earlier = attempts.map(feesOf);
  const cap = capOf(payer, kind === "burn" ? "burn" : earlier.length === 0 ? "first" : "replacement");
  const price = earlier.length === 0 ? firstFees(quote, cap) : replacementFees(earlier, quote, cap);
  if (!price.ok) {
    setWaiting(payer, slot, "lower_fee");
    return;
  }
  const intent = await intentOf(payer, wanted, price.fees);
  if (intent === null) return;
  const answer = await step("sign", () => signer.sign(intent));
  const read = await readSigned(answer, intent);
  if (!read.ok) {
    stopWallet(payer, `the signer did not sign what was asked for nonce ${slot.nonce}: ${read.problem}`);
    setWaiting(payer, slot, "signer");
    return;
  }
  store(payer, slot, attempts, { kind, intent, signed: read.signed, head: look.head });
}

async function intentOf(payer: Payer, { slot, attempts, kind }: Wanted, fees: Fees): Promise<Intent | null> {
  const { network, sender } = payer;
  const base = { chainId: network.chainId, nonce: slot.nonce, fees };
  if (kind === "burn") {
    const call = burnCall(sender);
    return { ...base, ...call, gasLimit: (await gasOf(payer, call)) ?? BURN_GAS };
  }
  const row = withdrawalOf(payer, slot);
  if (row === undefined || slot.gasLimit === null) throw new Error(`nonce ${slot.nonce} of ${sender} pays nothing`);
  const call = callOf(payer, row);
  // What was once too little is not tried again.
  const least = [BigInt(slot.gasLimit), ...attempts.map(({ gasLimit }) => BigInt(gasLimit))].reduce(larger);
  const isKnown = least > 0n && attempts.at(-1)?.outcome !== "wrong_gas_limit";
  const estimated = isKnown ? 0n : await gasOf(payer, call);
  return estimated === null ? null : { ...base, ...call, gasLimit: larger(least, estimated) };
}

/** As estimated, with room; null when nobody can tell. */
async function gasOf(payer: Payer, call: Call): Promise<bigint | null> {
  const estimate = await estimateOf(payer, call);
  return estimate?.ok === true ? gasLimitFor(estimate.gas) : null;
}

interface NewAttempt {
  readonly kind: Kind;
  readonly intent: Intent;
  readonly signed: SignedTransaction;
  readonly head: number;
}

/** The bytes become the slot's only if nothing changed while they were being signed. */
function store(payer: Payer, slot: SlotRow, attempts: readonly AttemptRow[], made: NewAttempt): void {
  const { c } = payer;
  const { intent, signed, kind } = made;
  c.storage.transactionSync(() => {
    const now = slotAt(c.db, slot);
    const isSame =
      now !== undefined &&
      now.status === "open" &&
      now.minedTxId === null &&
      attemptsOf(c.db, slot).length === attempts.length &&
      kindWanted(payer, now, attempts) === kind;
    // The same numbers have the same bytes: they are there already.
    if (!isSame || attempts.some(({ txId }) => txId === signed.txId)) return;
    insertAttempt(c.db, {
      network: slot.network,
      sender: slot.sender,
      nonce: slot.nonce,
      number: attempts.length + 1,
      txId: signed.txId,
      kind,
      raw: signed.raw,
      gasLimit: intent.gasLimit.toString(),
      feeKind: intent.fees.kind,
      mostPerGas: mostPerGas(intent.fees).toString(),
      tipPerGas: intent.fees.kind === "eip1559" ? intent.fees.maxPriorityFeePerGas.toString() : null,
      signedAt: c.now(),
      signedHeight: made.head,
      firstSentAt: null,
      lastSentAt: null,
      sends: 0,
      outcome: null,
    });
    changeSlot(c.db, slot, { speedUp: 0 });
    if (slot.withdrawalId !== null && kind === "payment")
      changeWithdrawal(c.db, slot.withdrawalId, { txId: signed.txId });
    setWaiting(payer, slot, null);
  });
}

function feesOf(attempt: AttemptRow): Fees {
  const most = BigInt(attempt.mostPerGas);
  return attempt.tipPerGas === null
    ? { kind: "legacy", gasPrice: most }
    : { kind: "eip1559", maxFeePerGas: most, maxPriorityFeePerGas: BigInt(attempt.tipPerGas) };
}
