/**
 * Addresses that no key signs for: sha256 of seeds, a bump from 255 down, the program and a marker, the first that is
 * no point of the curve (`Pubkey::find_program_address`). An owner's associated token account is one of them.
 */

import { ed25519 } from "@noble/curves/ed25519";
import { sha256 } from "@noble/hashes/sha2";
import { concatBytes, utf8ToBytes } from "@noble/hashes/utils";
import { base58 } from "@scure/base";
import { ASSOCIATED_TOKEN_PROGRAM, solanaKeyBytes } from "../../core/solana-address.ts";

const MARKER = utf8ToBytes("ProgramDerivedAddress");

export function programAddress(seeds: readonly Uint8Array[], program: string): string {
  for (let bump = 255; bump >= 0; bump--) {
    const hash = sha256(concatBytes(...seeds, Uint8Array.of(bump), bytesOf(program), MARKER));
    if (!isOnCurve(hash)) return base58.encode(hash);
  }
  throw new Error(`no address of ${program} for these seeds`);
}

/** Where an owner keeps tokens of this mint unless it says otherwise. */
export function associatedAccount(owner: string, tokenProgram: string, mint: string): string {
  return programAddress([bytesOf(owner), bytesOf(tokenProgram), bytesOf(mint)], ASSOCIATED_TOKEN_PROGRAM);
}

/** Whether a key can sign for it. */
export function isOnCurve(bytes: Uint8Array): boolean {
  try {
    ed25519.ExtendedPoint.fromHex(bytes);
    return true;
  } catch {
    return false;
  }
}

export function bytesOf(address: string): Uint8Array {
  const bytes = solanaKeyBytes(address);
  if (bytes === null) throw new Error(`expected an address of Solana, got ${JSON.stringify(address)}`);
  return bytes;
}
