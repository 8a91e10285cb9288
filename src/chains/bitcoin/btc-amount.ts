/** Amounts and rates as Core writes them: decimal numbers of coins, with eight places at most. */

import { MalformedAnswer } from "../rpc/malformed.ts";

const PLACES = 8;
/** 21 million coins. Up to there a double tells every satoshi apart. */
const MAX_COINS = 21_000_000;

/**
 * Satoshi. The number that JSON gave is the double nearest to the decimal that was written, so the decimal of eight
 * places nearest to the double is the one that was written: nothing is multiplied, and nothing rounds.
 */
export function parseBtc(value: unknown, what: string): bigint {
  if (typeof value === "number" && value >= 0 && value <= MAX_COINS) {
    const text = value.toFixed(PLACES);
    if (Number(text) === value) return BigInt(text.replace(".", ""));
  }
  throw new MalformedAnswer(what, `an amount of coins with at most ${PLACES} decimals`, value);
}
