/**
 * Where the keys of hot wallets come from: the service's one seed, and for each tenant and network a path of its
 * own, found again from the seed and the two names alone.
 */

import { sha256 } from "@noble/hashes/sha2";
import { hexToBytes, utf8ToBytes } from "@noble/hashes/utils";
import { HDKey } from "@scure/bip32";

/** Bytes of a seed (BIP-32 takes from 16; less than 32 is not accepted here). */
const MIN_SEED_BYTES = 32;
const MAX_SEED_BYTES = 64;

/** Changing a character of it moves every wallet. */
const PURPOSE = "sluice hot wallet v1";

/**
 * `a'/b'/c'/d'` below a prefix, where a to d are the first four big-endian 32-bit words of
 * SHA-256("sluice hot wallet v1\n" + tenant + "\n" + network), each with its top bit cleared: 124 bits, so that
 * no two wallets share a key by chance. All of it is hardened: a key that leaks tells nothing of the others.
 */
export function walletPath(prefix: string, tenantId: string, networkId: string): string {
  const digest = sha256(utf8ToBytes(`${PURPOSE}\n${tenantId}\n${networkId}`));
  const words = new DataView(digest.buffer, digest.byteOffset);
  const pieces = [0, 4, 8, 12].map((offset) => `${words.getUint32(offset) & 0x7fffffff}'`);
  return `${prefix}/${pieces.join("/")}`;
}

/**
 * BIP-32. Nothing of the seed or of the keys above is left in memory that this function could clear.
 * @param seedHex 32 to 64 bytes
 * @throws Error for a seed that is none; the message does not show it
 */
export function keyBelowSeed(seedHex: string, path: string): HDKey {
  const seed = parseSeed(seedHex);
  const master = HDKey.fromMasterSeed(seed);
  const key = master.derive(path);
  master.wipePrivateData();
  seed.fill(0);
  return key;
}

/** @throws Error for a seed that is none; the message does not show it */
export function parseSeed(seedHex: string): Uint8Array {
  const bytes = /^(0x)?([0-9a-fA-F]{2})+$/.test(seedHex) ? hexToBytes(seedHex.replace(/^0x/, "")) : null;
  if (bytes === null || bytes.length < MIN_SEED_BYTES || bytes.length > MAX_SEED_BYTES) {
    const got = bytes === null ? "text that is not hex" : `${bytes.length} bytes`;
    throw new Error(`a wallet seed is ${MIN_SEED_BYTES} to ${MAX_SEED_BYTES} bytes of hex, got ${got}`);
  }
  return bytes;
}
