/**
 * Bitcoin's address forms and the scripts behind them. An output is matched by its script alone; an address is
 * how people spell the script. The five forms here (P2PKH, P2SH, P2WPKH, P2WSH, P2TR) have one canonical
 * spelling each, so script and address stand for each other.
 *
 * Sources: BIP-13 and BIP-16 (base58check), BIP-141 (programs), BIP-173 and BIP-350 (bech32, bech32m), BIP-341 (P2TR).
 */

import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils";
import { base58, bech32, bech32m } from "@scure/base";
import { PubT, validatePubkey } from "@scure/btc-signer/utils";
import type { BitcoinAddressForm } from "./network.ts";
import type { BadAddress, ParsedAddress } from "./parsed-address.ts";

type Read =
  | { readonly ok: true; readonly address: string; readonly script: string }
  | { readonly ok: false; readonly reason: BadAddress };

/** No address is longer than a bech32 string (BIP-173). */
const MAX_CHARS = 90;
/** Version byte, 20 bytes of hash, 4 of checksum. */
const BASE58_BYTES = 25;
const BASE58_CHARS = { least: 25, most: 36 };
/** Every Bitcoin chain's human-readable part: a good address with one of these is good somewhere. */
const BECH32_PARTS: ReadonlySet<string> = new Set(["bc", "tb", "bcrt"]);
const BECH32_DATA = /^[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{7,}$/;

/** Surrounding space is no part of an address: whoever reads text from people trims it. */
export function parseBitcoinAddress(form: BitcoinAddressForm, text: string): ParsedAddress {
  const read = readAddress(form, text);
  return read.ok ? { ok: true, address: read.address } : read;
}

/** The script that pays to a good address of this chain, in hex. @throws Error for any other text: a bug */
export function scriptOfAddress(form: BitcoinAddressForm, address: string): string {
  const read = readAddress(form, address);
  if (!read.ok) throw new Error(`expected an address of this chain, got ${JSON.stringify(address)} (${read.reason})`);
  return read.script;
}

/**
 * The address of an output's script, or null when it is none of the five forms. Called for every output of
 * a block, so it looks at the script's characters and at nothing else.
 * @param script hex, lower case
 */
export function addressOfScript(form: BitcoinAddressForm, script: string): string | null {
  switch (script.length) {
    case 44:
      return script.startsWith("0014") ? encodeWitness(form, 0, script.slice(4)) : null;
    case 46:
      if (!script.startsWith("a914") || !script.endsWith("87")) return null;
      return encodeBase58(form.scriptHash, script.slice(4, 44));
    case 50:
      if (!script.startsWith("76a914") || !script.endsWith("88ac")) return null;
      return encodeBase58(form.pubKeyHash, script.slice(6, 46));
    case 68:
      if (script.startsWith("0020")) return encodeWitness(form, 0, script.slice(4));
      return script.startsWith("5120") ? encodeWitness(form, 1, script.slice(4)) : null;
    default:
      return null;
  }
}

function readAddress(form: BitcoinAddressForm, text: string): Read {
  if (text.length > MAX_CHARS) return refused("malformed");
  const lower = text.toLowerCase();
  const part = lower.slice(0, Math.max(0, lower.lastIndexOf("1")));
  if (part !== form.bech32 && !BECH32_PARTS.has(part)) return readBase58(form, text);
  // Both cases in one string is neither spelling (BIP-173).
  return text === lower || text === text.toUpperCase() ? readBech32(form, part, lower) : refused("malformed");
}

function readBech32(form: BitcoinAddressForm, part: string, address: string): Read {
  if (!BECH32_DATA.test(address.slice(part.length + 1))) return refused("malformed");
  const old = bech32.decodeUnsafe(address);
  const words = (old ?? bech32m.decodeUnsafe(address))?.words;
  const version = words?.[0];
  if (words === undefined || version === undefined) return refused("bad_checksum");
  // Version 0 has the older checksum, all others the newer one (BIP-350).
  if ((version === 0) !== (old !== undefined)) return refused("bad_checksum");
  const program = bech32.fromWordsUnsafe(words.slice(1));
  if (!program || version > 16 || program.length < 2 || program.length > 40) return refused("malformed");
  if (version === 0 && program.length !== 20 && program.length !== 32) return refused("malformed");
  if (part !== form.bech32) return refused("other_network");
  // Anybody may spend what goes to a version without meaning; to a key that is no point, nobody ever can.
  if (version > 1 || (version === 1 && !isTaprootKey(program))) return refused("not_payable");
  const opcode = version === 0 ? "00" : "51";
  return { ok: true, address, script: `${opcode}${program.length.toString(16)}${bytesToHex(program)}` };
}

/** A program of 32 bytes that is the x of a point (BIP-341). Not so P2A, the anchor that anybody may spend. */
function isTaprootKey(program: Uint8Array): boolean {
  try {
    validatePubkey(program, PubT.schnorr);
    return true;
  } catch {
    return false;
  }
}

function readBase58(form: BitcoinAddressForm, text: string): Read {
  const { least, most } = BASE58_CHARS;
  const bytes = text.length >= least && text.length <= most ? decodeBase58(text) : null;
  if (bytes?.length !== BASE58_BYTES) return refused("malformed");
  const body = bytes.subarray(0, BASE58_BYTES - 4);
  const sum = checksum(body);
  if (sum.some((byte, i) => byte !== bytes[body.length + i])) return refused("bad_checksum");
  const hash = bytesToHex(body.subarray(1));
  if (body[0] === form.pubKeyHash) return { ok: true, address: text, script: `76a914${hash}88ac` };
  if (body[0] === form.scriptHash) return { ok: true, address: text, script: `a914${hash}87` };
  return refused("other_network");
}

function decodeBase58(text: string): Uint8Array | null {
  try {
    return base58.decode(text);
  } catch {
    return null;
  }
}

function encodeBase58(version: number, hash: string): string {
  const body = concatBytes(Uint8Array.of(version), hexToBytes(hash));
  return base58.encode(concatBytes(body, checksum(body)));
}

function encodeWitness(form: BitcoinAddressForm, version: 0 | 1, program: string): string {
  const words = [version, ...bech32.toWords(hexToBytes(program))];
  return (version === 0 ? bech32 : bech32m).encode(form.bech32, words);
}

function checksum(body: Uint8Array): Uint8Array {
  return sha256(sha256(body)).subarray(0, 4);
}

function refused(reason: BadAddress): Read {
  return { ok: false, reason };
}
