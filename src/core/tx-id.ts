/** Transaction ids as people paste them. */

/** Hashes in hex have one meaning in any case; a base58 signature is another one when a letter's case is. */
export function canonicalTxId(text: string): string {
  return /^(0[xX])?[0-9a-fA-F]{64}$/.test(text) ? text.toLowerCase() : text;
}
