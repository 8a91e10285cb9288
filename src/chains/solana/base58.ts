/**
 * Base58 of what strangers put into transactions. Libraries are made for addresses: their time grows with the square of the
 * length, and a program may be called with 10 KiB dozens of times in one transaction, which would take minutes.
 */

import { hexToBytes } from "@noble/hashes/utils";
import { base58 } from "@scure/base";

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const DIGITS: ReadonlyMap<string, number> = new Map(Array.from(ALPHABET, (char, digit) => [char, digit]));
/** Up to here the library is faster. */
const SHORT_CHARS = 200;
/** 58^9 is a number that arithmetic is exact with. */
const CHARS_AT_ONCE = 9;

/** @throws Error for text that is none */
export function fromBase58(text: string): Uint8Array {
  if (text.length <= SHORT_CHARS) return base58.decode(text);
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  const digits = numberIn(text, zeros, text.length).toString(16);
  const number =
    zeros === text.length ? new Uint8Array(0) : hexToBytes(digits.padStart(digits.length + (digits.length % 2), "0"));
  const bytes = new Uint8Array(zeros + number.length);
  bytes.set(number, zeros);
  return bytes;
}

/** Halves, each a number of its own: multiplying long ones is cheaper than many short steps. */
function numberIn(text: string, from: number, to: number): bigint {
  if (to - from <= CHARS_AT_ONCE) {
    let value = 0;
    for (let at = from; at < to; at++) value = value * 58 + digitAt(text, at);
    return BigInt(value);
  }
  const middle = (from + to) >>> 1;
  return numberIn(text, from, middle) * 58n ** BigInt(to - middle) + numberIn(text, middle, to);
}

function digitAt(text: string, at: number): number {
  const digit = DIGITS.get(text.charAt(at));
  if (digit === undefined) throw new Error(`no base58 at ${at}`);
  return digit;
}
