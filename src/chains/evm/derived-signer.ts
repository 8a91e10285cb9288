/**
 * Hot wallets derived from the service's one seed: one for each tenant and network, found again from the seed
 * and the two names alone. Private keys stay inside the signer and appear in nothing that can be printed.
 */

import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils";
import { HDKey } from "@scure/bip32";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import type { NetworkSettings } from "../../core/network.ts";
import type { Intent, Signer } from "../payout.ts";
import { unsignedOf } from "./intent.ts";

/** Bytes of a seed (BIP-32 takes from 16; less than 32 is not accepted here). */
const MIN_SEED_BYTES = 32;
const MAX_SEED_BYTES = 64;

/** Changing a character of it moves every wallet. */
const PURPOSE = "sluice hot wallet v1";

export interface DerivedSigner extends Signer {
  /** BIP-32, for whoever has to find the key without this program. No secret. */
  readonly path: string;
}

/**
 * BIP-32 at `m/44'/60'/a'/b'/c'/d'`, where a to d are the first four big-endian 32-bit words of
 * SHA-256("sluice hot wallet v1\n" + tenant + "\n" + network), each with its top bit cleared: 124 bits, so that
 * no two wallets share a key by chance. All of it is hardened: a key that leaks tells nothing of the others.
 * @param seedHex 32 to 64 bytes
 * @throws Error for a seed that is none; the message does not show it
 */
export function deriveSigner(seedHex: string, tenantId: string, network: Pick<NetworkSettings, "id">): DerivedSigner {
  const path = pathOf(tenantId, network.id);
  const seed = parseSeed(seedHex);
  const master = HDKey.fromMasterSeed(seed);
  const leaf = master.derive(path);
  const { privateKey } = leaf;
  if (privateKey === null) throw new Error(`no private key at ${path}`);
  const account = privateKeyToAccount(`0x${bytesToHex(privateKey)}`);
  for (const key of [master, leaf]) key.wipePrivateData();
  seed.fill(0);
  return new SeedSigner(account, path);
}

class SeedSigner implements DerivedSigner {
  readonly address: string;
  readonly path: string;
  readonly #account: PrivateKeyAccount;

  constructor(account: PrivateKeyAccount, path: string) {
    this.#account = account;
    this.address = account.address.toLowerCase();
    this.path = path;
  }

  /** Deterministic (RFC 6979): the same intent has the same bytes, whenever it is signed. */
  async sign(intent: Intent): Promise<string> {
    if (intent.sender !== this.address)
      throw new Error(`the signer of ${this.address} was asked to sign for ${intent.sender}`);
    return this.#account.signTransaction(unsignedOf(intent));
  }
}

function pathOf(tenantId: string, networkId: string): string {
  const digest = sha256(utf8ToBytes(`${PURPOSE}\n${tenantId}\n${networkId}`));
  const words = new DataView(digest.buffer, digest.byteOffset);
  const pieces = [0, 4, 8, 12].map((offset) => `${words.getUint32(offset) & 0x7fffffff}'`);
  return `m/44'/60'/${pieces.join("/")}`;
}

function parseSeed(seedHex: string): Uint8Array {
  const bytes = /^(0x)?([0-9a-fA-F]{2})+$/.test(seedHex) ? hexToBytes(seedHex.replace(/^0x/, "")) : null;
  if (bytes === null || bytes.length < MIN_SEED_BYTES || bytes.length > MAX_SEED_BYTES) {
    const got = bytes === null ? "text that is not hex" : `${bytes.length} bytes`;
    throw new Error(`a wallet seed is ${MIN_SEED_BYTES} to ${MAX_SEED_BYTES} bytes of hex, got ${got}`);
  }
  return bytes;
}
