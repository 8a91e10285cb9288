/**
 * One canonical spelling per receiver. Everything inside compares canonical forms, so two spellings of one
 * address can never become two watches.
 */

import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import type { NetworkFamily } from "./network.ts";

export type ParsedAddress =
  | { readonly ok: true; readonly address: string }
  | { readonly ok: false; readonly reason: "malformed" | "bad_checksum" };

export function parseAddress(family: NetworkFamily, text: string): ParsedAddress {
  switch (family) {
    case "evm":
      return parseEvmAddress(text);
  }
}

/**
 * Lower-case hex inside. Accepts all lower case, all upper case, and mixed case whose checksum is right
 * (EIP-55); `0X` is read as `0x`.
 */
function parseEvmAddress(text: string): ParsedAddress {
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
