/**
 * TRON addresses: the byte 41 and 20 bytes, of which base58check is the one canonical spelling here. Hex with the 41,
 * with 0x41, and the bare 20 bytes with 0x mean the same receiver.
 */

import { sha256 } from "@noble/hashes/sha2";
import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { base58, createBase58check } from "@scure/base";
import { parseEvmAddress } from "./evm-address.ts";
import type { BadAddress, ParsedAddress } from "./parsed-address.ts";

const base58check = createBase58check(sha256);

const PREFIX = 0x41;
/** The prefix, 20 bytes, and four bytes of checksum: always 34 characters that begin with a T. */
const CHECKED_BYTES = 25;
const BASE58 = /^T[1-9A-HJ-NP-Za-km-z]{33}$/;
const HEX = /^(0[xX])?41([0-9a-fA-F]{40})$/;

/** Nobody has a key to these: all zeros, and the account that coins are sent to to be destroyed. */
const NOBODYS: ReadonlySet<string> = new Set([
  "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb",
  "TLsV52sRDL79HXGGm9yzwKibb6BeruhUzy",
]);

/** Base58check inside. Hex has no checksum, but for the EVM spelling, whose mixed case is one (EIP-55). */
export function parseTronAddress(text: string): ParsedAddress {
  const hex = HEX.exec(text)?.[2];
  if (hex !== undefined) return payable(tronAddress(hex.toLowerCase()));
  if (/^0[xX]/.test(text)) {
    const evm = parseEvmAddress(text);
    return evm.ok ? payable(tronAddress(evm.address.slice(2))) : evm;
  }
  if (!BASE58.test(text)) return refused("malformed");
  const bytes = base58.decode(text);
  if (bytes.length !== CHECKED_BYTES) return refused("malformed");
  const checksum = sha256(sha256(bytes.subarray(0, -4))).subarray(0, 4);
  if (bytesToHex(checksum) !== bytesToHex(bytes.subarray(-4))) return refused("bad_checksum");
  return bytes[0] === PREFIX ? payable(text) : refused("malformed");
}

/** The canonical spelling. @param hex 20 bytes, lower case, without the 41 */
export function tronAddress(hex: string): string {
  return base58check.encode(hexToBytes(`41${hex}`));
}

/** The 20 bytes of a canonical address in lower-case hex, without the 41: as logs have them. */
export function tronHex(address: string): string {
  return bytesToHex(base58check.decode(address)).slice(2);
}

/** The canonical address of a public key. @param key secp256k1, uncompressed: 65 bytes */
export function tronAddressOfKey(key: Uint8Array): string {
  return tronAddress(bytesToHex(keccak_256(key.subarray(1)).subarray(-20)));
}

function payable(address: string): ParsedAddress {
  return NOBODYS.has(address) ? refused("not_payable") : { ok: true, address };
}

function refused(reason: BadAddress): ParsedAddress {
  return { ok: false, reason };
}
