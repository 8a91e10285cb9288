/**
 * The header's logs bloom (yellow paper, 4.3.1): 2,048 bits, of which each log sets three for its address
 * and three for each topic. It never denies a log that exists, so what it denies need not be asked for.
 */

import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { TRANSFER_TOPIC } from "../../core/transfer-log.ts";
import type { Log } from "./records.ts";

export const EMPTY_BLOOM = `0x${"0".repeat(512)}`;

/** Three bits, each as the place of its hex digit in the bloom's text and the bit inside that digit. */
type BloomBits = readonly (readonly [place: number, mask: number])[];

/** Bits of contracts and topics are asked for again in every block. Cleared when full, never grown past it. */
const MAX_REMEMBERED = 20_000;
const remembered = new Map<string, BloomBits>();

/** Whether a log with this value as its address or one of its topics may be in the block. */
export function bloomMayHold(bloom: string, value: string): boolean {
  for (const [place, mask] of bitsOf(value)) {
    if ((hexDigit(bloom.charCodeAt(place)) & mask) === 0) return false;
  }
  return true;
}

/** Whether the block may hold a Transfer of one of these contracts. */
export function bloomMayHoldTransfer(bloom: string, contracts: Iterable<string>): boolean {
  if (bloom === EMPTY_BLOOM || !bloomMayHold(bloom, TRANSFER_TOPIC)) return false;
  for (const contract of contracts) if (bloomMayHold(bloom, contract)) return true;
  return false;
}

/** The bloom of these logs. */
export function bloomOf(logs: Iterable<Pick<Log, "address" | "topics">>): string {
  const digits = new Uint8Array(514);
  for (const log of logs) {
    for (const value of [log.address, ...log.topics]) {
      for (const [place, mask] of bitsOf(value)) digits[place] = (digits[place] ?? 0) | mask;
    }
  }
  return `0x${Array.from(digits.subarray(2), (digit) => digit.toString(16)).join("")}`;
}

/** The union of blooms. */
export function joinBlooms(blooms: readonly string[]): string {
  const union = new Uint8Array(256);
  for (const bloom of blooms) {
    hexToBytes(bloom.slice(2)).forEach((byte, index) => {
      union[index] = (union[index] ?? 0) | byte;
    });
  }
  return `0x${bytesToHex(union)}`;
}

function bitsOf(value: string): BloomBits {
  const known = remembered.get(value);
  if (known) return known;
  const hash = keccak_256(hexToBytes(value.slice(2)));
  const bits = [0, 2, 4].map((start) => {
    const bit = (((hash[start] ?? 0) << 8) | (hash[start + 1] ?? 0)) & 2047;
    // Bit 0 is the lowest bit of the last byte; four bits to a hex digit, after the "0x".
    return [2 + 511 - (bit >> 2), 1 << (bit & 3)] as const;
  });
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(value, bits);
  return bits;
}

/** Lower-case hex. */
function hexDigit(code: number): number {
  return code <= 57 ? code - 48 : code - 87;
}
