/**
 * The one transaction that pays out: made by Solana's own library, and read back here from its bytes, field by field.
 * Its instructions, in this order and no others: the limit of compute units, their price, the receiver's token account
 * where there is none, and the transfer. One signer, who pays for everything.
 */

import { ed25519 } from "@noble/curves/ed25519";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { base58 } from "@scure/base";
import {
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  createNoopSigner,
  createTransactionMessage,
  type Instruction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from "@solana/kit";
import { getSetComputeUnitLimitInstruction, getSetComputeUnitPriceInstruction } from "@solana-program/compute-budget";
import { getTransferSolInstruction } from "@solana-program/system";
import { getCreateAssociatedTokenIdempotentInstruction, getTransferCheckedInstruction } from "@solana-program/token";
import {
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from "../../core/solana-address.ts";
import { NATIVE } from "../../core/transfer.ts";
import type { ExpiringIntent, ReadExpiring, Unsigned } from "../expiring-payout.ts";
import { MalformedAnswer } from "../rpc/malformed.ts";
import { associatedAccount, bytesOf } from "./program-address.ts";
import { readTransaction, transactionId, type WireInstruction, type WireTransaction } from "./transaction.ts";

/** What one signature costs, lamports. */
export const SIGNATURE_UNITS = 5_000n;
const MICRO = 1_000_000n;

export interface PaymentForm {
  /** Of the mint; null: native coins. */
  readonly tokenProgram: string | null;
  /** Whether the receiver's token account is made. */
  readonly opensAccount: boolean;
  readonly unitLimit: number;
  /** Millionths of a lamport for each compute unit. */
  readonly unitPrice: bigint;
}

/** What the transaction offers for its compute units, lamports: all of the limit, rounded up. */
export function priorityUnits({ unitLimit, unitPrice }: Pick<PaymentForm, "unitLimit" | "unitPrice">): bigint {
  return (BigInt(unitLimit) * unitPrice + MICRO - 1n) / MICRO;
}

/** The highest price for which `priorityUnits` is not above this. */
export function priceWithin(units: bigint, unitLimit: number): bigint {
  return (units * MICRO) / BigInt(unitLimit);
}

/** The message that is signed. */
export function paymentMessage(intent: ExpiringIntent, form: PaymentForm, blockhash: string): Uint8Array {
  const lifetime = { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n };
  const message = pipe(
    createTransactionMessage({ version: "legacy" }),
    (m) => setTransactionMessageFeePayer(address(intent.sender), m),
    (m) => setTransactionMessageLifetimeUsingBlockhash(lifetime, m),
    (m) => appendTransactionMessageInstructions(instructionsOf(intent, form), m),
  );
  return Uint8Array.from(compileTransaction(message).messageBytes);
}

function instructionsOf(intent: ExpiringIntent, form: PaymentForm): readonly Instruction[] {
  const payer = createNoopSigner(address(intent.sender));
  const budget = [
    getSetComputeUnitLimitInstruction({ units: form.unitLimit }),
    getSetComputeUnitPriceInstruction({ microLamports: form.unitPrice }),
  ];
  const { destination, amountUnits: amount, decimals, asset } = intent;
  if (form.tokenProgram === null) {
    return [...budget, getTransferSolInstruction({ source: payer, destination: address(destination), amount })];
  }
  const [program, mint] = [address(form.tokenProgram), address(asset)];
  const source = address(associatedAccount(intent.sender, program, mint));
  const target = address(associatedAccount(destination, program, mint));
  const opening = { payer, ata: target, owner: address(destination), mint, tokenProgram: program };
  const moved = { source, mint, destination: target, authority: payer, amount, decimals };
  return [
    ...budget,
    ...(form.opensAccount ? [getCreateAssociatedTokenIdempotentInstruction(opening)] : []),
    getTransferCheckedInstruction(moved, { programAddress: program }),
  ];
}

/** Decodes signed bytes and compares them with what was approved. Nothing of the library that made them is used. */
export function readPayment(raw: string, unsigned: Unsigned, intent: ExpiringIntent): ReadExpiring {
  try {
    const tx = readTransaction(hexToBytes(raw));
    const problem = problemOf(tx, unsigned, intent);
    return problem === null ? { ok: true, signed: { txId: transactionId(tx), raw } } : { ok: false, problem };
  } catch (error) {
    if (error instanceof MalformedAnswer) return { ok: false, problem: error.message };
    return { ok: false, problem: `expected bytes in hex, got ${raw.length} characters that are none` };
  }
}

function problemOf(tx: WireTransaction, unsigned: Unsigned, intent: ExpiringIntent): string | null {
  const keys = tx.keys.map((key) => base58.encode(key));
  if (tx.version !== "legacy") return `expected a legacy transaction, got version ${tx.version}`;
  if (tx.signatures.length !== 1) return `expected one signer, got ${tx.signatures.length}`;
  if (keys[0] !== intent.sender) return `expected ${intent.sender} to pay and sign, got ${keys[0]}`;
  if (bytesToHex(tx.message) !== unsigned.bytes) return "the signed message is not the one that was made";
  const [signature] = tx.signatures;
  if (signature === undefined || !ed25519.verify(signature, tx.message, bytesOf(intent.sender))) {
    return `the signature is not ${intent.sender}'s`;
  }
  const read = new Instructions(tx.instructions, keys);
  const limit = read.next(COMPUTE_BUDGET_PROGRAM, [], [2], 4);
  const price = read.next(COMPUTE_BUDGET_PROGRAM, [], [3], 8);
  if (limit === null || price === null) return `expected a limit and a price of compute units, ${read.found}`;
  const offered = SIGNATURE_UNITS + priorityUnits({ unitLimit: Number(limit), unitPrice: price });
  if (offered > unsigned.feeMostUnits || unsigned.feeMostUnits > intent.maxFeeUnits) {
    return `it offers ${offered} in fees, ${unsigned.feeMostUnits} were stated, ${intent.maxFeeUnits} are allowed`;
  }
  const moved = intent.asset === NATIVE ? readCoins(read, intent) : readTokens(read, intent);
  if (moved !== null) return moved;
  if (read.left > 0) return `expected no further instruction, ${read.found}`;
  // A signer that writes, and others: nothing is named that no instruction uses.
  const unused = keys.filter((key, place) => place > 0 && !read.used.has(key));
  return unused.length === 0 ? null : `expected no account beside those it uses, got ${unused.join(", ")}`;
}

function readCoins(read: Instructions, { sender, destination, amountUnits }: ExpiringIntent): string | null {
  const amount = read.next(SYSTEM_PROGRAM, [sender, destination], [2, 0, 0, 0], 8);
  if (amount === amountUnits) return null;
  return `expected a transfer of ${amountUnits} to ${destination}, ${amount === null ? read.found : `got ${amount}`}`;
}

function readTokens(read: Instructions, intent: ExpiringIntent): string | null {
  const { sender, destination, asset, amountUnits, decimals } = intent;
  for (const program of [TOKEN_PROGRAM, TOKEN_2022_PROGRAM]) {
    const source = associatedAccount(sender, program, asset);
    const target = associatedAccount(destination, program, asset);
    read.next(ASSOCIATED_TOKEN_PROGRAM, [sender, target, destination, asset, SYSTEM_PROGRAM, program], [1], 0);
    const amount = read.next(program, [source, asset, target, sender], [12], 8, [decimals]);
    if (amount === amountUnits) return null;
    if (amount !== null) return `expected a transfer of ${amountUnits}, got ${amount}`;
  }
  return `expected a transfer of ${amountUnits} of ${asset} to ${destination}'s own account, ${read.found}`;
}

/** Takes instructions off one by one, each only in exactly the form asked for. */
class Instructions {
  readonly used = new Set<string>();
  readonly #list: readonly WireInstruction[];
  readonly #keys: readonly string[];
  #at = 0;

  constructor(list: readonly WireInstruction[], keys: readonly string[]) {
    this.#list = list;
    this.#keys = keys;
  }

  get left(): number {
    return this.#list.length - this.#at;
  }

  /** What comes next, for messages. */
  get found(): string {
    const next = this.#list[this.#at];
    if (next === undefined) return "got no further instruction";
    return `got ${this.#keys[next.program]} with data ${bytesToHex(next.data)}`;
  }

  /**
   * The number of so many bytes that stands between the first bytes of its data and the last ones; null, and nothing
   * taken, when the next instruction is another one.
   */
  next(
    program: string,
    accounts: readonly string[],
    first: readonly number[],
    numberBytes: number,
    last: readonly number[] = [],
  ): bigint | null {
    const instruction = this.#list[this.#at];
    if (instruction === undefined || this.#keys[instruction.program] !== program) return null;
    const named = Array.from(instruction.accounts, (place) => this.#keys[place] ?? "");
    const { data } = instruction;
    const isForm =
      named.length === accounts.length &&
      named.every((key, i) => key === accounts[i]) &&
      data.length === first.length + numberBytes + last.length &&
      first.every((byte, i) => data[i] === byte) &&
      last.every((byte, i) => data[first.length + numberBytes + i] === byte);
    if (!isForm) return null;
    this.#at += 1;
    for (const key of [program, ...named]) this.used.add(key);
    const digits = data.subarray(first.length, first.length + numberBytes);
    return digits.reduceRight((value, byte) => value * 256n + BigInt(byte), 0n);
  }
}
