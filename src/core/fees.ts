/**
 * What an EVM transaction offers for its gas, and what an attempt that replaces others must offer. Wei per gas
 * throughout. Nothing above the network's cap is ever offered, and a replacement is above every earlier
 * attempt in every field: pools refuse less than 10 % more (geth's `--txpool.pricebump`), and an eighth more,
 * rounded up, clears that for any integer.
 */

import { larger, smaller } from "./amount.ts";

export type Fees =
  | { readonly kind: "eip1559"; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
  | { readonly kind: "legacy"; readonly gasPrice: bigint };

/** What the network asks now, as a provider states it. */
export type FeeQuote =
  | { readonly kind: "eip1559"; readonly baseFee: bigint; readonly priorityFee: bigint }
  | { readonly kind: "legacy"; readonly gasPrice: bigint };

export type PricedFees =
  | { readonly ok: true; readonly fees: Fees }
  /** What is needed lies above the network's cap. */
  | { readonly ok: false; readonly neededPerGas: bigint; readonly capPerGas: bigint };

/**
 * With a base fee: room for it to double, less where the cap is lower. Refused only when not even the next
 * block could be paid.
 */
export function firstFees(quote: FeeQuote, capPerGas: bigint): PricedFees {
  const neededPerGas = neededNow(quote);
  if (neededPerGas > capPerGas) return { ok: false, neededPerGas, capPerGas };
  if (quote.kind === "legacy") return { ok: true, fees: { kind: "legacy", gasPrice: quote.gasPrice } };
  const tip = tipOf(quote);
  const maxFeePerGas = smaller(2n * quote.baseFee + tip, capPerGas);
  return { ok: true, fees: { kind: "eip1559", maxFeePerGas, maxPriorityFeePerGas: tip } };
}

/**
 * Fees of an attempt that takes the place of all earlier ones of its nonce: every field raised above the
 * highest it ever had, and not below what a first attempt would offer now. A gas price is read as both fields,
 * as pools do.
 */
export function replacementFees(earlier: readonly Fees[], quote: FeeQuote, capPerGas: bigint): PricedFees {
  const first = firstFees(quote, capPerGas);
  if (earlier.length === 0) return first;
  const raisedTip = raised(highest(earlier.map(tipPerGas)));
  // A tip above the maximum is no valid transaction, whatever the earlier ones were.
  const raisedMost = larger(raised(highest(earlier.map(mostPerGas))), raisedTip);
  const neededPerGas = larger(raisedMost, neededNow(quote));
  if (!first.ok || neededPerGas > capPerGas) return { ok: false, neededPerGas, capPerGas };
  const most = larger(raisedMost, mostPerGas(first.fees));
  if (first.fees.kind === "legacy") return { ok: true, fees: { kind: "legacy", gasPrice: most } };
  const tip = larger(raisedTip, first.fees.maxPriorityFeePerGas);
  return { ok: true, fees: { kind: "eip1559", maxFeePerGas: most, maxPriorityFeePerGas: tip } };
}

/** An eighth more, rounded up, and never the same: 11 -> 13, 1 -> 2, 0 -> 1. */
export function raised(value: bigint): bigint {
  return larger((value * 1125n + 999n) / 1000n, value + 1n);
}

/** What a provider's quote asks for one gas of the next block. */
export function perGasNow(quote: FeeQuote): bigint {
  return quote.kind === "legacy" ? quote.gasPrice : quote.baseFee + quote.priorityFee;
}

/**
 * How much of the network's cap an attempt may use. A first one leaves room to be replaced; one that
 * only makes a nonce's payments void may go beyond, since a nonce that is stuck stops everything behind it.
 */
export function capFor(kind: "first" | "replacement" | "burn", capPerGas: bigint): bigint {
  switch (kind) {
    case "first":
      return larger((capPerGas * 2n) / 3n, 1n);
    case "replacement":
      return capPerGas;
    case "burn":
      return 2n * capPerGas;
  }
}

/** The most that one gas can cost. */
export function mostPerGas(fees: Fees): bigint {
  return fees.kind === "legacy" ? fees.gasPrice : fees.maxFeePerGas;
}

function tipPerGas(fees: Fees): bigint {
  return fees.kind === "legacy" ? fees.gasPrice : fees.maxPriorityFeePerGas;
}

/** What the next block takes. */
function neededNow(quote: FeeQuote): bigint {
  return quote.kind === "legacy" ? quote.gasPrice : quote.baseFee + tipOf(quote);
}

/** At least one wei: a transaction without any tip is left lying, and an eighth of nothing is nothing. */
function tipOf(quote: FeeQuote & { readonly kind: "eip1559" }): bigint {
  return larger(quote.priorityFee, 1n);
}

function highest(values: readonly bigint[]): bigint {
  return values.reduce(larger, 0n);
}
