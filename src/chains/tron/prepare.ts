/**
 * Makes a transaction for a payment: with a solid block for reference, which no fork takes away, and an expiration
 * counted from the time of the node's newest block, never from a clock of ours.
 */

import { smaller } from "../../core/amount.ts";
import { NATIVE } from "../../core/transfer.ts";
import type { ExpiringIntent, ExpiringNetwork, Prepared } from "../expiring-payout.ts";
import { ChainFault } from "../port.ts";
import { MalformedAnswer } from "../rpc/malformed.ts";
import { allSettledOrThrow, bothOf } from "../rpc/parallel.ts";
import { ContradictedAnswer } from "./answers.ts";
import type { TronApi } from "./api.ts";
import { present, readHeader, type TronHeader } from "./block.ts";
import { type ConstantAnswer, callConstant } from "./constant-call.ts";
import { feesOf, type PaymentFees } from "./fees.ts";
import { readSolidHeader } from "./node.ts";
import { encodeRawData, type RawData } from "./raw-data.ts";
import { readAccount, readPrices, readResources, type TronAccount, type TronPrices } from "./resources.ts";
import { contractOf, signedBytes } from "./signed-transaction.ts";
import { balanceOf } from "./token-balance.ts";

export interface MakingAccess {
  readonly api: TronApi;
  readonly network: Pick<ExpiringNetwork, "payout">;
  /** A number below 2^32, another one each time. */
  readonly chance: () => number;
}

export interface Made {
  readonly raw: string;
  readonly expiresAt: number;
  readonly fees: PaymentFees;
  /** Why it should not be signed now. */
  readonly problem: { readonly reason: "fee_above_cap" | "wallet_short" | "refused"; readonly detail: string } | null;
}

const BLOCK_MS = 3_000;
/** Blocks become solid within a minute. When they do not, nothing that is signed now could be proven dead for long. */
const MAX_UNSOLID_MS = 300_000;
/** From the look to the making of what is signed after it. */
const LOOK_MS = 60_000;
const NO_SIGNATURE = "00".repeat(65);

/** As `ExpiringChain.longestLife`. */
export function longestLife({ payout }: MakingAccess["network"]): number {
  return MAX_UNSOLID_MS + LOOK_MS + payout.replaceAfterBlocks * BLOCK_MS;
}

/** @throws ChainFault, MalformedAnswer */
export async function prepare(access: MakingAccess, intent: ExpiringIntent): Promise<Prepared> {
  const { raw, expiresAt, fees, problem } = await makePayment(access, intent);
  if (problem !== null) return { ok: false, ...problem };
  return { ok: true, unsigned: { bytes: raw, expiresAt, feeMostUnits: fees.mostUnits } };
}

/** @throws ChainFault, MalformedAnswer */
export async function makePayment(access: MakingAccess, intent: ExpiringIntent): Promise<Made> {
  const { api } = access;
  const asked: Promise<TronAccount | ConstantAnswer> =
    intent.asset === NATIVE ? readAccount(api, "wallet", intent.destination) : tryTransfer(api, intent);
  const [[solid, head], prices, resources, sender, trial] = await allOf(
    bothOf(readSolidHeader(api, null), readNewest(api)),
    readPrices(api),
    readResources(api, intent.sender),
    readAccount(api, "wallet", intent.sender),
    asked,
  );
  if (head.timeMs - solid.timeMs > MAX_UNSOLID_MS)
    throw new ChainFault(
      `${api.name}: its newest solid block is ${head.timeMs - solid.timeMs} ms behind its newest one`,
      true,
      api.name,
    );
  const draft = draftOf(access, intent, solid, head);
  const facts = {
    bytes: signedBytes(encodeRawData(draft), NO_SIGNATURE).length / 2,
    makesAccount: "exists" in trial && !trial.exists,
    energy: "exists" in trial ? null : trial.ok ? energyOf(trial) : 0,
  };
  const fees = feesOf(facts, prices, resources, intent.maxFeeUnits);
  const raw = encodeRawData({ ...draft, feeLimitUnits: fees.feeLimitUnits });
  const refusal = await refusalOf(api, intent, trial, prices);
  return { raw, expiresAt: draft.expiration, fees, problem: refusal ?? problemOf(intent, fees, sender) };
}

