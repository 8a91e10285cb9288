/**
 * Owns how secrets lie in an object's storage: AES-256-GCM under a key derived from the operator's root key for
 * each kind of secret, bound to the one owner it was sealed for. A row that is copied to another owner, or taken
 * for another kind, does not open.
 *
 * WebCrypto answers later, so sealing comes before the state is read that a commit decides on, and opening after it.
 * Derived keys are kept for as long as the instance lives and no longer.
 */

import { fromBase64, toBase64 } from "../core/base64.ts";
import type { RootKey } from "../settings.ts";

/** What the ciphertext is bound to: kind, tenant, and the endpoint or the network. */
export interface SecretOwner {
  readonly kind: "webhook-secret" | "webhook-signing-key" | "signer-token";
  readonly tenantId: string;
  readonly place: string;
}

/** As it lies in a row. */
export interface StoredSecret {
  /** Version of the root key; null: plain text, written before secrets were sealed. */
  readonly keyVersion: string | null;
  /** Base64 of nonce, ciphertext and tag; or the plain text. */
  readonly text: string;
}

export interface SealedSecret extends StoredSecret {
  readonly keyVersion: string;
}

/** A stored secret cannot be read. Says which key was looked for, never anything of the secret. */
export class SecretFault extends Error {
  override readonly name = "SecretFault";
}

/** NIST SP 800-38D, 8.2.2: 96 random bits, far from their bound for a key that seals one kind of secret. */
const NONCE_BYTES = 12;
/** Part of every derivation: another way of sealing gets another one. */
const SCHEME = "sluice secrets 1";

export class SecretBox {
  readonly #rootKeys: () => readonly RootKey[];
  readonly #random: (bytes: number) => Uint8Array;
  readonly #derived = new Map<string, Promise<CryptoKey>>();

  /** @param rootKeys read when needed: settings that are refused must not keep an object from starting */
  constructor(rootKeys: () => readonly RootKey[], random: (bytes: number) => Uint8Array) {
    this.#rootKeys = rootKeys;
    this.#random = random;
  }

  /** Under the root key that writes now. */
  async seal(secret: string, owner: SecretOwner): Promise<SealedSecret> {
    const root = this.#writing();
    const nonce = this.#random(NONCE_BYTES);
    const key = await this.#keyFor(root, owner.kind);
    const sealed = await crypto.subtle.encrypt(
      { name: "AES-GCM", iv: nonce, additionalData: boundTo(owner) },
      key,
      new TextEncoder().encode(secret),
    );
    const bytes = new Uint8Array(NONCE_BYTES + sealed.byteLength);
    bytes.set(nonce);
    bytes.set(new Uint8Array(sealed), NONCE_BYTES);
    return { keyVersion: root.version, text: toBase64(bytes) };
  }

  /** @throws SecretFault when its root key is not among the settings, or when it was sealed for another owner */
  async open(stored: StoredSecret, owner: SecretOwner): Promise<string> {
    const { keyVersion, text } = stored;
    if (keyVersion === null) return text;
    const root = this.#rootKeys().find(({ version }) => version === keyVersion);
    if (root === undefined)
      throw new SecretFault(`SECRETS_KEY has no version ${keyVersion}, under which this is sealed`);
    const key = await this.#keyFor(root, owner.kind);
    try {
      const bytes = fromBase64(text);
      const iv = bytes.subarray(0, NONCE_BYTES);
      const algorithm = { name: "AES-GCM", iv, additionalData: boundTo(owner) };
      return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, bytes.subarray(NONCE_BYTES)));
    } catch {
      throw new SecretFault(
        `a ${owner.kind} does not open under version ${keyVersion}: it is damaged or another owner's`,
      );
    }
  }

  /** Whether it lies under the root key that writes now. One that does not is sealed again when it is next used. */
  isCurrent(stored: Pick<StoredSecret, "keyVersion">): boolean {
    return stored.keyVersion === this.#writing().version;
  }

  #writing(): RootKey {
    const [first] = this.#rootKeys();
    if (first === undefined) throw new Error("settings without a root key are refused");
    return first;
  }

  /** HKDF (RFC 5869): what seals one kind of secret tells nothing of what seals another. */
  #keyFor(root: RootKey, kind: SecretOwner["kind"]): Promise<CryptoKey> {
    const name = `${root.version}/${kind}`;
    const known = this.#derived.get(name);
    if (known !== undefined) return known;
    const made = derive(root, kind);
    this.#derived.set(name, made);
    return made;
  }
}

async function derive(root: RootKey, kind: SecretOwner["kind"]): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey("raw", root.bytes, "HKDF", false, ["deriveKey"]);
  const info = new TextEncoder().encode(`${SCHEME}/${kind}`);
  const how = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  return crypto.subtle.deriveKey(how, material, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}

/** JSON keeps the parts apart: ("ab","c") and ("a","bc") differ. */
function boundTo({ kind, tenantId, place }: SecretOwner): Uint8Array {
  return new TextEncoder().encode(JSON.stringify([kind, tenantId, place]));
}
