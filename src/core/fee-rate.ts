/**
 * What a Bitcoin transaction offers for its size, and what one that replaces others must offer. Rates are satoshi
 * per 1,000 virtual bytes, as nodes count them. No rate above the network's cap is ever asked for.
 *
 * A replacement must offer a higher rate than each transaction that it replaces, and more in all: their fee, and
 * its own size at the incremental relay fee (BIP-125, rules 3 and 4; Core's PaysMoreThanConflicts, PaysForRBF). All
 * attempts of one payment spend one input, so a pool holds one of them at most, and the dearest is the measure.
 * What receivers spend on top of an attempt counts with it in the pool, and is not known here.
 */

import { larger, smaller } from "./amount.ts";
import { capFor, raised } from "./fees.ts";
import { CHANGE_VSIZE, dustThreshold, INPUT_VSIZE } from "./tx-size.ts";

export interface FeeRateLimits {
  readonly minPerKvb: bigint;
  readonly maxPerKvb: bigint;
}

export interface FeeRateQuote {
  /** What should be mined in time; null when the node has too little to go by. */
  readonly estimate: bigint | null;
  /** What the node's pool asks at least. */
  readonly floor: bigint;
}

/** What a transaction cost that was signed before. */
export interface OfferedFee {
  readonly feeUnits: bigint;
  readonly vsize: number;
}

/** What a transaction has to pay, whatever size it comes to. */
export interface FeeDemand {
  readonly ratePerKvb: bigint;
  /** The dearest fee among those that it replaces; null: it replaces none. */
  readonly replacedUnits: bigint | null;
}

export type PricedDemand =
  | { readonly ok: true; readonly demand: FeeDemand }
  /** What is needed lies above the network's cap. */
  | { readonly ok: false; readonly neededPerKvb: bigint; readonly capPerKvb: bigint };

/** Core's until version 29, and Knots'; Core asks a tenth of it since. */
const INCREMENTAL_PER_KVB = 1_000n;

/** What a virtual byte costs in calm times, per 1,000 (Core's -consolidatefeerate). */
export const CALM_PER_KVB = 10_000n;
/** `0014` and any hash: what is dust is a matter of the form. */
const CHANGE_DUST = dustThreshold(`0014${"00".repeat(20)}`);

/** @param rates satoshi per virtual byte, whole or fractional */
export function feeRateLimits(rates: { readonly minFeeRate: number; readonly maxFeeRate: number }): FeeRateLimits {
  return {
    minPerKvb: BigInt(Math.ceil(milli(rates.minFeeRate))),
    maxPerKvb: larger(BigInt(Math.floor(milli(rates.maxFeeRate))), 1n),
  };
}

/**
 * The estimate, or without one the floor. A first attempt leaves a third of the cap to those that replace it, and
 * is refused when what is needed is above the rest: the payment can wait, and nothing is locked yet.
 */
export function firstDemand(quote: FeeRateQuote, limits: FeeRateLimits): PricedDemand {
  const neededPerKvb = larger(quote.estimate ?? 0n, leastNow(quote, limits));
  const capPerKvb = larger(capFor("first", limits.maxPerKvb), smaller(limits.minPerKvb, limits.maxPerKvb));
  if (neededPerKvb > capPerKvb) return { ok: false, neededPerKvb, capPerKvb };
  return { ok: true, demand: { ratePerKvb: neededPerKvb, replacedUnits: null } };
}

/**
 * An eighth above the highest rate among the earlier attempts, and not below what a pool takes now. The estimate is
 * followed as far as the cap goes: what is on its way already is not helped by waiting. The fee in all may lie
 * above the cap where a small transaction replaces a large one: so much was offered before.
 * @param kind `burn`: pays nobody, and may go to twice the cap
 */
export function replacementDemand(
  earlier: readonly OfferedFee[],
  quote: FeeRateQuote,
  limits: FeeRateLimits,
  kind: "replacement" | "burn",
): PricedDemand {
  const capPerKvb = capFor(kind, limits.maxPerKvb);
  const highestRate = earlier.map(rateOf).reduce(larger, 0n);
  const raisedRate = earlier.length === 0 ? 0n : raised(highestRate);
  const neededPerKvb = larger(raisedRate, leastNow(quote, limits));
  if (neededPerKvb > capPerKvb) return { ok: false, neededPerKvb, capPerKvb };
  const ratePerKvb = larger(neededPerKvb, smaller(quote.estimate ?? 0n, capPerKvb));
  const replacedUnits = earlier.length === 0 ? null : earlier.map(({ feeUnits }) => feeUnits).reduce(larger, 0n);
  return { ok: true, demand: { ratePerKvb, replacedUnits } };
}

/** The least fee that a transaction of this size meets the demand with, in satoshi. */
export function feeOf({ ratePerKvb, replacedUnits }: FeeDemand, vsize: number): bigint {
  const own = perSize(ratePerKvb, vsize);
  return replacedUnits === null ? own : larger(own, replacedUnits + perSize(INCREMENTAL_PER_KVB, vsize));
}

/**
 * Between what a signed transaction's fee may lie. Twice the cap is for those that pay nobody; what would have been
 * change comes on top.
 */
export function boundsOf(
  { minPerKvb, maxPerKvb }: FeeRateLimits,
  replacedUnits: bigint | null,
  vsize: number,
): { readonly least: bigint; readonly most: bigint } {
  const dearest = { ratePerKvb: capFor("burn", maxPerKvb), replacedUnits };
  return { least: perSize(minPerKvb, vsize), most: feeOf(dearest, vsize + CHANGE_VSIZE) + leastChange(dearest) };
}

/** The least amount that is worth an output of change: above dust, and above what spending it costs in calm times. */
export function leastChange({ ratePerKvb }: FeeDemand): bigint {
  return larger(CHANGE_DUST, perSize(smaller(ratePerKvb, CALM_PER_KVB), INPUT_VSIZE));
}

/** What one more virtual byte costs at most, per 1,000 of them. */
export function marginalPerKvb({ ratePerKvb, replacedUnits }: FeeDemand): bigint {
  return replacedUnits === null ? ratePerKvb : larger(ratePerKvb, INCREMENTAL_PER_KVB);
}

/** Rounded up: what replaces it must not fall short of it. */
export function rateOf({ feeUnits, vsize }: OfferedFee): bigint {
  return (feeUnits * 1000n + BigInt(vsize) - 1n) / BigInt(vsize);
}

/** Rounded up to whole satoshi. */
export function perSize(ratePerKvb: bigint, vsize: number): bigint {
  return (ratePerKvb * BigInt(vsize) + 999n) / 1000n;
}

function leastNow({ floor }: FeeRateQuote, { minPerKvb }: FeeRateLimits): bigint {
  return larger(floor, minPerKvb);
}

/** 1.1 * 1000 is 1100.0000000000002: what lies beyond six places is no setting but its rounding. */
function milli(rate: number): number {
  return Number((rate * 1000).toFixed(6));
}
