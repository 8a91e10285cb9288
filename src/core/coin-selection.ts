/**
 * Which coins pay a list of payments at a fee. The same question has the same answer, and what is taken and what is
 * given are equal to the satoshi: inputs = payments + change + fee.
 *
 * First what must be spent alone; then a set that needs no change; then the smallest single coin that is enough;
 * then the largest coins. A coin that costs more to spend than it holds is not taken, unless it is pinned.
 */

import { larger } from "./amount.ts";
import { scriptOfAddress } from "./bitcoin-address.ts";
import { type Coin, coinText, type Payment } from "./coins.ts";
import { exactCoins } from "./exact-coins.ts";
import { CALM_PER_KVB, type FeeDemand, feeOf, leastChange, marginalPerKvb } from "./fee-rate.ts";
import type { BitcoinAddressForm } from "./network.ts";
import {
  CHANGE_VSIZE,
  dustThreshold,
  INPUT_VSIZE,
  INPUT_WEIGHT,
  MAX_TX_WEIGHT,
  P2WPKH_SCRIPT_BYTES,
  vsizeOf,
  weightOf,
} from "./tx-size.ts";

export interface SelectionQuestion {
  readonly addresses: BitcoinAddressForm;
  /** Empty: everything goes back to the wallet. */
  readonly payments: readonly Payment[];
  /** Spent whatever they hold, in this order, before all others. All attempts of a payment share the first. */
  readonly pinned: readonly Coin[];
  /** Free to be taken, in any order. */
  readonly coins: readonly Coin[];
  /** By `coinText`: never taken unless pinned. */
  readonly locked?: ReadonlySet<string>;
  readonly demand: FeeDemand;
}

export interface CoinPlan {
  readonly inputs: readonly Coin[];
  /** Null: what is left is too little to be an output, and goes with the fee. */
  readonly changeUnits: bigint | null;
  readonly feeUnits: bigint;
  /** The largest that the signed transaction can come to. */
  readonly vsize: number;
}

export type Selection =
  | { readonly ok: true; readonly plan: CoinPlan }
  /** With one more coin of so many satoshi, it could be paid. */
  | { readonly ok: false; readonly reason: "short"; readonly shortUnits: bigint }
  /** It would take more inputs than a transaction may have. The wallet's coins are too small. */
  | { readonly ok: false; readonly reason: "too_heavy"; readonly maxInputs: number; readonly reachedUnits: bigint }
  /** A payment is too small for any pool to take. */
  | { readonly ok: false; readonly reason: "dust"; readonly place: number; readonly leastUnits: bigint };

/** Beyond one byte of count the sizes are no longer linear, and nobody wants such a match. */
const MAX_EXACT_INPUTS = 252;

export function selectCoins({ addresses, payments, pinned, coins, locked, demand }: SelectionQuestion): Selection {
  if (new Set(pinned.map(coinText)).size < pinned.length) throw new Error("a coin is pinned twice");
  const scripts = payments.map(({ address }) => scriptOfAddress(addresses, address));
  const dust = dustAmong(payments, scripts);
  if (dust !== null) return dust;
  const draft = new Draft(payments, scripts, demand);
  const free = eligible(coins, pinned, locked, demand);
  return (
    settled(draft, pinned) ??
    settled(draft, [...pinned, ...exactly(draft, pinned, free, demand)]) ??
    withOneMore(draft, pinned, free) ??
    withLargest(draft, pinned, free) ??
    refusal(draft, pinned, free, demand)
  );
}

/** What is to be paid, and what it costs with any number of inputs. */
class Draft {
  readonly paidUnits: bigint;
  readonly leastChange: bigint;
  readonly #scripts: readonly number[];
  readonly #demand: FeeDemand;

  constructor(payments: readonly Payment[], scripts: readonly string[], demand: FeeDemand) {
    this.paidUnits = payments.reduce((sum, { amountUnits }) => sum + amountUnits, 0n);
    this.leastChange = leastChange(demand);
    this.#scripts = scripts.map((script) => script.length / 2);
    this.#demand = demand;
  }

  /** Without outputs there is no transaction: what pays nobody has change. */
  get needsChange(): boolean {
    return this.#scripts.length === 0;
  }

