/** Solana addresses: 32 bytes in base58, of which there is one spelling. */

import type { ParsedAddress } from "./parsed-address.ts";

export function parseSolanaAddress(_text: string): ParsedAddress {
  return { ok: false, reason: "malformed" };
}
