/**
 * Owns how a delivery is signed: Standard Webhooks 1.0.0, symmetric (`v1`) and asymmetric (`v1a`).
 *
 * The signature covers the bytes that go over the wire. They are passed in as bytes, so that nothing can
 * be re-serialised between signing and sending.
 */

import { fromBase64, toBase64 } from "../core/base64.ts";

const SECRET_PREFIX = "whsec_";
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
const utf8 = new TextEncoder();

/** What one signature is about. `timestampS`: unix seconds of this attempt, not of the event. */
export interface SignedMessage {
  readonly id: string;
  readonly timestampS: number;
  readonly body: Uint8Array;
}

/** `v1`: HMAC-SHA256 with a `whsec_` secret. `v1a`: Ed25519 with a private key. */
export type SigningKey =
  | { readonly scheme: "v1"; readonly secret: string }
  | { readonly scheme: "v1a"; readonly key: CryptoKey };

/** Made once for many signatures: it costs more than they do. */
const imported = new WeakMap<SigningKey, CryptoKey>();

/** @param random 24 to 64 fresh random bytes. */
export function mintSecret(random: Uint8Array): string {
  assertSecretLength(random.length);
  return SECRET_PREFIX + toBase64(random);
}

/**
 * The value of `webhook-signature`: one `<scheme>,<base64>` per key, separated by spaces. A receiver accepts the
 * message when any one of them matches, which is what lets a key be replaced without a gap.
 */
export async function signatureHeader(keys: readonly SigningKey[], message: SignedMessage): Promise<string> {
  if (keys.length === 0) throw new Error("a delivery needs at least one key to sign with, got none");
  const signed = signedBytes(message);
  const signatures = await Promise.all(keys.map((key) => signatureOf(key, signed)));
  return signatures.join(" ");
}

function signedBytes({ id, timestampS, body }: SignedMessage): Uint8Array<ArrayBuffer> {
  const head = utf8.encode(`${id}.${timestampS}.`);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}

async function signatureOf(key: SigningKey, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const own = key.scheme === "v1a" ? key.key : (imported.get(key) ?? (await importSecret(key)));
  return `${key.scheme},${toBase64(new Uint8Array(await crypto.subtle.sign(own.algorithm.name, own, signed)))}`;
}

async function importSecret(key: Extract<SigningKey, { scheme: "v1" }>): Promise<CryptoKey> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const made = await crypto.subtle.importKey("raw", secretKey(key.secret), algorithm, false, ["sign"]);
  imported.set(key, made);
  return made;
}

/** Whether a secret can sign. */
export function checkSecret(secret: string): boolean {
  try {
    return secretKey(secret).length > 0;
  } catch {
    return false;
  }
}

/** The key inside a secret. The prefix is optional, the rest is always base64. The secret never gets into an error. */
function secretKey(secret: string): Uint8Array<ArrayBuffer> {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  const key = fromBase64(encoded);
  assertSecretLength(key.length);
  return key;
}

function assertSecretLength(length: number): void {
  if (length < MIN_SECRET_BYTES || length > MAX_SECRET_BYTES) {
    throw new Error(`a webhook secret has ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes, got ${length}`);
  }
}