/** The fee limit is the highest it may become, so that the size is no smaller than the truth. */
function draftOf(
  { network, chance }: MakingAccess,
  intent: ExpiringIntent,
  { ref }: TronHeader,
  head: TronHeader,
): RawData {
  return {
    refBlockBytes: (ref.height & 0xffff).toString(16).padStart(4, "0"),
    refBlockHash: ref.hash.slice(16, 32),
    expiration: head.timeMs + network.payout.replaceAfterBlocks * BLOCK_MS,
    data: "",
    contract: contractOf(intent),
    permissionId: 0,
    // No node looks at it. It keeps two payments that are alike in all else, made within one block, from being one
    // transaction: the chain would carry it out once.
    timestamp: head.timeMs - chance(),
    feeLimitUnits: intent.asset === NATIVE ? 0n : intent.maxFeeUnits,
  };
}

/** @throws MalformedAnswer */
function energyOf({ energy }: Extract<ConstantAnswer, { ok: true }>): number {
  // With a fee limit that was counted from nothing the payment would fail on the chain.
  if (energy === 0) throw new MalformedAnswer("energy_used", "what the transfer takes", energy);
  return energy;
}

function tryTransfer(api: TronApi, intent: ExpiringIntent): Promise<ConstantAnswer> {
  const contract = contractOf(intent);
  if (contract.kind !== "trigger") throw new Error("a trial is of a token's contract");
  return callConstant(api, "wallet", { owner: intent.sender, contract: intent.asset, data: contract.data });
}

/** @throws ChainFault, MalformedAnswer */
async function refusalOf(
  api: TronApi,
  intent: ExpiringIntent,
  trial: TronAccount | ConstantAnswer,
  { paysContracts }: TronPrices,
): Promise<Made["problem"]> {
  if ("ok" in trial) return trial.ok ? null : failureOf(api, intent, trial.detail);
  if (!trial.isContract || paysContracts) return null;
  return { reason: "refused", detail: `${intent.destination} is a contract, to which TRX cannot be transferred` };
}

/** A wallet that does not have the tokens is short; anything else the contract refuses for reasons of its own. */
async function failureOf(api: TronApi, intent: ExpiringIntent, detail: string): Promise<Made["problem"]> {
  const balance = await balanceOf(api, "wallet", intent.sender, intent.asset);
  if (balance === null || balance >= intent.amountUnits) return { reason: "refused", detail };
  return {
    reason: "wallet_short",
    detail: `the wallet has ${balance} of the token, ${intent.amountUnits} is to be paid`,
  };
}

function problemOf(intent: ExpiringIntent, fees: PaymentFees, { balanceUnits }: TronAccount): Made["problem"] {
  const { neededUnits, nowUnits, mostUnits } = fees;
  // The chain's own highest fee limit is a cap too: with less than is needed the payment would fail.
  const allowed = smaller(mostUnits, intent.maxFeeUnits);
  if (neededUnits > allowed)
    return { reason: "fee_above_cap", detail: `it may cost ${neededUnits} sun, at most ${allowed} is allowed` };
  const own = intent.asset === NATIVE ? intent.amountUnits : 0n;
  if (balanceUnits >= own + nowUnits) return null;
  return {
    reason: "wallet_short",
    detail: `the wallet has ${balanceUnits} sun, ${own} and fees of ${nowUnits} are to be paid`,
  };
}

/** The newest block, solid or not. @throws ChainFault, MalformedAnswer */
async function readNewest(api: TronApi): Promise<TronHeader> {
  const answer = await api.ask("wallet/getblock", { detail: false });
  try {
    return present(readHeader(answer), "newest block");
  } catch (error) {
    if (error instanceof ContradictedAnswer) throw new ChainFault(`${api.name}: ${error.message}`, true, api.name);
    throw error;
  }
}

/** Like `Promise.all`; a fault is thrown when each has come to its end. */
async function allOf<A, B, C, D, E>(
  a: Promise<A>,
  b: Promise<B>,
  c: Promise<C>,
  d: Promise<D>,
  e: Promise<E>,
): Promise<[A, B, C, D, E]> {
  await allSettledOrThrow<unknown>([a, b, c, d, e]);
  return [await a, await b, await c, await d, await e];
}
