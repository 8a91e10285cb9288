/**
 * What a payment costs: bandwidth for its bytes, energy for a token's contract, and a fee where it makes an account.
 * Each is burned from the sender's TRX where stake does not give it.
 */

import type { FeePart } from "../../core/fee-kind.ts";
import type { TronPrices, TronResources } from "./resources.ts";

export interface PaymentFacts {
  /** Of the signed bytes. */
  readonly bytes: number;
  readonly makesAccount: boolean;
  /** By a trial at the newest block; null: no contract is called. */
  readonly energy: number | null;
}

export interface PaymentFees {
  /** With what the sender has staked, if it landed now. */
  readonly nowUnits: bigint;
  /** What that is made of. */
  readonly parts: readonly FeePart[];
  /** Below this the payment is not tried: the trial's energy and a margin, at full price, and the bytes. */
  readonly neededUnits: bigint;
  /** Most that it can cost, its fee limit included. Never above the cap, when what is needed is not. */
  readonly mostUnits: bigint;
  /** 0 where no contract is called. */
  readonly feeLimitUnits: bigint;
}

/** What a result may add to a transaction's size (`MAX_RESULT_SIZE_IN_TX`). */
const RESULT_BYTES = 64;
/**
 * A token's price in energy may rise by a fifth at each change of period where many use it, and doubles when the
 * receiver's balance falls to nothing meanwhile. The limit leaves room for that, and a payment that would not
 * have a tenth of room is not tried: one that runs out of energy costs its whole limit and pays nothing.
 */
const NEEDED_PERCENT = 110n;
const LIMIT_PERCENT = 200n;

/** @param capUnits most that the payment may cost */
export function feesOf(
  { bytes, makesAccount, energy }: PaymentFacts,
  prices: TronPrices,
  resources: TronResources,
  capUnits: bigint,
): PaymentFees {
  const size = bytes + RESULT_BYTES;
  const bytesUnits = BigInt(size) * prices.byteUnits;
  const accountUnits = makesAccount ? prices.newAccountUnits + prices.newAccountExtraUnits : 0n;
  // Somebody else may have made the account when it lands.
  const netMost = bytesUnits > accountUnits ? bytesUnits : accountUnits;
  const isFree = size <= resources.stakedBytes || size <= resources.freeBytes;
  const netNow = makesAccount ? accountUnits : isFree ? 0n : bytesUnits;
  const net: FeePart = makesAccount
    ? { kind: "account", quantity: null, units: netNow }
    : { kind: "bandwidth", quantity: size, units: netNow };
  if (energy === null)
    return { nowUnits: netNow, parts: [net], neededUnits: netMost, mostUnits: netMost, feeLimitUnits: 0n };
  const atFullPrice = BigInt(energy) * prices.energyUnits;
  const burned = BigInt(Math.max(0, energy - resources.energy)) * prices.energyUnits;
  const needed = percent(atFullPrice, NEEDED_PERCENT);
  // Staked energy counts against the limit at the same price as burned TRX.
  const limit = least(percent(atFullPrice, LIMIT_PERCENT), capUnits - netMost, prices.maxFeeLimitUnits);
  const feeLimitUnits = limit > 0n ? limit : 0n;
  return {
    nowUnits: netNow + burned,
    parts: [net, { kind: "energy", quantity: energy, units: burned }],
    neededUnits: netMost + needed,
    mostUnits: netMost + feeLimitUnits,
    feeLimitUnits,
  };
}

function percent(units: bigint, of: bigint): bigint {
  return (units * of + 99n) / 100n;
}

function least(first: bigint, ...others: readonly bigint[]): bigint {
  let lowest = first;
  for (const one of others) if (one < lowest) lowest = one;
  return lowest;
}
