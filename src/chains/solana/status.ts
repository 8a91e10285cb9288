/**
 * What the chain says of a transaction it carried out: who paid the fee, which instructions called which, and every
 * balance before and after. The answer's `meta`, with encoding `base64`, read strictly: what is missing makes the
 * transaction unreadable, never empty.
 *
 * Balances are JSON numbers. One that is not an exact integer is kept as null: nothing is proven with it.
 */

import { base58 } from "@scure/base";
import { MalformedAnswer, parseList, parseObject } from "../rpc/malformed.ts";
import { transactionId, type WireInstruction, type WireTransaction } from "./transaction.ts";

export interface TokenBalance {
  readonly mint: string;
  readonly owner: string;
  /** Which token program holds it. */
  readonly program: string;
  readonly units: bigint;
}

export interface InnerInstruction {
  readonly program: number;
  readonly accounts: ArrayLike<number>;
  /** Base58: decoded only where somebody looks at it. */
  readonly data: string;
}

export interface ExecutedTransaction {
  /** Spelled out only when it is asked for: most transactions of a block are nobody's concern. */
  readonly txId: string;
  readonly wire: WireTransaction;
  readonly accounts: Accounts;
  readonly feeUnits: bigint;
  /** Lamports by account; null: not an exact integer. */
  readonly before: readonly (bigint | null)[];
  readonly after: readonly (bigint | null)[];
  readonly tokensBefore: ReadonlyMap<number, TokenBalance>;
  readonly tokensAfter: ReadonlyMap<number, TokenBalance>;
  /** By outer instruction, in the order they were carried out. */
  readonly inner: ReadonlyMap<number, readonly InnerInstruction[]>;
}

/** All accounts of a transaction by their place: those of its message, then what lookup tables add. */
export class Accounts {
  readonly #keys: readonly Uint8Array[];
  readonly #loaded: readonly string[];
  readonly #addresses: (string | undefined)[] = [];

  constructor(keys: readonly Uint8Array[], loaded: readonly string[]) {
    this.#keys = keys;
    this.#loaded = loaded;
  }

  get length(): number {
    return this.#keys.length + this.#loaded.length;
  }

  address(place: number): string {
    const known = this.#addresses[place];
    if (known !== undefined) return known;
    const key = this.#keys[place];
    const address = key === undefined ? this.#loaded[place - this.#keys.length] : base58.encode(key);
    if (address === undefined) throw new MalformedAnswer("transaction", `one of ${this.length} accounts`, place);
    this.#addresses[place] = address;
    return address;
  }

  placeOf(address: string): number | null {
    for (let place = 0; place < this.length; place++) if (this.address(place) === address) return place;
    return null;
  }

  /** Whether the account is this program, without spelling it out. */
  is(place: number, program: { readonly address: string; readonly bytes: Uint8Array }): boolean {
    const key = this.#keys[place];
    if (key === undefined) return this.#loaded[place - this.#keys.length] === program.address;
    const { bytes } = program;
    for (let i = 0; i < bytes.length; i++) if (key[i] !== bytes[i]) return false;
    return true;
  }
}

/** The outcome alone: null when it succeeded, else what the chain says went wrong. @throws MalformedAnswer */
export function failureOf(meta: unknown): string | null {
  const { err } = parseObject(meta, "meta of a transaction");
  if (err === undefined) throw new MalformedAnswer("meta of a transaction", "err, null or not", "none");
  return err === null ? null : JSON.stringify(err);
}

/** @param meta of a transaction that succeeded @param what it is, for messages @throws MalformedAnswer */
export function readExecuted(wire: WireTransaction, meta: unknown, what: string): ExecutedTransaction {
  const fields = parseObject(meta, what);
  const accounts = new Accounts(wire.keys, loadedIn(wire, fields.loadedAddresses, what));
  return {
    get txId() {
      return transactionId(wire);
    },
    wire,
    accounts,
    feeUnits: exact(fields.fee) ?? malformed(what, "an exact fee", fields.fee),
    before: balances(fields.preBalances, accounts.length, what),
    after: balances(fields.postBalances, accounts.length, what),
    tokensBefore: tokenBalances(fields.preTokenBalances, accounts.length, what),
    tokensAfter: tokenBalances(fields.postTokenBalances, accounts.length, what),
    inner: innerIn(fields.innerInstructions, wire.instructions, accounts.length, what),
  };
}

