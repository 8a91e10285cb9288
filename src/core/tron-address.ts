/**
 * TRON addresses: the byte 41 and 20 bytes, of which base58check is the one canonical spelling here. Hex with the 41,
 * with 0x41, and the bare 20 bytes with 0x mean the same receiver.
 */

import type { ParsedAddress } from "./parsed-address.ts";

export function parseTronAddress(_text: string): ParsedAddress {
  return { ok: false, reason: "malformed" };
}
