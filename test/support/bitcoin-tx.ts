/**
 * Bitcoin transactions as bytes, for the chain in memory: what they say, their ids, and whether their signatures
 * are good. Everything is derived from the serialized form, so what a node shows is what was sent.
 */

import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils";
import { bech32m } from "@scure/base";
import { HDKey } from "@scure/bip32";
import { Address, OutScript, RawTx, Transaction } from "@scure/btc-signer";
import { hash160 } from "@scure/btc-signer/utils";

export const REGTEST = { bech32: "bcrt", pubKeyHash: 0x6f, scriptHash: 0xc4, wif: 0xef };
/** Core's `IsDust` at 3,000 satoshi per 1,000 virtual bytes. */
const DUST_RATE = 3n;
const SPEND_BYTES = 148n;
const SPEND_WITNESS_BYTES = 67n;
const NO_TX = "00".repeat(32);
const SIGHASH_ALL = 1;
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

export interface OutPoint {
  readonly txid: string;
  readonly vout: number;
}

export interface TxInput extends OutPoint {
  /** Hex. */
  readonly scriptSig: string;
  readonly sequence: number;
  readonly witness: readonly string[];
}

export interface TxOutput {
  /** Satoshi. */
  readonly amount: bigint;
  /** Hex. */
  readonly script: string;
}

export interface BitcoinTx {
  readonly txid: string;
  readonly wtxid: string;
  /** Hex, with its witnesses. */
  readonly raw: string;
  readonly version: number;
  readonly lockTime: number;
  readonly inputs: readonly TxInput[];
  readonly outputs: readonly TxOutput[];
  readonly size: number;
  readonly vsize: number;
  readonly weight: number;
}

/** An output that can be spent. */
export interface Coin extends TxOutput {
  readonly height: number;
  readonly coinbase: boolean;
}

export const doubleSha = (...parts: readonly Uint8Array[]) => sha256(sha256(concatBytes(...parts)));
/** Hashes are read by people back to front. */
export const shownHash = (hash: Uint8Array) => bytesToHex(Uint8Array.from(hash).reverse());
export const hashBytes = (shown: string) => hexToBytes(shown).reverse();
export const outPointText = ({ txid, vout }: OutPoint) => `${txid}:${vout}`;

/** The transaction with these bytes. @throws Error when it is none */
export function parseTx(raw: string): BitcoinTx {
  const bytes = hexToBytes(raw);
  const parsed = RawTx.decode(bytes);
  const { version, lockTime } = parsed;
  const bare = RawTx.encode({ version, lockTime, segwitFlag: false, inputs: parsed.inputs, outputs: parsed.outputs });
  const weight = bare.length * 3 + bytes.length;
  return {
    txid: shownHash(doubleSha(bare)),
    wtxid: shownHash(doubleSha(bytes)),
    raw,
    version,
    lockTime,
    inputs: parsed.inputs.map((input, at) => ({
      txid: bytesToHex(input.txid),
      vout: input.index,
      scriptSig: bytesToHex(input.finalScriptSig),
      sequence: input.sequence,
      witness: (parsed.witnesses?.[at] ?? []).map((item) => bytesToHex(item)),
    })),
    outputs: parsed.outputs.map(({ amount, script }) => ({ amount, script: bytesToHex(script) })),
    size: bytes.length,
    vsize: Math.ceil(weight / 4),
    weight,
  };
}

export function buildTx(parts: Pick<BitcoinTx, "version" | "lockTime" | "inputs" | "outputs">): BitcoinTx {
  const hasWitness = parts.inputs.some(({ witness }) => witness.length > 0);
  const raw = RawTx.encode({
    version: parts.version,
    lockTime: parts.lockTime,
    segwitFlag: hasWitness,
    inputs: parts.inputs.map((input) => ({
      txid: hexToBytes(input.txid),
      index: input.vout,
      finalScriptSig: hexToBytes(input.scriptSig),
      sequence: input.sequence,
    })),
    outputs: parts.outputs.map(({ amount, script }) => ({ amount, script: hexToBytes(script) })),
    ...(hasWitness ? { witnesses: parts.inputs.map(({ witness }) => witness.map(hexToBytes)) } : {}),
  });
  return parseTx(bytesToHex(raw));
}

