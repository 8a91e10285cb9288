/**
 * Hot wallets on TRON, derived from the service's one seed. Private keys stay inside the signer and appear in nothing
 * that can be printed.
 */

import { secp256k1 } from "@noble/curves/secp256k1";
import { sha256 } from "@noble/hashes/sha2";
import { hexToBytes } from "@noble/hashes/utils";
import type { NetworkSettings } from "../../core/network.ts";
import { tronAddressOfKey, tronHex } from "../../core/tron-address.ts";
import type { ExpiringSigner, Unsigned } from "../expiring-payout.ts";
import { keyBelowSeed, walletPath } from "../wallet-seed.ts";
import { decodeRawData } from "./raw-data.ts";
import { signedBytes } from "./signed-transaction.ts";

/**
 * BIP-32 at `m/44'/195'/a'/b'/c'/d'`, where a to d are the wallet's own (`walletPath`).
 * @param seedHex 32 to 64 bytes
 * @throws Error for a seed that is none; the message does not show it
 */
export function deriveTronSigner(
  seedHex: string,
  tenantId: string,
  network: Pick<NetworkSettings, "id">,
): ExpiringSigner {
  const path = walletPath("m/44'/195'", tenantId, network.id);
  const leaf = keyBelowSeed(seedHex, path);
  const key = leaf.privateKey?.slice();
  if (key === undefined) throw new Error(`no private key at ${path}`);
  leaf.wipePrivateData();
  return new SeedSigner(key, path);
}

class SeedSigner implements ExpiringSigner {
  readonly address: string;
  readonly path: string;
  readonly #key: Uint8Array;

  constructor(key: Uint8Array, path: string) {
    this.#key = key;
    this.path = path;
    this.address = tronAddressOfKey(secp256k1.getPublicKey(key, false));
  }

  /** Deterministic (RFC 6979): the same bytes have the same signature, whenever they are signed. */
  async sign({ bytes }: Unsigned): Promise<string> {
    const contract = decodeRawData(bytes)?.contract;
    const isPayment = contract?.kind === "transfer" || contract?.kind === "trigger";
    const owner = isPayment ? contract.owner : "nobody";
    if (owner !== `41${tronHex(this.address)}`)
      throw new Error(`the signer of ${this.address} was asked to sign for ${owner}`);
    const signature = secp256k1.sign(sha256(hexToBytes(bytes)), this.#key, { lowS: true });
    const recovery = (signature.recovery + 27).toString(16);
    return signedBytes(bytes, signature.toCompactHex() + recovery);
  }
}
