/**
 * Session tokens: `ses_...`, what a browser calls with in the place of an API key that it signed in with. They are in
 * a cookie and in no text that a person sees.
 */

import { mintToken, readToken, type TokenKind } from "./keyed-token.ts";

const SESSION: TokenKind = { prefix: "ses_", label: "session" };

/** @param random 20 fresh random bytes. */
export function mintSessionToken(
  tenantId: string,
  random: Uint8Array,
  pepper: string,
): { secret: string; hash: string } {
  return mintToken(SESSION, tenantId, random, pepper);
}

/** The tenant a token names and the hash it is found by; null when it was not made with this pepper. */
export function readSessionToken(text: string, pepper: string): { tenantId: string; hash: string } | null {
  return readToken(SESSION, text, pepper);
}
