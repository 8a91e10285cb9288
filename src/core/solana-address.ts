/**
 * Solana addresses: 32 bytes in base58, of which there is one spelling; case matters. There is no checksum, so a slip of
 * the pen is another address.
 *
 * Any account may be watched or paid: a key's, and one that only a program signs for (off the curve, as multisigs and
 * exchanges' vaults have). Refused are the programs and system accounts that everybody names in transactions and nobody
 * owns. That an address is a mint or a token account is the chain's to say, not the spelling's.
 */

import { base58 } from "@scure/base";
import type { ParsedAddress } from "./parsed-address.ts";

const BYTES = 32;
/** 32 zero bytes are 32 characters, 32 bytes of 255 are 44. */
const CHARS = { least: 32, most: 44 };

export const SYSTEM_PROGRAM = "11111111111111111111111111111111";
export const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
export const TOKEN_2022_PROGRAM = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";
export const ASSOCIATED_TOKEN_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";
export const COMPUTE_BUDGET_PROGRAM = "ComputeBudget111111111111111111111111111111";
export const STAKE_PROGRAM = "Stake11111111111111111111111111111111111111";
export const VOTE_PROGRAM = "Vote111111111111111111111111111111111111111";

/** Native programs, the token programs, and the sysvars of Agave's `solana-sdk-ids`. */
const OWNED_BY_NOBODY: ReadonlySet<string> = new Set([
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
  TOKEN_2022_PROGRAM,
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  "AddressLookupTab1e1111111111111111111111111",
  "BPFLoader1111111111111111111111111111111111",
  "BPFLoader2111111111111111111111111111111111",
  "BPFLoaderUpgradeab1e11111111111111111111111",
  "Config1111111111111111111111111111111111111",
  "Ed25519SigVerify111111111111111111111111111",
  "Feature111111111111111111111111111111111111",
  "KeccakSecp256k11111111111111111111111111111",
  "LoaderV411111111111111111111111111111111111",
  "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
  "NativeLoader1111111111111111111111111111111",
  "Secp256r1SigVerify1111111111111111111111111",
  STAKE_PROGRAM,
  "StakeConfig11111111111111111111111111111111",
  VOTE_PROGRAM,
  "1nc1nerator11111111111111111111111111111111",
  "Sysvar1111111111111111111111111111111111111",
  "SysvarC1ock11111111111111111111111111111111",
  "SysvarEpochRewards1111111111111111111111111",
  "SysvarEpochSchedu1e111111111111111111111111",
  "SysvarFees111111111111111111111111111111111",
  "Sysvar1nstructions1111111111111111111111111",
  "SysvarLastRestartS1ot1111111111111111111111",
  "SysvarRecentB1ockHashes11111111111111111111",
  "SysvarRent111111111111111111111111111111111",
  "SysvarRewards111111111111111111111111111111",
  "SysvarS1otHashes111111111111111111111111111",
  "SysvarS1otHistory11111111111111111111111111",
  "SysvarStakeHistory1111111111111111111111111",
]);

export function parseSolanaAddress(text: string): ParsedAddress {
  if (solanaKeyBytes(text) === null) return { ok: false, reason: "malformed" };
  return OWNED_BY_NOBODY.has(text) ? { ok: false, reason: "not_payable" } : { ok: true, address: text };
}

/** The 32 bytes behind an address, whoever owns it; null for text that is none. */
export function solanaKeyBytes(text: string): Uint8Array | null {
  if (text.length < CHARS.least || text.length > CHARS.most) return null;
  try {
    const bytes = base58.decode(text);
    return bytes.length === BYTES ? bytes : null;
  } catch {
    return null;
  }
}
