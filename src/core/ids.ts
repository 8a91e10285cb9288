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
