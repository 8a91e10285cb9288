/**
 * Reads signed bytes back, whoever made them, and compares them with what was to be signed. Only bytes that spend
 * exactly the coins that were chosen, and give exactly what was approved, may be kept and sent.
 */

import { secp256k1 } from "@noble/curves/secp256k1";
import { ripemd160 } from "@noble/hashes/legacy";
import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { RawTx, Transaction } from "@scure/btc-signer";
import { scriptOfAddress } from "../../core/bitcoin-address.ts";
import { boundsOf, feeRateLimits } from "../../core/fee-rate.ts";
import type { BitcoinNetwork } from "../../core/network.ts";
import { MAX_TX_WEIGHT } from "../../core/tx-size.ts";
import { type Coin, coinText, type SignedSpend, type SpendIntent } from "../coin-payout.ts";
import { LOCK_TIME, outputsOf, SEQUENCE, SIGHASH_ALL, scriptCodeOf, VERSION } from "./spend-form.ts";

export type ReadSpend =
  | { readonly ok: true; readonly signed: SignedSpend }
  /** Names the field, what came and what was expected. */
  | { readonly ok: false; readonly problem: string };

/** What the bytes are measured by beside the intent. */
export interface SpendRules {
  readonly network: Pick<BitcoinNetwork, "addresses" | "payout">;
  /** The dearest fee among the attempts that this one replaces; null: it replaces none. */
  readonly replacedUnits: bigint | null;
}

type Decoded = ReturnType<typeof RawTx.decode>;

const MAX_RAW_CHARS = 2 * MAX_TX_WEIGHT;
const MAX_SHOWN_CHARS = 160;

/** Waits for nothing but the arithmetic. */
export function readSigned(raw: string, intent: SpendIntent, rules: SpendRules): ReadSpend {
  if (!/^([0-9a-fA-F]{2})+$/.test(raw)) return refused("raw", "characters that are not", "bytes in hex");
  if (raw.length > MAX_RAW_CHARS) return refused("raw", `${raw.length} characters`, `at most ${MAX_RAW_CHARS}`);
  const bytes = hexToBytes(raw);
  const decoded = decode(bytes);
  if (decoded === null) return refused("raw", "bytes that do not decode", "a transaction");
  const different = fieldsOf(decoded, intent, rules).find(({ got, expected }) => got !== expected);
  if (different) return refused(different.name, different.got, different.expected);
  // The fields agree; what is left is another encoding of them.
  if (bytesToHex(RawTx.encode(decoded)) !== bytesToHex(bytes))
    return refused("raw", "other bytes", "the one encoding of these fields and signatures");
  const tx = Transaction.fromRaw(bytes);
  for (const [place, coin] of intent.inputs.entries()) {
    const problem = signatureProblem(tx, place, coin, decoded.witnesses?.[place] ?? [], rules);
    if (problem !== null) return { ok: false, problem };
  }
  const { id, vsize } = tx;
  const feeUnits = feeOf(intent);
  const { least, most } = boundsOf(feeRateLimits(rules.network.payout), rules.replacedUnits, vsize);
  if (feeUnits < least || feeUnits > most) return refused("fee", String(feeUnits), `${least} to ${most}`);
  return { ok: true, signed: { txId: id, raw: bytesToHex(bytes), vsize } };
}

function decode(bytes: Uint8Array): Decoded | null {
  try {
    return RawTx.decode(bytes);
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

function fieldsOf(decoded: Decoded, intent: SpendIntent, { network }: SpendRules): readonly Field[] {
  const outputs = outputsOf(network.addresses, intent);
  const field = (name: string, got: unknown, expected: unknown): Field => ({
    name,
    got: String(got),
    expected: String(expected),
  });
  return [
    field("version", decoded.version, VERSION),
    field("inputs", decoded.inputs.length, intent.inputs.length),
    field("outputs", decoded.outputs.length, outputs.length),
    field("witnesses", decoded.witnesses?.length ?? 0, intent.inputs.length),
    ...intent.inputs.flatMap((coin, place) => {
      const input = decoded.inputs[place];
      const spent = input && coinText({ txId: bytesToHex(input.txid), vout: input.index });
      return [
        field(`input ${place}`, spent, coinText(coin)),
        field(`input ${place} script`, input && (bytesToHex(input.finalScriptSig) || "none"), "none"),
        field(`input ${place} sequence`, input?.sequence, SEQUENCE),
      ];
    }),
    ...outputs.flatMap(({ script, amountUnits }, place) => {
      const output = decoded.outputs[place];
      return [
        field(`output ${place} script`, output && bytesToHex(output.script), script),
        field(`output ${place} amount`, output?.amount, amountUnits),
      ];
    }),
    field("lockTime", decoded.lockTime, LOCK_TIME),
  ];
}

/** What is wrong with the witness of an input; null when it lets this coin be spent by this transaction alone. */
function signatureProblem(
  tx: Transaction,
  place: number,
  coin: Coin,
  witness: readonly Uint8Array[],
  { network }: SpendRules,
): string | null {
  const name = `input ${place}`;
  const [signature, key, ...more] = witness;
  if (signature === undefined || key === undefined || more.length > 0)
    return problem(`${name} witness`, `${witness.length} items`, "a signature and a key");
  const script = scriptOfAddress(network.addresses, coin.address);
  const program = `0014${bytesToHex(ripemd160(sha256(key)))}`;
  if (key.length !== 33 || program !== script) return problem(`${name} key`, `one of ${program}`, `that of ${script}`);
  const sighash = signature.at(-1);
  if (sighash !== SIGHASH_ALL) return problem(`${name} sighash type`, String(sighash), String(SIGHASH_ALL));
  const hash = tx.preimageWitnessV0(place, scriptCodeOf(script), SIGHASH_ALL, coin.amountUnits);
  if (!isSigned(signature.subarray(0, -1), hash, key))
    return problem(`${name} signature`, "not of this transaction", "one of the coin's key, DER and low s (BIP-146)");
  return null;
}

function isSigned(der: Uint8Array, hash: Uint8Array, key: Uint8Array): boolean {
  try {
    return secp256k1.verify(der, hash, key, { lowS: true, prehash: false, format: "der" });
  } catch {
    return false;
  }
}

function feeOf({ inputs, payments, change }: SpendIntent): bigint {
  const spent = inputs.reduce((sum, { amountUnits }) => sum + amountUnits, 0n);
  return payments.reduce((left, { amountUnits }) => left - amountUnits, spent) - (change?.amountUnits ?? 0n);
}

function refused(field: string, got: string, expected: string): ReadSpend {
  return { ok: false, problem: problem(field, got, expected) };
}

function problem(field: string, got: string, expected: string): string {
  const cut = (text: string) => (text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}...` : text);
  return `signed transaction: ${field} is ${cut(got)}, expected ${cut(expected)}`;
}
