/**
 * Recognises what must never leave the page: private keys and seed phrases in the place of a public key. The service
 * refuses them, too; what is recognised here is not even sent.
 */

/** @returns what it is, in words; null: nothing that is known to be private */
export function privateKeyIn(text: string): string | null {
  const trimmed = text.trim();
  if (/^[a-z]prv/i.test(trimmed)) return "an extended private key";
  if (/^[5KL][1-9A-HJ-NP-Za-km-z]{50,51}$/.test(trimmed) || /^(0x)?[0-9a-f]{64}$/i.test(trimmed))
    return "what looks like a private key";
  if (trimmed.split(/\s+/).length >= 12) return "what looks like a seed phrase";
  return null;
}
