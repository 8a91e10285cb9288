/**
 * Reads signed bytes back, whoever made them, and compares them with what was to be signed. Only bytes that pay
 * exactly what was approved, from the wallet that was to pay, may be kept and sent.
 */

import {
  type Hex,
  keccak256,
  parseTransaction,
  recoverAddress,
  serializeTransaction,
  type TransactionSerializable,
} from "viem";
import type { Intent, SignedTransaction } from "../payout.ts";
import { unsignedOf } from "./intent.ts";

export type ReadSigned =
  | { readonly ok: true; readonly signed: SignedTransaction }
  /** Names the field, what came and what was expected. */
  | { readonly ok: false; readonly problem: string };

/** A transfer has a few hundred bytes. */
const MAX_RAW_CHARS = 8_192;
const MAX_SHOWN_CHARS = 160;
/** Half the order of secp256k1: above it, the same signature has a twin (EIP-2). */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

interface Signature {
  readonly r: Hex;
  readonly s: Hex;
  readonly yParity: 0 | 1;
}

/** Waits for nothing but the arithmetic. */
export async function readSigned(raw: string, intent: Intent): Promise<ReadSigned> {
  if (!/^0x([0-9a-fA-F]{2})+$/.test(raw)) return refused("raw", "characters that are not", "bytes in hex");
  if (raw.length > MAX_RAW_CHARS) return refused("raw", `${raw.length} characters`, `at most ${MAX_RAW_CHARS}`);
  const bytes = raw.toLowerCase() as Hex;
  const decoded = decode(bytes);
  if (decoded === null) return refused("raw", "bytes that do not decode", "a transaction");
  const different = fieldsOf(decoded, intent).find(({ got, expected }) => got !== expected);
  if (different) return refused(different.name, different.got, different.expected);
  const signature = signatureOf(decoded);
  if (typeof signature === "string") return { ok: false, problem: signature };
  const unsigned = unsignedOf(intent);
  // The fields agree; what is left is another encoding of them, or bytes around them.
  if (serializeTransaction(unsigned, inFull(signature, intent)) !== bytes)
    return refused("raw", "other bytes", "the one encoding of these fields and signature");
  const signer = await recovered(serializeTransaction(unsigned), signature);
  if (signer !== intent.sender) return refused("sender", signer, intent.sender);
  return { ok: true, signed: { txId: keccak256(bytes), raw: bytes } };
}

function decode(raw: Hex): TransactionSerializable | null {
  try {
    return parseTransaction(raw) as TransactionSerializable;
  } catch {
    // What the library says about it repeats the bytes.
    return null;
  }
}

interface Field {
  readonly name: string;
  readonly got: string;
  readonly expected: string;
}

/** Everything that is signed, the type first: the other names depend on it. */
function fieldsOf(decoded: TransactionSerializable, intent: Intent): readonly Field[] {
  const { fees } = intent;
  const field = (name: string, got: unknown, expected: unknown): Field => ({
    name,
    got: String(got),
    expected: String(expected),
  });
  // Zeros and nothings are one thing in the encoding, and absent when it is read.
  const fields = [
    field("type", decoded.type, fees.kind),
    field("chainId", decoded.chainId ?? "none", intent.chainId),
    field("nonce", decoded.nonce ?? 0, intent.nonce),
    field("to", decoded.to?.toLowerCase() ?? "none", intent.to),
    field("value", decoded.value ?? 0n, intent.valueUnits),
    field("data", decoded.data ?? "0x", intent.data),
    field("gas", decoded.gas ?? 0n, intent.gasLimit),
    field("accessList", decoded.accessList?.length ?? 0, 0),
  ];
  switch (fees.kind) {
    case "eip1559":
      fields.push(
        field("maxFeePerGas", decoded.maxFeePerGas ?? 0n, fees.maxFeePerGas),
        field("maxPriorityFeePerGas", decoded.maxPriorityFeePerGas ?? 0n, fees.maxPriorityFeePerGas),
      );
      break;
    case "legacy":
      fields.push(field("gasPrice", decoded.gasPrice ?? 0n, fees.gasPrice));
      break;
  }
  return fields;
}

/** The signature, or what is wrong with it. */
function signatureOf({ r, s, yParity }: TransactionSerializable): Signature | string {
  // Absent, empty, or a list in their place: all of it can be encoded, and none of it is a number.
  if (!isNumber(r) || !isNumber(s) || yParity === undefined) return problem("signature", "none", "one");
  if (BigInt(s) > HALF_ORDER) return problem("signature s", "its upper half", "the lower half (EIP-2)");
  return { r, s, yParity: yParity === 0 ? 0 : 1 };
}

function isNumber(value: unknown): value is Hex {
  return typeof value === "string" && /^0x[0-9a-f]{1,64}$/.test(value);
}

/** A legacy transaction carries its chain id inside `v` (EIP-155). */
function inFull({ r, s, yParity }: Signature, { chainId, fees }: Intent) {
  return fees.kind === "legacy" ? { r, s, v: BigInt(chainId) * 2n + 35n + BigInt(yParity) } : { r, s, yParity };
}

/** Lower case; words in its place when the signature is of nobody. */
async function recovered(unsigned: Hex, signature: Signature): Promise<string> {
  try {
    return (await recoverAddress({ hash: keccak256(unsigned), signature })).toLowerCase();
  } catch {
    return "nobody";
  }
}

function refused(field: string, got: string, expected: string): ReadSigned {
  return { ok: false, problem: problem(field, got, expected) };
}

function problem(field: string, got: string, expected: string): string {
  const cut = (text: string) => (text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}...` : text);
  return `signed transaction: ${field} is ${cut(got)}, expected ${cut(expected)}`;
}
