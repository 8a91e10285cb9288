/**
 * A Solana transaction as its bytes say: legacy, version 0 (with address lookup tables) and version 1 (SIMD-0385:
 * up to 4096 bytes, signatures at the end, no lookup tables). Only the form is read here; what its instructions do is
 * for others.
 *
 * Its id is its first signature, which covers the whole message.
 */

import { base58 } from "@scure/base";
import { MalformedAnswer } from "../rpc/malformed.ts";
import { SolanaReader } from "./solana-reader.ts";

export interface WireInstruction {
  /** Places in the list of accounts. */
  readonly program: number;
  readonly accounts: ArrayLike<number>;
  readonly data: Uint8Array;
}

export interface WireTransaction {
  readonly version: "legacy" | 0 | 1;
  /** 64 bytes each, one for each signer, in their order. */
  readonly signatures: readonly Uint8Array[];
  /** What is signed. */
  readonly message: Uint8Array;
  /** Accounts named in the message itself, 32 bytes each: signers first. Those of lookup tables follow in the chain's answer. */
  readonly keys: readonly Uint8Array[];
  readonly readonlySigners: number;
  readonly readonlyOthers: number;
  /** A block's hash, or a nonce. */
  readonly lifetime: Uint8Array;
  readonly instructions: readonly WireInstruction[];
  /** How many accounts its lookup tables add. */
  readonly lookups: { readonly writable: number; readonly readonly: number };
}

/** The runtime allows 64 accounts; what the node adds from lookup tables counts among them. */
const MAX_ACCOUNTS = 256;
const VERSIONED = 0x80;
const SIGNATURE_BYTES = 64;
const KEY_BYTES = 32;
/** Bits of a version 1 message's mask: two for the fee (8 bytes), one each for three limits (4 bytes). */
const CONFIG_FEE = 0b11;
const CONFIG_LIMITS = [0b100, 0b1000, 0b10000];

/** @throws MalformedAnswer for bytes that are no transaction of these versions */
export function readTransaction(bytes: Uint8Array): WireTransaction {
  const cursor = new SolanaReader(bytes, "transaction");
  return cursor.peek() === (VERSIONED | 1) ? readVersion1(cursor) : readEarlier(cursor);
}

export function transactionId({ signatures }: Pick<WireTransaction, "signatures">): string {
  const [first] = signatures;
  if (first === undefined) throw new MalformedAnswer("transaction", "one signature at least", "none");
  return base58.encode(first);
}

/** The signed part of a legacy or version 0 transaction, without signatures. @throws MalformedAnswer */
export function readMessage(bytes: Uint8Array): Omit<WireTransaction, "signatures"> & { readonly signers: number } {
  return messageFrom(new SolanaReader(bytes, "message"));
}

function readEarlier(cursor: SolanaReader): WireTransaction {
  const signatures = list(cursor.compact(), () => cursor.take(SIGNATURE_BYTES));
  const { signers, ...message } = messageFrom(cursor);
  return checked({ ...message, signatures }, signers);
}

/** To the end of the bytes. */
function messageFrom(cursor: SolanaReader): Omit<WireTransaction, "signatures"> & { readonly signers: number } {
  const message = cursor.bytes.subarray(cursor.offset);
  const isVersioned = ((cursor.peek() ?? 0) & VERSIONED) !== 0;
  if (isVersioned && cursor.byte() !== VERSIONED) {
    throw new MalformedAnswer("transaction", "version legacy, 0 or 1", `version ${(message[0] ?? 0) & 0x7f}`);
  }
  const signers = cursor.byte();
  const readonlySigners = cursor.byte();
  const readonlyOthers = cursor.byte();
  const keys = list(cursor.compact(), () => cursor.take(KEY_BYTES));
  const lifetime = cursor.take(KEY_BYTES);
  const instructions = list(cursor.compact(), () => ({
    program: cursor.byte(),
    accounts: cursor.take(cursor.compact()),
    data: cursor.take(cursor.compact()),
  }));
  const lookups = { writable: 0, readonly: 0 };
  for (let left = isVersioned ? cursor.compact() : 0; left > 0; left--) {
    cursor.skip(KEY_BYTES);
    lookups.writable += cursor.take(cursor.compact()).length;
    lookups.readonly += cursor.take(cursor.compact()).length;
  }
  cursor.end();
  const version = isVersioned ? 0 : "legacy";
  return { version, message, keys, readonlySigners, readonlyOthers, lifetime, instructions, lookups, signers };
}

function readVersion1(cursor: SolanaReader): WireTransaction {
  cursor.skip(1);
  const signers = cursor.byte();
  const readonlySigners = cursor.byte();
  const readonlyOthers = cursor.byte();
  const mask = cursor.uint32();
  const lifetime = cursor.take(KEY_BYTES);
  const count = cursor.byte();
  const keys = list(cursor.byte(), () => cursor.take(KEY_BYTES));
  const known = CONFIG_LIMITS.reduce((sum, bit) => sum | bit, CONFIG_FEE);
  if ((mask & ~known) !== 0 || ((mask & CONFIG_FEE) !== 0 && (mask & CONFIG_FEE) !== CONFIG_FEE)) {
    throw new MalformedAnswer("transaction", "a mask of known settings", `0x${mask.toString(16)}`);
  }
  if ((mask & CONFIG_FEE) !== 0) cursor.skip(8);
  for (const bit of CONFIG_LIMITS) if ((mask & bit) !== 0) cursor.skip(4);
  const heads = list(count, () => ({ program: cursor.byte(), accounts: cursor.byte(), data: cursor.uint16() }));
  const instructions = heads.map((head) => ({
    program: head.program,
    accounts: cursor.take(head.accounts),
    data: cursor.take(head.data),
  }));
  const message = cursor.bytes.subarray(0, cursor.offset);
  const signatures = list(signers, () => cursor.take(SIGNATURE_BYTES));
  cursor.end();
  const lookups = { writable: 0, readonly: 0 };
  return checked(
    { version: 1, signatures, message, keys, readonlySigners, readonlyOthers, lifetime, instructions, lookups },
    signers,
  );
}

function checked(tx: WireTransaction, signers: number): WireTransaction {
  const accounts = tx.keys.length + tx.lookups.writable + tx.lookups.readonly;
  const isWhole =
    signers > 0 &&
    tx.signatures.length === signers &&
    signers <= tx.keys.length &&
    tx.readonlySigners < signers &&
    tx.readonlyOthers <= tx.keys.length - signers &&
    accounts <= MAX_ACCOUNTS &&
    tx.instructions.every(
      ({ program, accounts: used }) => program < accounts && Array.prototype.every.call(used, (i) => i < accounts),
    );
  if (isWhole) return tx;
  const got = `${tx.signatures.length} signatures of ${signers}, ${tx.keys.length} keys, ${accounts} accounts`;
  throw new MalformedAnswer("transaction", "accounts and signatures that its header and instructions name", got);
}

function list<T>(length: number, item: () => T): T[] {
  const items: T[] = [];
  for (let i = 0; i < length; i++) items.push(item());
  return items;
}