export function isCoinbase({ inputs }: Pick<BitcoinTx, "inputs">): boolean {
  return inputs.length === 1 && inputs[0]?.txid === NO_TX && inputs[0].vout === 0xffffffff;
}

/** A script in hex stays as it is; an address of regtest becomes its script. */
export function scriptOf(addressOrScript: string): string {
  if (/^([0-9a-f]{2})*$/.test(addressOrScript)) return addressOrScript;
  return bytesToHex(OutScript.encode(Address(REGTEST).decode(addressOrScript)));
}

export function addressOf(script: string): string | undefined {
  const version = Number.parseInt(script.slice(0, 2), 16) - 0x50;
  if (["anchor", "witness_unknown"].includes(scriptType(script)))
    return bech32m.encode(REGTEST.bech32, [version, ...bech32m.toWords(hexToBytes(script.slice(4)))]);
  try {
    return Address(REGTEST).encode(OutScript.decode(hexToBytes(script)));
  } catch {
    return undefined;
  }
}

/** The names that Core has for forms of scripts. */
export function scriptType(script: string): string {
  if (/^76a914.{40}88ac$/.test(script)) return "pubkeyhash";
  if (/^a914.{40}87$/.test(script)) return "scripthash";
  if (/^0014.{40}$/.test(script)) return "witness_v0_keyhash";
  if (/^0020.{64}$/.test(script)) return "witness_v0_scripthash";
  if (/^5120.{64}$/.test(script)) return "witness_v1_taproot";
  if (script === "51024e73") return "anchor";
  if (/^(21.{66}|41.{130})ac$/.test(script)) return "pubkey";
  if (script.startsWith("6a")) return "nulldata";
  const program = script.length / 2 - 2;
  const isProgram = /^5[1-9a-f]|^60/.test(script) && Number.parseInt(script.slice(2, 4), 16) === program;
  return isProgram && program >= 2 && program <= 40 ? "witness_unknown" : "nonstandard";
}

export const isUnspendable = (script: string) => script.startsWith("6a") || script.length > 20_000;

/** Whether an output costs more to spend than it is worth, as Core counts. */
export function isDust({ amount, script }: TxOutput): boolean {
  if (isUnspendable(script)) return false;
  const own = 8n + BigInt(script.length / 2) + 1n;
  const isWitness = /^(00|5[1-9a-f]|60)(0[2-9a-f]|1.|2[0-8])/.test(script) && script.length / 2 <= 42;
  return amount < DUST_RATE * (own + (isWitness ? SPEND_WITNESS_BYTES : SPEND_BYTES));
}

/** What is wrong with an input's script or witness, in Core's words; null: nothing that could be seen here. */
export function scriptFault(tx: BitcoinTx, at: number, spent: TxOutput, policy: boolean): string | null {
  const input = tx.inputs[at];
  if (input === undefined) throw new Error(`the transaction has no input ${at}`);
  const { script } = spent;
  switch (scriptType(script)) {
    case "witness_v0_keyhash": {
      if (input.scriptSig !== "") return "Witness requires empty scriptSig";
      const [signature, key, ...more] = input.witness;
      if (signature === undefined || key === undefined || more.length > 0) return "Witness program hash mismatch";
      if (bytesToHex(hash160(hexToBytes(key))) !== script.slice(4)) return "Script failed an OP_EQUALVERIFY operation";
      return signatureFault(signature, key, witnessHash(tx, at, spent), policy);
    }
    case "pubkeyhash": {
      const pushes = pushesOf(input.scriptSig);
      const [signature, key] = pushes ?? [];
      if (signature === undefined || key === undefined) return "Operation not valid with the current stack size";
      if (bytesToHex(hash160(hexToBytes(key))) !== script.slice(6, 46))
        return "Script failed an OP_EQUALVERIFY operation";
      return signatureFault(signature, key, legacyHash(tx, at, script), policy);
    }
    case "witness_v1_taproot":
      return /^.{128}(..)?$/.test(input.witness.at(-1) ?? "") || input.witness.length > 1
        ? null
        : "Invalid Schnorr signature size";
    default:
      return null;
  }
}

