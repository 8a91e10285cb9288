/**
 * The keys of one endpoint between storage and use: made, sealed, opened when something is to be signed. What was
 * opened stays in this instance's memory; storage never holds it. Rows of an older version in plain text, and ones
 * under a root key that no longer writes, are sealed anew when they are first used.
 */

import type { SignatureScheme } from "../../core/views.ts";
import type { KeyRow, NewKeyRow } from "../../store/endpoint/key-store.ts";
import { importPrivateKey, mintKeyPair } from "../../webhooks/key-pair.ts";
import { mintSecret, type SigningKey } from "../../webhooks/signature.ts";
import type { SealedSecret, SecretBox, SecretOwner } from "../secret-box.ts";

const RANDOM_BYTES = 32;

export interface KeyOwner {
  readonly tenantId: string;
  readonly endpointId: string;
}

export interface MintedKey {
  readonly row: NewKeyRow;
  /** To be shown once; null: the public key is all that anybody needs. */
  readonly secret: string | null;
}

export class EndpointKeys {
  readonly #box: SecretBox;
  readonly #random: (bytes: number) => Uint8Array;
  readonly #opened = new Map<number, SigningKey>();

  constructor(box: SecretBox, random: (bytes: number) => Uint8Array) {
    this.#box = box;
    this.#random = random;
  }

  async mint(scheme: SignatureScheme, owner: KeyOwner): Promise<MintedKey> {
    const random = this.#random(RANDOM_BYTES);
    if (scheme === "v1") {
      const secret = mintSecret(random);
      const { text, keyVersion } = await this.#box.seal(secret, boundTo(owner, null));
      return { row: { secret: text, keyVersion, publicKey: null }, secret };
    }
    const { privateKey, publicKey } = await mintKeyPair(random);
    const { text, keyVersion } = await this.#box.seal(privateKey, boundTo(owner, publicKey));
    return { row: { secret: text, keyVersion, publicKey }, secret: null };
  }

  /** What the request that made this key is shown: the secret, or null when the public key is all there is to show. */
  async shown(row: NewKeyRow, owner: KeyOwner): Promise<string | null> {
    return row.publicKey === null ? this.#open(row, owner) : null;
  }

  /** @param reseal called in a turn of its own, when what was stored is to be stored anew */
  async toSign(
    rows: readonly KeyRow[],
    owner: KeyOwner,
    reseal: (row: KeyRow, sealed: SealedSecret) => void,
  ): Promise<SigningKey[]> {
    for (const n of this.#opened.keys()) if (!rows.some((row) => row.n === n)) this.#opened.delete(n);
    const keys: SigningKey[] = [];
    for (const row of rows) {
      const key = this.#opened.get(row.n) ?? (await this.#use(row, owner, reseal));
      this.#opened.set(row.n, key);
      keys.push(key);
    }
    return keys;
  }

  async #use(row: KeyRow, owner: KeyOwner, reseal: (row: KeyRow, sealed: SealedSecret) => void): Promise<SigningKey> {
    const secret = await this.#open(row, owner);
    if (!this.#box.isCurrent(row)) reseal(row, await this.#box.seal(secret, boundTo(owner, row.publicKey)));
    return row.publicKey === null ? { scheme: "v1", secret } : { scheme: "v1a", key: await importPrivateKey(secret) };
  }

  #open(row: NewKeyRow, owner: KeyOwner): Promise<string> {
    return this.#box.open({ keyVersion: row.keyVersion, text: row.secret }, boundTo(owner, row.publicKey));
  }
}

function boundTo({ tenantId, endpointId }: KeyOwner, publicKey: string | null): SecretOwner {
  return { kind: publicKey === null ? "webhook-secret" : "webhook-signing-key", tenantId, place: endpointId };
}
