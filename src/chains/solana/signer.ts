/**
 * Hot wallets derived from the service's one seed, on ed25519: one for each tenant and network, found again from the
 * seed and the two names alone. Private keys stay inside the signer and appear in nothing that can be printed.
 */

import { ed25519 } from "@noble/curves/ed25519";
import { hmac } from "@noble/hashes/hmac";
import { sha512 } from "@noble/hashes/sha2";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils";
import { base58 } from "@scure/base";
import type { ExpiringSigner, Unsigned } from "../expiring-payout.ts";
import { parseSeed, walletPath } from "../wallet-seed.ts";
import { readMessage } from "./transaction.ts";

const PREFIX = "m/44'/501'";
const HARDENED = 0x80000000;

/**
 * SLIP-0010 at `m/44'/501'/a'/b'/c'/d'`, a to d as `walletPath` says. On this curve every step is hardened.
 * @param seedHex 32 to 64 bytes
 * @throws Error for a seed that is none; the message does not show it
 */
export function deriveSolanaSigner(seedHex: string, tenantId: string, networkId: string): ExpiringSigner {
  const path = walletPath(PREFIX, tenantId, networkId);
  const seed = parseSeed(seedHex);
  const secret = ed25519KeyBelow(seed, path);
  seed.fill(0);
  return new SeedSolanaSigner(secret, path);
}

class SeedSolanaSigner implements ExpiringSigner {
  readonly address: string;
  readonly path: string;
  readonly #secret: Uint8Array;

  constructor(secret: Uint8Array, path: string) {
    this.#secret = secret;
    this.path = path;
    this.address = base58.encode(ed25519.getPublicKey(secret));
  }

  /** Deterministic (RFC 8032): the same message has the same bytes, whenever it is signed. */
  async sign({ bytes }: Unsigned): Promise<string> {
    const message = hexToBytes(bytes);
    const { keys, signers } = readMessage(message);
    const [payer] = keys;
    const asked = payer === undefined ? "nobody" : base58.encode(payer);
    if (signers !== 1 || asked !== this.address) {
      throw new Error(`the signer of ${this.address} was asked to sign for ${asked}, one of ${signers}`);
    }
    // One signature, and the message.
    return bytesToHex(concatBytes(Uint8Array.of(1), ed25519.sign(message, this.#secret), message));
  }
}

/** The private key of a path whose steps are all hardened. Source: SLIP-0010. */
export function ed25519KeyBelow(seed: Uint8Array, path: string): Uint8Array {
  let node = hmac(sha512, utf8ToBytes("ed25519 seed"), seed);
  for (const piece of path.split("/").slice(1)) {
    const index = Number(/^(\d+)'$/.exec(piece)?.[1]);
    if (!Number.isInteger(index) || index >= HARDENED) throw new Error(`expected a hardened step, got ${piece}`);
    const step = new Uint8Array(4);
    new DataView(step.buffer).setUint32(0, index + HARDENED);
    const parent = node;
    node = hmac(sha512, parent.subarray(32), concatBytes(Uint8Array.of(0), parent.subarray(0, 32), step));
    parent.fill(0);
  }
  const secret = node.slice(0, 32);
  node.fill(0);
  return secret;
}