/** The same transaction with the other one of the two values of `s`: good for a block, refused by pools (BIP-62). */
export function malleate(tx: BitcoinTx): BitcoinTx {
  const inputs = tx.inputs.map((input) => {
    const [signature, key, ...more] = pushesOf(input.scriptSig) ?? [];
    if (signature === undefined || key === undefined || more.length > 0) return input;
    const { r, s } = readDer(signature);
    const other = writeDer(r, CURVE_ORDER - s) + signature.slice(-2);
    return { ...input, scriptSig: push(other) + push(key) };
  });
  const other = buildTx({ ...tx, inputs });
  if (other.txid === tx.txid) throw new Error("only a signature of a P2PKH input can be changed");
  return other;
}

function signatureFault(signature: string, key: string, hash: Uint8Array, policy: boolean): string | null {
  const failed = "Signature must be zero for failed CHECK(MULTI)SIG operation";
  if (!isDer(signature)) return "Non-canonical DER signature";
  if (signature.slice(-2) !== "01") throw new Error(`sighash ${signature.slice(-2)} is not known here, only ALL`);
  const { r, s } = readDer(signature);
  const isHigh = s > CURVE_ORDER / 2n;
  if (isHigh && policy) return "Non-canonical signature: S value is unnecessarily high";
  const compact = hexOf(r, 32) + hexOf(isHigh ? CURVE_ORDER - s : s, 32);
  const signer = new HDKey({ publicKey: hexToBytes(key), chainCode: new Uint8Array(32) });
  return signer.verify(hash, hexToBytes(compact)) ? null : failed;
}

function witnessHash(tx: BitcoinTx, at: number, { script, amount }: TxOutput): Uint8Array {
  const code = hexToBytes(`76a914${script.slice(4)}88ac`);
  const options = { allowUnknownOutputs: true, allowUnknownInputs: true, disableScriptCheck: true };
  return Transaction.fromRaw(hexToBytes(tx.raw), options).preimageWitnessV0(at, code, SIGHASH_ALL, amount);
}

/** BIP-143's ancestor, for SIGHASH_ALL: every script empty but the one that is signed for. */
function legacyHash(tx: BitcoinTx, at: number, script: string): Uint8Array {
  const inputs = tx.inputs.map((input, i) => ({ ...input, scriptSig: i === at ? script : "", witness: [] }));
  return doubleSha(hexToBytes(buildTx({ ...tx, inputs }).raw), Uint8Array.of(SIGHASH_ALL, 0, 0, 0));
}

/** What a script of short pushes pushes; null when it does anything else. */
function pushesOf(script: string): string[] | null {
  const pushes: string[] = [];
  for (let at = 0; at < script.length; ) {
    const length = Number.parseInt(script.slice(at, at + 2), 16);
    if (length === 0 || length > 75) return null;
    pushes.push(script.slice(at + 2, at + 2 + length * 2));
    at += 2 + length * 2;
  }
  return pushes;
}

export const push = (hex: string) => hexOf(BigInt(hex.length / 2), 1) + hex;
const hexOf = (value: bigint, bytes: number) => value.toString(16).padStart(bytes * 2, "0");

/** As far as it must be to be read. */
function isDer(signature: string): boolean {
  const match = /^30(..)02(..)/.exec(signature);
  const r = Number.parseInt(match?.[2] ?? "", 16);
  const s = Number.parseInt(signature.slice(10 + r * 2, 12 + r * 2), 16);
  const isLong = Number.parseInt(match?.[1] ?? "", 16) === r + s + 4 && signature.length === (r + s + 7) * 2;
  return isLong && r > 0 && s > 0 && signature.slice(8 + r * 2, 10 + r * 2) === "02";
}

function readDer(signature: string): { readonly r: bigint; readonly s: bigint } {
  const rLength = Number.parseInt(signature.slice(6, 8), 16) * 2;
  const sLength = Number.parseInt(signature.slice(10 + rLength, 12 + rLength), 16) * 2;
  const r = BigInt(`0x${signature.slice(8, 8 + rLength)}`);
  return { r, s: BigInt(`0x${signature.slice(12 + rLength, 12 + rLength + sLength)}`) };
}

function writeDer(r: bigint, s: bigint): string {
  const number = (value: bigint) => {
    const hex = value.toString(16);
    const even = hex.length % 2 === 0 ? hex : `0${hex}`;
    return `02${push(Number.parseInt(even.slice(0, 2), 16) > 0x7f ? `00${even}` : even)}`;
  };
  return `30${push(number(r) + number(s))}`;
}
