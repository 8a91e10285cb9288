/**
 * Ids: a prefix and 26 characters of Crockford base 32 (130 bits' room for 128). An id of something that
 * may be written twice is derived from what makes it unique, so that a retry writes the same id.
 */

import { sha256 } from "@noble/hashes/sha256";
import { utf8ToBytes } from "@noble/hashes/utils";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

export type IdPrefix =
  | "ten"
  | "key"
  | "addr"
  | "dep"
  | "wd"
  | "evt"
  | "we"
  | "del"
  | "bf"
  | "le"
  | "jrn"
  | "rec"
  | "inc"
  | "req"
  | "xpub";

/** @param random 16 fresh random bytes. */
export function newId(prefix: IdPrefix, random: Uint8Array): string {
  if (random.length !== 16) throw new Error(`an id needs 16 random bytes, got ${random.length}`);
  return `${prefix}_${base32(random)}`;
}

/** The same parts always give the same id. Parts are length-prefixed: ("ab","c") and ("a","bc") differ. */
export function derivedId(prefix: IdPrefix, ...parts: readonly (string | number)[]): string {
  return `${prefix}_${base32(digestOf(parts).slice(0, 16))}`;
}

function digestOf(parts: readonly (string | number)[]): Uint8Array {
  return sha256(utf8ToBytes(parts.map((part) => `${String(part).length}:${part}`).join("|")));
}

const NUMBER_BYTES = 6;

/** As `derivedId`, with a number in its last 48 bits, to be read back. */
export function numberedId(prefix: IdPrefix, number: number, ...parts: readonly (string | number)[]): string {
  const bytes = new Uint8Array(16);
  bytes.set(digestOf(parts).subarray(0, 16 - NUMBER_BYTES));
  for (let i = 15, rest = number; i > 15 - NUMBER_BYTES; i--, rest = Math.floor(rest / 256)) bytes[i] = rest % 256;
  return `${prefix}_${base32(bytes)}`;
}

/** The number in such an id; -1 in a text that is no id. In an id of another kind it is any number. */
export function numberIn(prefix: IdPrefix, text: string): number {
  if (!isId(prefix, text)) return -1;
  let value = 0n;
  for (const character of text.slice(prefix.length + 1)) value = (value << 5n) | BigInt(ALPHABET.indexOf(character));
  return Number(value & ((1n << BigInt(8 * NUMBER_BYTES)) - 1n));
}

export function isId(prefix: IdPrefix, text: string): boolean {
  return new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`).test(text);
}

/** 16 bytes in 26 characters, most significant first. */
export function base32(bytes: Uint8Array): string {
  // The first character has what is left over of the bits.
  let held = 0;
  let bits = (5 - ((bytes.length * 8) % 5)) % 5;
  let text = "";
  for (const byte of bytes) {
    held = ((held & 31) << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(held >> (bits - 5)) & 31];
  }
  return text;
}

/** Characters of a deposit's id that its events' ids begin with, and those that say which one it is. */
const OF_DEPOSIT = 22;
const NUMBER = 4;
const MOST_EVENTS = 32 ** NUMBER;

/**
 * The id of a deposit's n-th event. Like a derived one it is the same whenever it is made; beyond that it leads back to
 * the deposit, so that no list of such ids is needed.
 */
export function depositEventId(depositId: string, n: number): string {
  if (n < 1 || n >= MOST_EVENTS) throw new Error(`a deposit has no event ${n}`);
  let text = "";
  for (let rest = n; text.length < NUMBER; rest = Math.floor(rest / 32)) text = ALPHABET[rest % 32] + text;
  return `evt_${depositId.slice("dep_".length).slice(0, OF_DEPOSIT)}${text}`;
}

/** What an id says if it is one of a deposit's event: how the deposit's id begins, and which event it is. */
export function depositOfEvent(eventId: string): { readonly idBegins: string; readonly n: number } {
  const code = eventId.slice("evt_".length);
  const n = [...code.slice(OF_DEPOSIT)].reduce((sum, char) => sum * 32 + ALPHABET.indexOf(char), 0);
  return { idBegins: `dep_${code.slice(0, OF_DEPOSIT)}`, n };
}
