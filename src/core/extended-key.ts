/**
 * Extended public keys (BIP-32) as people paste them: read in full or refused. A private key is recognised by its
 * beginning, by its version and by its content, and no reason carries any part of what came: whoever pastes the
 * wrong thing must not find it in an answer or a log.
 */

import { secp256k1 } from "@noble/curves/secp256k1";
import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex } from "@noble/hashes/utils";
import { createBase58check } from "@scure/base";

/** What an address of one key is. `evm` and `tron`: the last 20 bytes of the key's Keccak-256, spelled by family. */
export const ADDRESS_TYPES = ["p2wpkh", "p2tr", "p2sh-p2wpkh", "p2pkh", "evm", "tron"] as const;
export type AddressType = (typeof ADDRESS_TYPES)[number];

/** Bytes of a serialised key: version 4, depth 1, parent 4, child number 4, chain code 32, key 33. */
const KEY_BYTES = 78;
/** 78 bytes and a checksum of 4 have at most 112 digits in base 58. */
const MAX_CHARS = 112;
/** First child number of hardened children. */
const HARDENED = 0x80000000;

export interface ExtendedKey {
  /** `zpub`: how its text begins. */
  readonly prefix: string;
  /** Which of Bitcoin's chains its version names: the main one, or any of the test chains. */
  readonly chain: "main" | "test";
  /** What its version says of the addresses (SLIP-132); null: nothing. */
  readonly saysType: AddressType | null;
  readonly depth: number;
  /** Its own place below its parent. `hardened` is written `'`. */
  readonly child: { readonly number: number; readonly hardened: boolean };
  readonly chainCode: Uint8Array;
  /** Compressed, 33 bytes, on the curve. */
  readonly publicKey: Uint8Array;
}

export type BadExtendedKey =
  | { readonly reason: "malformed" }
  | { readonly reason: "bad_checksum" }
  | { readonly reason: "private" }
  | { readonly reason: "multisig"; readonly prefix: string }
  | { readonly reason: "unknown_version"; readonly version: string }
  | { readonly reason: "bad_point" };

export type ReadExtendedKey =
  | { readonly ok: true; readonly key: ExtendedKey }
  | ({ readonly ok: false } & BadExtendedKey);

interface Version {
  readonly prefix: string;
  readonly chain: "main" | "test";
  readonly saysType: AddressType | null;
}

/** Version bytes of public keys: BIP-32 and SLIP-132. */
const VERSIONS: ReadonlyMap<number, Version> = new Map([
  [0x0488b21e, { prefix: "xpub", chain: "main", saysType: null }],
  [0x049d7cb2, { prefix: "ypub", chain: "main", saysType: "p2sh-p2wpkh" }],
  [0x04b24746, { prefix: "zpub", chain: "main", saysType: "p2wpkh" }],
  [0x043587cf, { prefix: "tpub", chain: "test", saysType: null }],
  [0x044a5262, { prefix: "upub", chain: "test", saysType: "p2sh-p2wpkh" }],
  [0x045f1cf6, { prefix: "vpub", chain: "test", saysType: "p2wpkh" }],
]);
/** Their addresses need the keys of others as well (SLIP-132). */
const MULTISIG: ReadonlyMap<number, string> = new Map([
  [0x0295b43f, "Ypub"],
  [0x02aa7ed3, "Zpub"],
  [0x024289ef, "Upub"],
  [0x02575483, "Vpub"],
]);
/** Of private keys, of every kind above. */
const PRIVATE: ReadonlySet<number> = new Set([
  0x0488ade4, 0x049d7878, 0x04b2430c, 0x04358394, 0x044a4e28, 0x045f18bc, 0x0295b005, 0x02aa7a99, 0x024285b5,
  0x02575048,
]);

const base58check = createBase58check(sha256);

/** Whether a text is, or was meant to be, a private extended key, whatever else is wrong with it. */
export function looksPrivate(text: string): boolean {
  return /^\s*[a-z]prv/i.test(text);
}

export function readExtendedKey(text: string): ReadExtendedKey {
  if (looksPrivate(text)) return { ok: false, reason: "private" };
  if (text.length > MAX_CHARS || !/^[1-9A-HJ-NP-Za-km-z]+$/.test(text)) return { ok: false, reason: "malformed" };
  const bytes = decode(text);
  if (bytes === null) return { ok: false, reason: "bad_checksum" };
  if (bytes.length !== KEY_BYTES) return { ok: false, reason: "malformed" };
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const version = view.getUint32(0);
  // A public key begins with 2 or 3, a private one with 0, also below a version that is no private key's.
  if (PRIVATE.has(version) || bytes[45] === 0) return { ok: false, reason: "private" };
  const multisig = MULTISIG.get(version);
  if (multisig !== undefined) return { ok: false, reason: "multisig", prefix: multisig };
  const known = VERSIONS.get(version);
  if (known === undefined) return { ok: false, reason: "unknown_version", version: bytesToHex(bytes.slice(0, 4)) };
  const publicKey = bytes.slice(45);
  if (!isOnCurve(publicKey)) return { ok: false, reason: "bad_point" };
  const number = view.getUint32(9);
  const hardened = number >= HARDENED;
  return {
    ok: true,
    key: {
      ...known,
      depth: view.getUint8(4),
      child: { number: hardened ? number - HARDENED : number, hardened },
      chainCode: bytes.slice(13, 45),
      publicKey,
    },
  };
}

/** Why a key is refused, for people. */
export function extendedKeyProblem(bad: BadExtendedKey): string {
  switch (bad.reason) {
    case "malformed":
      return "not an extended public key: expected one text such as xpub..., ypub..., zpub..., tpub..., upub... or vpub...";
    case "bad_checksum":
      return "the checksum does not match; copy the key again, from its first character to its last";
    case "private":
      return (
        "an extended private key, which can spend everything below it. Nothing of it was kept here. Send the " +
        "account's extended public key, and hold this private key for exposed"
      );
    case "multisig":
      return `a ${bad.prefix} is one of several keys of a multisignature wallet; expected an account of one key`;
    case "unknown_version":
      return `its version bytes, ${bad.version}, are those of another chain`;
    case "bad_point":
      return "what it holds is not a point on the curve";
  }
}

function decode(text: string): Uint8Array | null {
  try {
    return base58check.decode(text);
  } catch {
    // The library's message quotes the text.
    return null;
  }
}

function isOnCurve(compressed: Uint8Array): boolean {
  try {
    secp256k1.ProjectivePoint.fromHex(compressed).assertValidity();
    return true;
  } catch {
    return false;
  }
}
