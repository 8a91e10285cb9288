/**
 * Tokens that name their tenant: `<prefix><tenant 26><secret 32><checksum 13>`.
 *
 * The checksum is keyed with the pepper, so the edge refuses a forged one without asking anybody. Only a keyed hash
 * of the whole token is stored. Hash and checksum of each kind are under a label of its own: no token of one kind can
 * be made into one of another.
 */

import { hmac } from "@noble/hashes/hmac";
import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import { base32, isId } from "./ids.ts";

const TENANT_CHARS = 26;
const SECRET_CHARS = 32;
const CHECK_CHARS = 13;
const RANDOM_BYTES = 20;

export interface TokenKind {
  readonly prefix: string;
  readonly label: string;
}

/** @param random 20 fresh random bytes. */
export function mintToken(
  kind: TokenKind,
  tenantId: string,
  random: Uint8Array,
  pepper: string,
): { secret: string; hash: string } {
  if (random.length !== RANDOM_BYTES)
    throw new Error(`a token needs ${RANDOM_BYTES} random bytes, got ${random.length}`);
  if (!isId("ten", tenantId)) throw new Error(`not a tenant id: ${tenantId}`);
  const head = `${kind.prefix}${tenantId.slice("ten_".length)}${base32(random)}`;
  const secret = head + checksum(kind, head, pepper);
  return { secret, hash: hashOf(kind, secret, pepper) };
}

/** The tenant a token names and the hash it is found by; null when it was not made as this kind with this pepper. */
export function readToken(kind: TokenKind, text: string, pepper: string): { tenantId: string; hash: string } | null {
  const { prefix } = kind;
  if (text.length !== prefix.length + TENANT_CHARS + SECRET_CHARS + CHECK_CHARS || !text.startsWith(prefix))
    return null;
  const head = text.slice(0, -CHECK_CHARS);
  if (!equalInConstantTime(text.slice(-CHECK_CHARS), checksum(kind, head, pepper))) return null;
  const tenantId = `ten_${head.slice(prefix.length, prefix.length + TENANT_CHARS)}`;
  return isId("ten", tenantId) ? { tenantId, hash: hashOf(kind, text, pepper) } : null;
}

function hashOf({ label }: TokenKind, secret: string, pepper: string): string {
  return bytesToHex(hmac(sha256, utf8ToBytes(pepper), utf8ToBytes(`sluice ${label} hash|${secret}`)));
}

function checksum({ label }: TokenKind, head: string, pepper: string): string {
  return base32(hmac(sha256, utf8ToBytes(pepper), utf8ToBytes(`sluice ${label} checksum|${head}`)).slice(0, 8));
}

export function equalInConstantTime(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
