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
  const text = parts.map((part) => `${String(part).length}:${part}`).join("|");
  return `${prefix}_${base32(sha256(utf8ToBytes(text)).slice(0, 16))}`;
}

export function isId(prefix: IdPrefix, text: string): boolean {
  return new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`).test(text);
}

/** 16 bytes in 26 characters, most significant first. */
export function base32(bytes: Uint8Array): string {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  const length = Math.ceil((bytes.length * 8) / 5);
  let text = "";
  for (let i = 0; i < length; i++) {
    text = ALPHABET[Number(value & 31n)] + text;
    value >>= 5n;
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
