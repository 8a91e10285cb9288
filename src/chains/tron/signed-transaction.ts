/**
 * Signed TRON transactions: written for the signer, and read back, whoever made them, to be compared with what was to
 * be signed. Only bytes that pay exactly what was approved, from the wallet that was to pay, may be kept and sent.
 */

import { secp256k1 } from "@noble/curves/secp256k1";
import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { NATIVE } from "../../core/transfer.ts";
import { tronAddressOfKey, tronHex } from "../../core/tron-address.ts";
import type { ExpiringIntent, ReadExpiring, Unsigned } from "../expiring-payout.ts";
import { MalformedAnswer } from "../rpc/malformed.ts";
import { ProtobufMessage, ProtobufWriter } from "./protobuf.ts";
import { decodeRawData, encodeRawData, type RawData, type TronContract, txIdOf } from "./raw-data.ts";

/** A transfer has some three hundred bytes. */
const MAX_CHARS = 4_096;
const SIGNATURE_CHARS = 130;
const MAX_SHOWN_CHARS = 160;
/** transfer(address,uint256) */
const TRANSFER = "a9059cbb";
const WORD = 64;

/** What the chain is asked to do for an intent. */
export function contractOf({ sender, asset, destination, amountUnits }: ExpiringIntent): TronContract {
  const owner = `41${tronHex(sender)}`;
  if (asset === NATIVE) return { kind: "transfer", owner, to: `41${tronHex(destination)}`, amountUnits };
  const words = [tronHex(destination), amountUnits.toString(16)].map((word) => word.padStart(WORD, "0"));
  const data = TRANSFER + words.join("");
  const contract = `41${tronHex(asset)}`;
  return { kind: "trigger", owner, contract, callValueUnits: 0n, data, tokenId: 0n, callTokenUnits: 0n };
}

/** Both parts together, hex. @param signature r, s, and the recovery bit + 27 */
export function signedBytes(raw: string, signature: string): string {
  return new ProtobufWriter().always(1, raw).always(2, signature).hex();
}

/** The contract that signed bytes carry, to ask a node about it. @throws MalformedAnswer, Error for bytes without one */
export function contractIn(raw: string): TronContract {
  const data = decodeRawData(bytesToHex(ProtobufMessage.ofHex(raw, "signed transaction").message(1)));
  if (data === null) throw new Error("a transaction without a contract was never made here");
  return data.contract;
}

export function readSigned(raw: string, unsigned: Unsigned, intent: ExpiringIntent): ReadExpiring {
  if (!/^([0-9a-f]{2})+$/.test(raw)) return refused("raw", "characters that are not", "bytes in lower-case hex");
  if (raw.length > MAX_CHARS) return refused("raw", `${raw.length} characters`, `at most ${MAX_CHARS}`);
  const decoded = decode(raw);
  if (decoded === null) return refused("raw", "bytes that do not decode", "a transaction");
  const { data, rawData, signature } = decoded;
  const different = fieldsOf(data, unsigned, intent).find(({ got, expected }) => got !== expected);
  if (different) return refused(different.name, different.got, different.expected);
  if (data.feeLimitUnits > intent.maxFeeUnits)
    return refused("fee_limit", String(data.feeLimitUnits), `at most ${intent.maxFeeUnits}`);
  // Also what no field shows: unknown fields, another order, a second signature.
  if (rawData !== unsigned.bytes || rawData !== encodeRawData(data))
    return refused("raw_data", rawData, unsigned.bytes);
  if (raw !== signedBytes(rawData, signature)) return refused("raw", "more than raw_data and one signature", "these");
  const signer = signerOf(rawData, signature);
  if (signer !== intent.sender) return refused("signer", signer, intent.sender);
  return { ok: true, signed: { txId: txIdOf(rawData), raw } };
}

interface Decoded {
  readonly data: RawData;
  readonly rawData: string;
  readonly signature: string;
}

function decode(raw: string): Decoded | null {
  try {
    const message = ProtobufMessage.ofHex(raw, "signed transaction");
    const rawData = bytesToHex(message.message(1));
    const data = decodeRawData(rawData);
    return data === null ? null : { data, rawData, signature: message.hex(2) };
  } catch (error) {
    if (error instanceof MalformedAnswer) return null;
    throw error;
  }
}

interface Field {
  readonly name: string;
  readonly got: string;
  readonly expected: string;
}

/** Everything that is signed, the type first: the other names depend on it. */
function fieldsOf(data: RawData, unsigned: Unsigned, intent: ExpiringIntent): readonly Field[] {
  const expected = contractOf(intent);
  const { contract } = data;
  const names = new Set([...Object.keys(contract), ...Object.keys(expected)]);
  const fieldOf = (of: TronContract, name: string) =>
    String((of as unknown as Record<string, unknown>)[name] ?? "none");
  return [
    ...[...names].map((name) => ({ name, got: fieldOf(contract, name), expected: fieldOf(expected, name) })),
    { name: "expiration", got: String(data.expiration), expected: String(unsigned.expiresAt) },
    { name: "memo", got: data.data || "none", expected: "none" },
    { name: "permission", got: String(data.permissionId), expected: "0" },
    ...(intent.asset === NATIVE ? [{ name: "fee_limit", got: String(data.feeLimitUnits), expected: "0" }] : []),
  ];
}

/** Canonical; words in its place when the signature is of nobody. */
function signerOf(rawData: string, signature: string): string {
  if (signature.length !== SIGNATURE_CHARS) return `${signature.length / 2} bytes that are no signature`;
  const recovery = Number.parseInt(signature.slice(-2), 16) - 27;
  if (recovery !== 0 && recovery !== 1) return "nobody";
  try {
    const parsed = secp256k1.Signature.fromCompact(signature.slice(0, -2));
    // Above half the order the same signature has a twin.
    if (parsed.hasHighS()) return "nobody: s is in its upper half";
    const point = parsed.addRecoveryBit(recovery).recoverPublicKey(sha256(hexToBytes(rawData)));
    return tronAddressOfKey(point.toRawBytes(false));
  } catch {
    return "nobody";
  }
}

function refused(field: string, got: string, expected: string): ReadExpiring {
  const cut = (text: string) => (text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}...` : text);
  return { ok: false, problem: `signed transaction: ${field} is ${cut(got)}, expected ${cut(expected)}` };
}