function loadedIn({ lookups }: WireTransaction, value: unknown, what: string): readonly string[] {
  const wanted = lookups.writable + lookups.readonly;
  if ((value === undefined || value === null) && wanted === 0) return [];
  const { writable, readonly } = parseObject(value, `${what}: loadedAddresses`);
  const loaded = [...parseList(writable, what), ...parseList(readonly, what)].map((address) => text(address, what));
  if (loaded.length !== wanted || parseList(writable, what).length !== lookups.writable) {
    throw new MalformedAnswer(what, `${wanted} accounts from lookup tables`, loaded.length);
  }
  return loaded;
}

function balances(value: unknown, accounts: number, what: string): readonly (bigint | null)[] {
  const list = parseList(value, `${what}: balances`);
  if (list.length !== accounts) throw new MalformedAnswer(what, `balances of ${accounts} accounts`, list.length);
  return list.map((units) => {
    if (typeof units !== "number") throw new MalformedAnswer(what, "a balance", units);
    return exact(units);
  });
}

function tokenBalances(value: unknown, accounts: number, what: string): ReadonlyMap<number, TokenBalance> {
  const found = new Map<number, TokenBalance>();
  for (const item of parseList(value, `${what}: token balances`)) {
    const { accountIndex, mint, owner, programId, uiTokenAmount } = parseObject(item, `${what}: token balance`);
    const { amount } = parseObject(uiTokenAmount, `${what}: token amount`);
    if (typeof amount !== "string" || !/^\d{1,20}$/.test(amount)) throw new MalformedAnswer(what, "base units", amount);
    const place = placeIn(accountIndex, accounts, what);
    if (found.has(place)) throw new MalformedAnswer(what, "one balance of each token account", `two of ${place}`);
    found.set(place, {
      mint: text(mint, what),
      owner: text(owner, what),
      program: text(programId, what),
      units: BigInt(amount),
    });
  }
  return found;
}

function innerIn(
  value: unknown,
  outer: readonly WireInstruction[],
  accounts: number,
  what: string,
): ReadonlyMap<number, readonly InnerInstruction[]> {
  const found = new Map<number, readonly InnerInstruction[]>();
  // Null: a node that does not record them. Without them nobody knows what a program did.
  for (const item of parseList(value, `${what}: inner instructions`)) {
    const { index, instructions } = parseObject(item, `${what}: inner instructions`);
    const place = placeIn(index, outer.length, what);
    if (found.has(place)) throw new MalformedAnswer(what, "inner instructions once", `twice of ${place}`);
    found.set(
      place,
      parseList(instructions, what).map((one) => innerOne(one, accounts, what)),
    );
  }
  return found;
}

function innerOne(value: unknown, accounts: number, what: string): InnerInstruction {
  const { programIdIndex, accounts: used, data } = parseObject(value, `${what}: inner instruction`);
  return {
    program: placeIn(programIdIndex, accounts, what),
    accounts: parseList(used, what).map((place) => placeIn(place, accounts, what)),
    data: typeof data === "string" ? data : malformed(what, "data of an inner instruction", data),
  };
}

function placeIn(value: unknown, length: number, what: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < length) return value;
  throw new MalformedAnswer(what, `a place below ${length}`, value);
}

function exact(value: unknown): bigint | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : null;
}

function text(value: unknown, what: string): string {
  return typeof value === "string" && value !== "" ? value : malformed(what, "an address", value);
}

function malformed(what: string, expected: string, got: unknown): never {
  throw new MalformedAnswer(what, expected, got);
}
