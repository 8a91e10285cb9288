/**
 * What instructions of the system program and the two token programs do to balances, and withdrawals of what was
 * staked, from their raw bytes. Whatever else a program does is not known here: it shows in the balances, and there it
 * does not add up.
 *
 * Layouts: `solana-system-interface`, `solana-stake-interface`, `solana-vote-interface` (bincode, u32 tags), `spl-token-interface` (u8 tags; 38, 45 and 255 since p-token),
 * `spl-token-2022-interface` (26: its transfer fee extension). Places are places in the transaction's list of accounts.
 */

import { base58 } from "@scure/base";
import {
  STAKE_PROGRAM,
  SYSTEM_PROGRAM,
  solanaKeyBytes,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
  VOTE_PROGRAM,
} from "../../core/solana-address.ts";
import { MalformedAnswer } from "../rpc/malformed.ts";
import { fromBase58 } from "./base58.ts";
import type { Accounts, ExecutedTransaction } from "./status.ts";

export type Effect = { readonly path: string } & (
  | {
      readonly kind: "lamports";
      readonly from: number;
      readonly to: number;
      readonly units: bigint;
      /** Who signed for `from` besides itself: the base of a derived account, the authority of a nonce or a stake. */
      readonly by: number | null;
      /** Whether the receiver can spend it: not when the same step makes it some program's account. */
      readonly isPayment: boolean;
    }
  | {
      readonly kind: "tokens";
      /** Null: minted. */
      readonly from: number | null;
      /** Null: burned. */
      readonly to: number | null;
      /** Null: not named, it is the accounts' own. */
      readonly mint: number | null;
      readonly units: bigint;
      /** What the receiver gets less; null: not stated. */
      readonly fee: bigint | null;
    }
  /** A token account begins. Owner and mint as addresses. */
  | {
      readonly kind: "opened";
      readonly account: number;
      readonly mint: string;
      readonly owner: string;
      readonly program: string;
    }
  | { readonly kind: "given"; readonly account: number; readonly owner: string }
  | { readonly kind: "closed"; readonly account: number; readonly to: number }
  /** Wrapped coins leave as coins; null: all of them. */
  | { readonly kind: "unwrapped"; readonly from: number; readonly to: number; readonly units: bigint | null }
  /** Coins that were sent to a wrapped account become its tokens. */
  | { readonly kind: "synced"; readonly account: number }
);

interface Program {
  readonly address: string;
  readonly bytes: Uint8Array;
}

interface Call {
  readonly path: string;
  readonly program: Program;
  readonly accounts: ArrayLike<number>;
  readonly data: Uint8Array;
}

const SYSTEM = program(SYSTEM_PROGRAM);
const TOKEN = program(TOKEN_PROGRAM);
const TOKEN_2022 = program(TOKEN_2022_PROGRAM);
const STAKE = program(STAKE_PROGRAM);
const VOTE = program(VOTE_PROGRAM);
const KNOWN = [SYSTEM, TOKEN, TOKEN_2022, STAKE, VOTE];

/** In the order they happened: each instruction, then those it called. */
export function effectsOf(tx: ExecutedTransaction): Effect[] {
  const effects: Effect[] = [];
  const add = (call: Call) => {
    for (const effect of effectsOfCall(call, tx.accounts)) effects.push(effect);
  };
  for (const [i, { program: place, accounts, data }] of tx.wire.instructions.entries()) {
    const outer = knownProgram(tx.accounts, place);
    if (outer !== null) add({ path: `ix:${i}`, program: outer, accounts, data });
    for (const [j, inner] of (tx.inner.get(i) ?? []).entries()) {
      const called = knownProgram(tx.accounts, inner.program);
      if (called === null) continue;
      add({ path: `ix:${i}.${j}`, program: called, accounts: inner.accounts, data: innerData(inner.data, tx.txId) });
    }
  }
  return effects;
}

function knownProgram(accounts: Accounts, place: number): Program | null {
  return KNOWN.find((candidate) => accounts.is(place, candidate)) ?? null;
}

function innerData(text: string, txId: string): Uint8Array {
  try {
    return fromBase58(text);
  } catch {
    throw new MalformedAnswer(`inner instruction of ${txId}`, "base58", text);
  }
}

function effectsOfCall(call: Call, accounts: Accounts): readonly Effect[] {
  if (call.program === SYSTEM) return one(systemEffect(call));
  if (call.program === STAKE || call.program === VOTE) return one(withdrawalEffect(call));
  if (call.data[0] === 255) return batch(call, accounts);
  return one(tokenEffect(call, accounts));
}

/** Entries one after the other, each `<accounts><bytes><data>`, which share out the accounts in turn. */
function batch(call: Call, accounts: Accounts): readonly Effect[] {
  const effects: Effect[] = [];
  const { data } = call;
  let at = 1;
  let used = 0;
  for (let entry = 0; at + 2 <= data.length; entry++) {
    const [count, bytes] = [data[at] ?? 0, data[at + 1] ?? 0];
    const own = Array.from({ length: count }, (_, i) => call.accounts[used + i] ?? -1).filter((place) => place >= 0);
    const part = { ...call, accounts: own, data: data.subarray(at + 2, at + 2 + bytes), path: `${call.path}/${entry}` };
    effects.push(...one(tokenEffect(part, accounts)));
    at += 2 + bytes;
    used += count;
  }
  return effects;
}

