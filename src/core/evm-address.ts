/** EVM addresses: 20 bytes, with a checksum in the case of their digits (EIP-55). */

import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import type { ParsedAddress } from "./parsed-address.ts";

/**
 * Lower-case hex inside. Accepts all lower case, all upper case, and mixed case whose checksum is right
 * (EIP-55); `0X` is read as `0x`.
 */
export function parseEvmAddress(text: string): ParsedAddress {
  const match = /^0[xX]([0-9a-fA-F]{40})$/.exec(text);
  const digits = match?.[1];
  if (digits === undefined || text.length !== 42) return { ok: false, reason: "malformed" };
  const lower = digits.toLowerCase();
  const mixed = digits !== lower && digits !== digits.toUpperCase();
  if (mixed && digits !== checksummed(lower)) return { ok: false, reason: "bad_checksum" };
  return { ok: true, address: `0x${lower}` };
}

function checksummed(lower: string): string {
  const hash = bytesToHex(keccak_256(utf8ToBytes(lower)));
  let out = "";
  for (let i = 0; i < 40; i++) {
    const char = lower.charAt(i);
    out += Number.parseInt(hash.charAt(i), 16) >= 8 ? char.toUpperCase() : char;
  }
  return out;
}
