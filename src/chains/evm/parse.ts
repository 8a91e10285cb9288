/**
 * The boundary to what nodes say: a value is checked here once, by hand and fast, and trusted afterwards.
 * Hex comes out in lower case, so that comparing strings compares values.
 */

import { MalformedAnswer } from "../rpc/malformed.ts";

export { MalformedAnswer, parseList, parseObject } from "../rpc/malformed.ts";

const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/;
const LOWER_DIGITS = /^0x[0-9a-f]*$/;
const ANY_DIGITS = /^0x[0-9a-fA-F]*$/;

/** A count or height. Above 2^53 - 1 it cannot be one. Leading zeros are let through: some nodes send them. */
export function parseQuantity(value: unknown, what: string): number {
  if (typeof value === "string" && QUANTITY.test(value)) {
    const number = Number(value);
    if (number <= Number.MAX_SAFE_INTEGER) return number;
  }
  throw new MalformedAnswer(what, "a hex quantity below 2^53", value);
}

/** An amount, up to 256 bits, kept as hex. */
export function parseAmountHex(value: unknown, what: string): string {
  if (typeof value === "string" && QUANTITY.test(value)) return value;
  throw new MalformedAnswer(what, "a hex quantity of at most 256 bits", value);
}

/** 32 bytes. */
export function parseHash(value: unknown, what: string): string {
  return parseBytes(value, 66, what, "32 bytes of hex");
}

/** 20 bytes, lower case. */
export function parseAddressHex(value: unknown, what: string): string {
  return parseBytes(value, 42, what, "an address of 20 bytes");
}

/** 256 bytes (yellow paper, 4.3.1). */
export function parseBloom(value: unknown, what: string): string {
  return parseBytes(value, 514, what, "a bloom of 256 bytes");
}

/** Any number of whole bytes. */
export function parseData(value: unknown, what: string): string {
  if (typeof value === "string" && value.length % 2 === 0) {
    // Nearly everything is lower case already: one look, and no copy.
    if (LOWER_DIGITS.test(value)) return value;
    if (ANY_DIGITS.test(value)) return value.toLowerCase();
  }
  throw new MalformedAnswer(what, "bytes in hex", value);
}

export function toQuantity(value: number): string {
  return `0x${value.toString(16)}`;
}

function parseBytes(value: unknown, chars: number, what: string, expected: string): string {
  if (typeof value === "string" && value.length === chars) {
    if (LOWER_DIGITS.test(value)) return value;
    if (ANY_DIGITS.test(value)) return value.toLowerCase();
  }
  throw new MalformedAnswer(what, expected, value);
}