  weight(inputs: number, change: boolean): number {
    return weightOf(inputs, change ? [...this.#scripts, P2WPKH_SCRIPT_BYTES] : this.#scripts);
  }

  vsize(inputs: number, change: boolean): number {
    return vsizeOf(this.weight(inputs, change));
  }

  /** What so many inputs must hold at least. */
  needed(inputs: number): bigint {
    const spent = this.paidUnits + feeOf(this.#demand, this.vsize(inputs, this.needsChange));
    return this.needsChange ? spent + this.leastChange : spent;
  }

  /** These inputs as they are; null when they do not hold enough, or are too many. */
  plan(inputs: readonly Coin[]): CoinPlan | null {
    if (inputs.length === 0 || !this.fits(inputs.length)) return null;
    const left = unitsOf(inputs) - this.paidUnits;
    const vsize = this.vsize(inputs.length, true);
    const changeUnits = left - feeOf(this.#demand, vsize);
    if (changeUnits >= this.leastChange) return { inputs, changeUnits, feeUnits: left - changeUnits, vsize };
    if (unitsOf(inputs) < this.needed(inputs.length)) return null;
    return { inputs, changeUnits: null, feeUnits: left, vsize: this.vsize(inputs.length, false) };
  }

  fits(inputs: number): boolean {
    return this.weight(inputs, true) <= MAX_TX_WEIGHT;
  }
}

function settled(draft: Draft, inputs: readonly Coin[]): Selection | null {
  const plan = draft.plan(inputs);
  return plan === null ? null : { ok: true, plan };
}

/** Coins worth their own input, largest first; each once. */
function eligible(
  coins: readonly Coin[],
  pinned: readonly Coin[],
  locked: ReadonlySet<string> | undefined,
  demand: FeeDemand,
): readonly Coin[] {
  const seen = new Set(pinned.map(coinText));
  const free: Coin[] = [];
  for (const coin of coins) {
    const text = coinText(coin);
    if (seen.has(text) || locked?.has(text) || worthOf(coin, marginalPerKvb(demand)) <= 0n) continue;
    seen.add(text);
    free.push(coin);
  }
  return free.sort(byAmount);
}

/** The coins of a match without change, none when there is no match. Not for replacements: their fee is no line. */
function exactly(draft: Draft, pinned: readonly Coin[], free: readonly Coin[], demand: FeeDemand): readonly Coin[] {
  const maxInputs = MAX_EXACT_INPUTS - pinned.length;
  if (draft.needsChange || demand.replacedUnits !== null || maxInputs <= 0) return [];
  const { ratePerKvb } = demand;
  const fixedCost = ratePerKvb * BigInt(draft.vsize(pinned.length, false));
  const places = exactCoins({
    worths: free.map((coin) => worthOf(coin, ratePerKvb)),
    target: (draft.paidUnits - unitsOf(pinned)) * 1000n + fixedCost,
    window: ratePerKvb * BigInt(CHANGE_VSIZE) + draft.leastChange * 1000n,
    inputPenalty: (ratePerKvb - CALM_PER_KVB) * BigInt(INPUT_VSIZE),
    maxInputs,
  });
  return (places ?? []).flatMap((place) => free[place] ?? []);
}

/** The smallest that is enough: what one of them pays, every larger one pays. */
function withOneMore(draft: Draft, before: readonly Coin[], free: readonly Coin[]): Selection | null {
  const planWith = (place: number) => draft.plan([...before, ...free.slice(place, place + 1)]);
  // Enough at `low`, and not at `high`.
  let low = -1;
  let high = free.length;
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2);
    if (planWith(middle) === null) high = middle;
    else low = middle;
  }
  return low < 0 ? null : settled(draft, [...before, ...free.slice(low, low + 1)]);
}

/** The fewest inputs; the last of them as small as it may be. */
function withLargest(draft: Draft, pinned: readonly Coin[], free: readonly Coin[]): Selection | null {
  let units = unitsOf(pinned);
  for (const [place, coin] of free.entries()) {
    const inputs = pinned.length + place + 1;
    if (!draft.fits(inputs)) return null;
    units += coin.amountUnits;
    if (units < draft.needed(inputs)) continue;
    return withOneMore(draft, [...pinned, ...free.slice(0, place)], free.slice(place));
  }
  return null;
}

function refusal(draft: Draft, pinned: readonly Coin[], free: readonly Coin[], demand: FeeDemand): Selection {
  const all = [...pinned, ...free];
  const isEnough = unitsOf(all) >= draft.needed(all.length);
  if (!isEnough && draft.fits(all.length + 1)) {
    const missing = draft.needed(all.length + 1) - unitsOf(all);
    return { ok: false, reason: "short", shortUnits: larger(missing, leastWorthwhile(marginalPerKvb(demand))) };
  }
  const maxInputs = Math.max(0, Math.floor((MAX_TX_WEIGHT - draft.weight(0, true)) / INPUT_WEIGHT));
  return { ok: false, reason: "too_heavy", maxInputs, reachedUnits: unitsOf(all.slice(0, maxInputs)) };
}

function dustAmong(payments: readonly Payment[], scripts: readonly string[]): Selection | null {
  for (const [place, { amountUnits }] of payments.entries()) {
    const leastUnits = dustThreshold(scripts[place] ?? "");
    if (amountUnits < leastUnits) return { ok: false, reason: "dust", place, leastUnits };
  }
  return null;
}

/** What a coin adds once its own input is paid for, in thousandths of a satoshi. */
function worthOf({ amountUnits }: Coin, perKvb: bigint): bigint {
  return amountUnits * 1000n - perKvb * BigInt(INPUT_VSIZE);
}

/** The smallest coin that is worth its own input. */
function leastWorthwhile(perKvb: bigint): bigint {
  return (perKvb * BigInt(INPUT_VSIZE)) / 1000n + 1n;
}

function unitsOf(coins: readonly Coin[]): bigint {
  return coins.reduce((sum, { amountUnits }) => sum + amountUnits, 0n);
}

/** Largest first; by name where that does not tell. */
function byAmount(a: Coin, b: Coin): number {
  if (a.amountUnits !== b.amountUnits) return a.amountUnits > b.amountUnits ? -1 : 1;
  return coinText(a) < coinText(b) ? -1 : 1;
}
