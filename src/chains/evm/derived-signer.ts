/**
 * Hot wallets derived from the service's one seed: one for each tenant and network, found again from the seed
 * and the two names alone. Private keys stay inside the signer and appear in nothing that can be printed.
 */

import { bytesToHex } from "@noble/hashes/utils";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import type { NetworkSettings } from "../../core/network.ts";
import type { Intent, Signer } from "../payout.ts";
import { keyBelowSeed, walletPath } from "../wallet-seed.ts";
import { unsignedOf } from "./intent.ts";

export interface DerivedSigner extends Signer {
  /** BIP-32, for whoever has to find the key without this program. No secret. */
  readonly path: string;
}

/**
 * BIP-32 at `m/44'/60'/a'/b'/c'/d'`, where a to d are the wallet's own (`walletPath`).
 * @param seedHex 32 to 64 bytes
 * @throws Error for a seed that is none; the message does not show it
 */
export function deriveSigner(seedHex: string, tenantId: string, network: Pick<NetworkSettings, "id">): DerivedSigner {
  const path = walletPath("m/44'/60'", tenantId, network.id);
  const leaf = keyBelowSeed(seedHex, path);
  const { privateKey } = leaf;
  if (privateKey === null) throw new Error(`no private key at ${path}`);
  const account = privateKeyToAccount(`0x${bytesToHex(privateKey)}`);
  leaf.wipePrivateData();
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
