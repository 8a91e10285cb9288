/**
 * Owns the keys of Standard Webhooks' asymmetric scheme: an Ed25519 pair (RFC 8032), written as `whsk_` and
 * `whpk_` with the 32 bytes of each in base64. The private key never leaves the service.
 */

import { fromBase64, toBase64 } from "../core/base64.ts";

const PRIVATE_PREFIX = "whsk_";
const PUBLIC_PREFIX = "whpk_";
const SEED_BYTES = 32;
/** PKCS #8 (RFC 8410) of an Ed25519 key, up to its 32 bytes: WebCrypto imports a private key in no shorter form. */
const PKCS8_HEAD = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

export interface KeyPair {
  /** `whsk_` and base64. */
  readonly privateKey: string;
  /** `whpk_` and base64. */
  readonly publicKey: string;
}

/** @param seed 32 fresh random bytes */
export async function mintKeyPair(seed: Uint8Array): Promise<KeyPair> {
  const { x } = (await crypto.subtle.exportKey("jwk", await importSeed(seed, true))) as JsonWebKey;
  if (x === undefined) throw new Error("an Ed25519 key was exported without its public part");
  const publicBase64 = x.replaceAll("-", "+").replaceAll("_", "/").padEnd(44, "=");
  return { privateKey: PRIVATE_PREFIX + toBase64(seed), publicKey: PUBLIC_PREFIX + publicBase64 };
}

/** @param privateKey as `mintKeyPair` wrote it; it never gets into an error */
export async function importPrivateKey(privateKey: string): Promise<CryptoKey> {
  if (!privateKey.startsWith(PRIVATE_PREFIX)) throw new Error(`a signing key begins with ${PRIVATE_PREFIX}`);
  return importSeed(fromBase64(privateKey.slice(PRIVATE_PREFIX.length)), false);
}

function importSeed(seed: Uint8Array, isExtractable: boolean): Promise<CryptoKey> {
  if (seed.length !== SEED_BYTES) throw new Error(`an Ed25519 key has ${SEED_BYTES} bytes, got ${seed.length}`);
  const pkcs8 = Uint8Array.from([...PKCS8_HEAD, ...seed]);
  return crypto.subtle.importKey("pkcs8", pkcs8, { name: "Ed25519" }, isExtractable, ["sign"]);
}
