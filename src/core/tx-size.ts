/**
 * How large a transaction is that spends our own coins, before it is signed, and what is too little to be an
 * output. Every input is P2WPKH; its signature is taken at its longest, so that no fee comes out too low.
 */

/** Virtual bytes are quarters of weight, rounded up (BIP-141). */
export const WEIGHT_PER_VBYTE = 4;

/**
 * Outpoint 36, empty script 1, sequence 4, all fourfold; then the witness: its count, a signature of at most 72
 * bytes with its type (DER with r in its upper half), a key of 33, and the length of each.
 */
export const INPUT_WEIGHT = 4 * 41 + 1 + 73 + 34;
/** Version and lock time, fourfold; marker and flag (BIP-144). */
const FRAME_WEIGHT = 4 * 8 + 2;
/** Where the amount and the length of a script below 253 bytes stand. */
const OUTPUT_FRAME_BYTES = 9;

/** `0014` and a hash of 20 bytes. */
export const P2WPKH_SCRIPT_BYTES = 22;
export const INPUT_VSIZE = INPUT_WEIGHT / WEIGHT_PER_VBYTE;
export const CHANGE_VSIZE = OUTPUT_FRAME_BYTES + P2WPKH_SCRIPT_BYTES;

/**
 * Pools take 400,000 (Core's MAX_STANDARD_TX_WEIGHT). This is room for five hundred payments with an input for each;
 * what is larger takes seconds to sign, and is dear to replace.
 */
export const MAX_TX_WEIGHT = 240_000;

/** @param scripts bytes of each output's script */
export function weightOf(inputs: number, scripts: readonly number[]): number {
  const outputs = scripts.reduce((sum, bytes) => sum + OUTPUT_FRAME_BYTES + bytes, 0);
  const counts = countBytes(inputs) + countBytes(scripts.length);
  return FRAME_WEIGHT + 4 * (counts + outputs) + inputs * INPUT_WEIGHT;
}

export function vsizeOf(weight: number): number {
  return Math.ceil(weight / WEIGHT_PER_VBYTE);
}

/**
 * The least amount that pools take for an output: what it costs to make and to spend it at 3,000 satoshi per 1,000
 * bytes (Core's GetDustThreshold and DUST_RELAY_TX_FEE). 546 for P2PKH, 540 for P2SH, 294 for P2WPKH, 330 for P2WSH
 * and P2TR.
 * @param script hex
 */
export function dustThreshold(script: string): bigint {
  const bytes = script.length / 2;
  const spending = isWitnessProgram(script) ? 67 : 148;
  return BigInt((OUTPUT_FRAME_BYTES + bytes + spending) * 3);
}

/** A version from 0 to 16 and one push of 2 to 40 bytes that is all the rest (BIP-141). */
function isWitnessProgram(script: string): boolean {
  const bytes = script.length / 2;
  const pushed = Number.parseInt(script.slice(2, 4), 16);
  return /^(00|5[1-9a-f]|60)/.test(script) && pushed >= 2 && pushed <= 40 && pushed === bytes - 2;
}

/** A compact size. No transaction here comes near 65,536 of anything. */
function countBytes(count: number): number {
  return count < 253 ? 1 : 3;
}
