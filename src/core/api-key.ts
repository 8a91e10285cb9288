/**
 * API keys: `sk_<tenant 26><secret 32><checksum 13>`.
 *
 * The key names its tenant and carries a checksum keyed with the pepper, so the edge refuses a forged one
 * without asking anybody. Only a keyed hash of the whole key is stored.
 */

import { hmac } from "@noble/hashes/hmac";
import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import { base32, isId } from "./ids.ts";

const TENANT_CHARS = 26;
const SECRET_CHARS = 32;
const CHECK_CHARS = 13;

/** @param random 20 fresh random bytes. */
export function mintApiKey(tenantId: string, random: Uint8Array, pepper: string): { secret: string; hash: string } {
  if (random.length !== 20) throw new Error(`an API key needs 20 random bytes, got ${random.length}`);
  if (!isId("ten", tenantId)) throw new Error(`not a tenant id: ${tenantId}`);
  const head = `sk_${tenantId.slice("ten_".length)}${base32(random)}`;
  const secret = head + checksum(head, pepper);
  return { secret, hash: hashApiKey(secret, pepper) };
}

/** The tenant a key names and the hash it is found by; null when it was not made with this pepper. */
export function readApiKey(text: string, pepper: string): { tenantId: string; hash: string } | null {
  if (text.length !== 3 + TENANT_CHARS + SECRET_CHARS + CHECK_CHARS || !text.startsWith("sk_")) return null;
  const head = text.slice(0, -CHECK_CHARS);
  if (!equalInConstantTime(text.slice(-CHECK_CHARS), checksum(head, pepper))) return null;
  const tenantId = `ten_${head.slice(3, 3 + TENANT_CHARS)}`;
  return isId("ten", tenantId) ? { tenantId, hash: hashApiKey(text, pepper) } : null;
}

function hashApiKey(secret: string, pepper: string): string {
  return bytesToHex(hmac(sha256, utf8ToBytes(pepper), utf8ToBytes(`sluice api key hash|${secret}`)));
}

function checksum(head: string, pepper: string): string {
  return base32(hmac(sha256, utf8ToBytes(pepper), utf8ToBytes(`sluice api key checksum|${head}`)).slice(0, 8));
}

export function equalInConstantTime(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
