/** API keys: `sk_...`, what a merchant's programs call with. They hold until they are ended. */

import { mintToken, readToken, type TokenKind } from "./keyed-token.ts";

const API_KEY: TokenKind = { prefix: "sk_", label: "api key" };

/** @param random 20 fresh random bytes. */
export function mintApiKey(tenantId: string, random: Uint8Array, pepper: string): { secret: string; hash: string } {
  return mintToken(API_KEY, tenantId, random, pepper);
}

/** The tenant a key names and the hash it is found by; null when it was not made with this pepper. */
export function readApiKey(text: string, pepper: string): { tenantId: string; hash: string } | null {
  return readToken(API_KEY, text, pepper);
}