/** Null for what moves nothing, and for what the program itself would not have taken. */
function systemEffect({ path, accounts, data }: Call): Effect | null {
  const [tag, view] = [u32(data, 0), data];
  const moved = (from: number, to: number, at: number, by: number | null, isPayment = true): Effect | null => {
    const units = u64(view, at);
    const [source, target] = [accounts[from], accounts[to]];
    if (units === null || source === undefined || target === undefined) return null;
    return { kind: "lamports", path, from: source, to: target, units, by: placeAt(accounts, by), isPayment };
  };
  switch (tag) {
    // CreateAccount: lamports, space, owner.
    case 0:
      return moved(0, 1, 4, null, isSystem(view.subarray(20, 52)));
    case 2:
      return moved(0, 1, 4, null);
    // CreateAccountWithSeed: base, seed with its length, lamports, space, owner.
    case 3: {
      const seed = u64(view, 36);
      if (seed === null || seed > 32n) return null;
      const after = 44 + Number(seed);
      return moved(0, 1, after, null, isSystem(view.subarray(after + 16, after + 48)));
    }
    // WithdrawNonceAccount: from, to, two sysvars, authority.
    case 5:
      return moved(0, 1, 4, 4);
    // TransferWithSeed: from, base, to.
    case 11:
      return moved(0, 2, 4, 1);
    // CreateAccountAllowPrefund: the new account, who pays (only when something is paid).
    case 13:
      return moved(1, 0, 4, null, isSystem(view.subarray(20, 52)));
    default:
      return null;
  }
}

/** Withdraw of either program: from, to, and who may: third, or fifth after two sysvars (of a stake alone). */
function withdrawalEffect({ path, program, accounts, data }: Call): Effect | null {
  const [from, to, units] = [accounts[0], accounts[1], u64(data, 4)];
  const tag = program === STAKE ? 4 : 3;
  if (u32(data, 0) !== tag || from === undefined || to === undefined || units === null) return null;
  const by = placeAt(accounts, accounts.length > 4 ? 4 : 2);
  return { kind: "lamports", path, from, to, units, by, isPayment: true };
}

function tokenEffect(call: Call, accounts: Accounts): Effect | null {
  const { path, accounts: used, data } = call;
  const place = (i: number) => used[i];
  const tokens = (from: number | null, to: number | null, mint: number | null, at = 1): Effect | null => {
    const units = u64(data, at);
    const places = [from, to, mint].map((i) => (i === null ? null : place(i)));
    const [source, target, kind] = places;
    if (units === null || source === undefined || target === undefined || kind === undefined) return null;
    return { kind: "tokens", path, from: source, to: target, mint: kind, units, fee: null };
  };
  const opened = (owner: string | null): Effect | null => {
    const [account, mint] = [place(0), place(1)];
    if (account === undefined || mint === undefined || owner === null) return null;
    return { kind: "opened", path, account, mint: accounts.address(mint), owner, program: call.program.address };
  };
  const [first, second, third] = [place(0), place(1), place(2)];
  switch (data[0]) {
    case 1:
      return opened(third === undefined ? null : accounts.address(third));
    case 3:
      return tokens(0, 1, null);
    // SetAuthority: what for (2: the account's owner), whether there is a new one, who.
    case 6:
      if (data[1] !== 2 || data[2] !== 1 || first === undefined) return null;
      return data.length < 35
        ? null
        : { kind: "given", path, account: first, owner: base58.encode(data.subarray(3, 35)) };
    case 7:
    case 14:
      return tokens(null, 1, 0);
    case 8:
    case 15:
      return tokens(0, null, 1);
    case 9:
      return first === undefined || second === undefined ? null : { kind: "closed", path, account: first, to: second };
    case 12:
      return tokens(0, 2, 1);
    case 16:
    case 18:
      return opened(data.length < 33 ? null : base58.encode(data.subarray(1, 33)));
    case 17:
      return first === undefined ? null : { kind: "synced", path, account: first };
    // TransferFeeExtension: 1 is TransferCheckedWithFee: units, decimals, fee.
    case 26: {
      const moved = data[1] === 1 ? tokens(0, 2, 1, 2) : null;
      return moved === null || moved.kind !== "tokens" ? null : { ...moved, fee: u64(data, 11) };
    }
    // UnwrapLamports: whether an amount is given, and it.
    case 45:
      if (first === undefined || second === undefined) return null;
      return { kind: "unwrapped", path, from: first, to: second, units: data[1] === 1 ? u64(data, 2) : null };
    default:
      return null;
  }
}

function one(effect: Effect | null): readonly Effect[] {
  return effect === null ? [] : [effect];
}

function placeAt(accounts: ArrayLike<number>, i: number | null): number | null {
  return i === null ? null : (accounts[i] ?? null);
}

function isSystem(owner: Uint8Array): boolean {
  return owner.length === SYSTEM.bytes.length && owner.every((byte) => byte === 0);
}

function u32(data: Uint8Array, at: number): number | null {
  if (at + 4 > data.length) return null;
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(at, true);
}

function u64(data: Uint8Array, at: number): bigint | null {
  if (at + 8 > data.length) return null;
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getBigUint64(at, true);
}

function program(address: string): Program {
  const bytes = solanaKeyBytes(address);
  if (bytes === null) throw new Error(`${address} is no address`);
  return { address, bytes };
}
