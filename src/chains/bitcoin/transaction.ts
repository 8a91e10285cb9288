/**
 * A Bitcoin transaction as its bytes say: what it spends, and what it pays to which script. Its id is the hash of
 * the bytes without witnesses (BIP-141), so bytes that give the id are the transaction itself.
 */

import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex } from "@noble/hashes/utils";
import { MalformedAnswer } from "../rpc/malformed.ts";
import { BitcoinReader } from "./bitcoin-reader.ts";

export interface BitcoinInput {
  /** The output that is spent. A coinbase names 32 zero bytes and 2^32 - 1. */
  readonly txId: string;
  readonly vout: number;
  /** Of the input itself, hex. */
  readonly script: string;
  readonly sequence: number;
}

export interface BitcoinOutput {
  /** Satoshi. */
  readonly amountUnits: bigint;
  /** Hex, lower case. */
  readonly script: string;
}

export interface BitcoinTransaction {
  /** Lower-case hex, in the order people write it. */
  readonly txId: string;
  readonly inputs: readonly BitcoinInput[];
  readonly outputs: readonly BitcoinOutput[];
}

/** Previous output, empty script, sequence. */
const MIN_INPUT_BYTES = 41;
/** Amount, empty script. */
const MIN_OUTPUT_BYTES = 9;
/** 21 million coins: what Core calls `MAX_MONEY`. */
const MAX_MONEY = 2_100_000_000_000_000n;
const NO_OUTPUT = 0xffffffff;
const NO_TRANSACTION = "0".repeat(64);

/**
 * The answer to `getrawtransaction`. Scripts are parts of the given text: keep an address or a copy, not a script,
 * where the text is large. @throws MalformedAnswer
 */
export function readRawTransaction(raw: unknown): BitcoinTransaction {
  const reader = new BitcoinReader(raw, "transaction");
  const transaction = readTransaction(reader);
  reader.end();
  return transaction;
}

/** The transaction that begins where the reader stands. @throws MalformedAnswer */
export function readTransaction(reader: BitcoinReader): BitcoinTransaction {
  const start = reader.offset;
  reader.skip(4);
  // No transaction has an empty list of inputs: a zero here announces witnesses (BIP-144).
  const hasWitnesses = reader.peek(0) === 0 && reader.peek(1) === 1;
  if (hasWitnesses) reader.skip(2);
  const bodyStart = reader.offset;
  const inputs = readInputs(reader);
  const outputs = readOutputs(reader);
  const bodyEnd = reader.offset;
  if (hasWitnesses) for (const _ of inputs) skipWitness(reader);
  const lockTime = reader.offset;
  reader.skip(4);
  const { bytes } = reader;
  const txId = hasWitnesses
    ? idOf(joined(bytes, start, bodyStart, bodyEnd, lockTime))
    : idOf(bytes.subarray(start, reader.offset));
  return { txId, inputs, outputs };
}

/** Whether it makes new coins: it spends no output. */
export function isCoinbase({ inputs }: BitcoinTransaction): boolean {
  const [first] = inputs;
  return inputs.length === 1 && first?.vout === NO_OUTPUT && first.txId === NO_TRANSACTION;
}

function readInputs(reader: BitcoinReader): BitcoinInput[] {
  const count = reader.count(MIN_INPUT_BYTES);
  if (count === 0) throw new MalformedAnswer("transaction", "one input at least", "none");
  const inputs: BitcoinInput[] = [];
  for (let i = 0; i < count; i++) {
    const txId = reader.hash();
    const vout = reader.uint32();
    const script = reader.hex(reader.count(1));
    inputs.push({ txId, vout, script, sequence: reader.uint32() });
  }
  return inputs;
}

function readOutputs(reader: BitcoinReader): BitcoinOutput[] {
  const count = reader.count(MIN_OUTPUT_BYTES);
  const outputs: BitcoinOutput[] = [];
  for (let i = 0; i < count; i++) {
    const amountUnits = reader.uint64();
    if (amountUnits > MAX_MONEY) throw new MalformedAnswer("output", `at most ${MAX_MONEY} satoshi`, amountUnits);
    outputs.push({ amountUnits, script: reader.hex(reader.count(1)) });
  }
  return outputs;
}

function skipWitness(reader: BitcoinReader): void {
  const count = reader.count(1);
  for (let i = 0; i < count; i++) reader.skip(reader.count(1));
}

/** Version, inputs and outputs, lock time: the bytes without marker, flag and witnesses. */
function joined(bytes: Uint8Array, start: number, bodyStart: number, bodyEnd: number, lockTime: number): Uint8Array {
  const body = bodyEnd - bodyStart;
  const whole = new Uint8Array(body + 8);
  whole.set(bytes.subarray(start, start + 4), 0);
  whole.set(bytes.subarray(bodyStart, bodyEnd), 4);
  whole.set(bytes.subarray(lockTime, lockTime + 4), 4 + body);
  return whole;
}

function idOf(bytes: Uint8Array): string {
  return bytesToHex(sha256(sha256(bytes)).reverse());
}
