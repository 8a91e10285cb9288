/**
 * Signs what open nonces need next: a first attempt, one that offers more, or one that moves nothing. What
 * the signer gives back is decoded and compared with the intent, then stored; only stored bytes are sent.
 */

import { burnCall, gasLimitFor } from "../../../chains/evm/intent.ts";
import { readSigned } from "../../../chains/evm/signed-transaction.ts";
import { type Intent, type SignedTransaction, SignerFault } from "../../../chains/payout.ts";
import { type FeeQuote, type Fees, firstFees, mostPerGas, replacementFees } from "../../../core/fees.ts";
import type { AgreedLook } from "../../../core/wallet-look.ts";
import {
  type AttemptRow,
  attemptsOf,
  changeSlot,
  insertAttempt,
  openSlots,
  type SlotRow,
  slotAt,
} from "../../../store/tenant/slot-store.ts";
import { changeWallet } from "../../../store/tenant/wallet-store.ts";
import { changeWithdrawal, withdrawalById } from "../../../store/tenant/withdrawal-store.ts";
import { capOf } from "./allocate.ts";
import { callOf, logProvider, type Payer, walletOf } from "./payer.ts";

/** Of one nonce. Each one offers an eighth more, so the tenth offers nearly three times what the first did. */
export const MAX_ATTEMPTS = 24;
/** Some rollups charge for data in gas: a transfer of nothing may need more than 21,000. */
const BURN_GAS = 21_000n;

export async function signSlots(payer: Payer, look: AgreedLook, quote: FeeQuote): Promise<void> {
  for (const slot of openSlots(payer.c.db, payer.network.id, payer.sender)) {
    if (walletOf(payer).status === "stopped") return;
    const attempts = attemptsOf(payer.c.db, slot);
    const kind = wanted(payer, slot, attempts, look);
    if (kind === null) continue;
    try {
      await signOne(payer, slot, attempts, kind, look, quote);
    } catch (error) {
      if (!(error instanceof SignerFault)) throw error;
      logProvider(payer, "sign", undefined, error);
      setWaiting(payer, slot, "signer");
      // What comes after it could not be mined before it.
      return;
    }
  }
}

/** What the next attempt of a nonce shall do, or null when none is needed now. */
function wanted(
  payer: Payer,
  slot: SlotRow,
  attempts: readonly AttemptRow[],
  look: AgreedLook,
): "payment" | "burn" | null {
  if (slot.claimed === 0 || slot.minedTxId !== null || attempts.length >= MAX_ATTEMPTS) return null;
  const last = attempts.at(-1);
  const kind = slot.burn === 1 ? "burn" : "payment";
  if (last === undefined || (kind === "burn" && last.kind !== "burn")) return kind;
  if (slot.speedUp === 1) return kind;
  switch (last.outcome) {
    case "fee_too_low":
    case "wrong_gas_limit":
      return kind;
    case "replacement_underpriced":
      return attempts.length > 1 ? kind : null;
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

async function signOne(
  payer: Payer,
  slot: SlotRow,
  attempts: readonly AttemptRow[],
  kind: "payment" | "burn",
  look: AgreedLook,
  quote: FeeQuote,
): Promise<void> {
  const earlier = attempts.map(feesOf);
  const price = earlier.length === 0 ? firstFees(quote, capOf(payer)) : replacementFees(earlier, quote, capOf(payer));
  if (!price.ok) {
    setWaiting(payer, slot, "lower_fee");
    return;
  }
  const intent = await intentOf(payer, slot, attempts, kind, price.fees);
  if (intent === null) return;
  const answer = await payer.signer.sign(intent);
  const read = await readSigned(answer, intent);
  if (!read.ok) {
    stopWallet(payer, `the signer did not sign what was asked for nonce ${slot.nonce}: ${read.problem}`);
    setWaiting(payer, slot, "signer");
    return;
  }
  store(payer, slot, attempts, { kind, intent, signed: read.signed, head: look.head });
}

async function intentOf(
  payer: Payer,
  slot: SlotRow,
  attempts: readonly AttemptRow[],
  kind: "payment" | "burn",
  fees: Fees,
): Promise<Intent | null> {
  const { c, network, sender } = payer;
  const base = { chainId: network.chainId, nonce: slot.nonce, fees };
  const row = slot.withdrawalId === null ? undefined : withdrawalById(c.db, slot.withdrawalId);
  if (kind === "burn") {
    const gas = await gasOf(payer, burnCall(sender));
    return { ...base, ...burnCall(sender), gasLimit: gas ?? BURN_GAS };
  }
  if (row === undefined || slot.gasLimit === null) throw new Error(`nonce ${slot.nonce} of ${sender} pays nothing`);
  const call = callOf(payer, row);
  const isWrong = attempts.at(-1)?.outcome === "wrong_gas_limit";
  const gas = isWrong ? await gasOf(payer, call) : BigInt(slot.gasLimit);
  return gas === null ? null : { ...base, ...call, gasLimit: gas };
}

/** The most that any provider says, with room; null when none says. */
async function gasOf(payer: Payer, call: ReturnType<typeof burnCall>): Promise<bigint | null> {
  const answers = await Promise.allSettled(payer.nodes.map((node) => node.estimate(call)));
  const gas = answers.flatMap((answer) =>
    answer.status === "fulfilled" && answer.value.ok ? [gasLimitFor(answer.value.gas)] : [],
  );
  return gas.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null);
}

interface NewAttempt {
  readonly kind: "payment" | "burn";
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
      now.burn === slot.burn &&
      attemptsOf(c.db, slot).length === attempts.length;
    // A legacy transaction with the same numbers has the same bytes: it is there already.
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
    if (slot.withdrawalId !== null) changeWithdrawal(c.db, slot.withdrawalId, { txId: signed.txId });
    setWaiting(payer, slot, null);
  });
}

function feesOf(attempt: AttemptRow): Fees {
  const most = BigInt(attempt.mostPerGas);
  return attempt.tipPerGas === null
    ? { kind: "legacy", gasPrice: most }
    : { kind: "eip1559", maxFeePerGas: most, maxPriorityFeePerGas: BigInt(attempt.tipPerGas) };
}

/** A person in charge stays in charge: their turn is not taken from them by a lesser wait. */
export function setWaiting({ c }: Payer, slot: SlotRow, waitingFor: string | null): void {
  if (slot.withdrawalId === null) return;
  const row = withdrawalById(c.db, slot.withdrawalId);
  if (row === undefined || row.state === "manual_review" || row.waitingFor === waitingFor) return;
  changeWithdrawal(c.db, row.id, { waitingFor });
}

export function stopWallet({ c, network, sender }: Payer, incident: string): void {
  changeWallet(c.db, { network: network.id, sender }, { status: "stopped", incident });
  console.error(JSON.stringify({ at: "withdrawals", network: network.id, sender, incident }));
}
