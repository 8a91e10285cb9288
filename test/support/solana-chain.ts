/**
 * A Solana chain in memory: transactions are carried out by `litesvm`, which is the validators' own runtime. Blocks,
 * slots, blockhashes and their expiry, and what is final are of this file.
 *
 *   const chain = new SolanaChain();
 *   chain.send(raw); chain.mine();            one block with what waits
 *   chain.skip(3); chain.mine(2);             slots without a block before it
 *   chain.unfinal = 31;                       blocks at the top that are not final
 *   chain.reorg(2, { keep: [signature] });    takes blocks off, state included
 *   chain.fund(address, lamports);            out of nothing, in no block
 */

import { sha256 } from "@noble/hashes/sha2";
import { utf8ToBytes } from "@noble/hashes/utils";
import { base58 } from "@scure/base";
import { type Address, address, getTransactionDecoder, lamports as lamportsOf } from "@solana/kit";
import { getSetComputeUnitLimitInstruction } from "@solana-program/compute-budget";
import { getTransferSolInstruction } from "@solana-program/system";
import { FailedTransactionMetadata, LiteSVM, type TransactionMetadata } from "litesvm";
import { readTransaction, transactionId, type WireTransaction } from "../../src/chains/solana/transaction.ts";
import { type SolanaKey, signedTransaction, solanaKey } from "./solana-keys.ts";

export interface ChainAccount {
  readonly lamports: bigint;
  readonly owner: string;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

/** As a node writes it down. */
export interface ChainTokenBalance {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner: string;
  readonly programId: string;
  readonly uiTokenAmount: { readonly amount: string; readonly decimals: number };
}

export interface ChainTx {
  readonly signature: string;
  readonly raw: Uint8Array;
  readonly wire: WireTransaction;
  readonly err: unknown;
  readonly fee: bigint;
  readonly before: readonly bigint[];
  readonly after: readonly bigint[];
  readonly tokensBefore: readonly ChainTokenBalance[];
  readonly tokensAfter: readonly ChainTokenBalance[];
  readonly loaded: { readonly writable: readonly string[]; readonly readonly: readonly string[] };
  readonly inner: readonly { readonly index: number; readonly instructions: readonly unknown[] }[];
  readonly units: bigint;
}

export interface ChainBlock {
  readonly slot: number;
  readonly height: number;
  readonly hash: string;
  readonly parentSlot: number;
  readonly parentHash: string;
  readonly time: number;
  readonly txs: readonly ChainTx[];
}

/** A blockhash is good for so many blocks after its own. */
const BLOCKHASH_AGE = 151;
const FIRST_TIME = 1_700_000_000;
const TOKEN_PROGRAMS = ["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"];
const LOOKUP_PROGRAM = "AddressLookupTab1e1111111111111111111111111";
const NOWHERE = "11111111111111111111111111111111";

export class SolanaChain {
  readonly svm: LiteSVM;
  readonly faucet: SolanaKey = solanaKey("faucet");
  /** Blocks at the top that are not final. */
  unfinal = 0;
  /** What waits, by signature. */
  readonly waiting = new Map<string, Uint8Array>();
  /** When a mint was first seen, its decimals are looked up here too. */
  readonly #blocks: ChainBlock[] = [];
  /** What accounts held from a height on, ascending. */
  readonly #history = new Map<string, { readonly height: number; readonly account: ChainAccount | null }[]>();
  #skipped = 0;
  #made = 0;
  #salt = 0;

  constructor(name = "tests") {
    this.svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n).withNativeMints();
    const hash = digest(`genesis of ${name}`);
    const first = { slot: 0, height: 0, parentSlot: 0, parentHash: NOWHERE, time: FIRST_TIME, txs: [] };
    this.#blocks.push({ ...first, hash });
    this.fund(this.faucet.address, 10n ** 15n);
  }

  get head(): number {
    return this.#blocks.length - 1;
  }

  get tip(): ChainBlock {
    return this.at(this.head);
  }

  get genesis(): string {
    return this.at(0).hash;
  }

  get blocks(): readonly ChainBlock[] {
    return this.#blocks;
  }

  at(height: number): ChainBlock {
    const block = this.#blocks[height];
    if (block === undefined) throw new Error(`the chain has no block ${height}`);
    return block;
  }

  /** Below this height's block: nothing. */
  accountAt(who: string, height: number): ChainAccount | null {
    const held = this.#history.get(who);
    return held === undefined ? this.#now(who) : (held.findLast((entry) => entry.height <= height)?.account ?? null);
  }

  fund(who: string, lamports: bigint): void {
    const held = this.#now(who);
    this.#put(who, { owner: NOWHERE, data: new Uint8Array(0), executable: false, ...held, lamports });
    this.#note(who, held, this.head);
  }

  /** Any account as it should be, in no block. */
  put(who: string, account: ChainAccount): void {
    const held = this.#now(who);
    this.#put(who, account);
    this.#note(who, held, this.head);
  }

  /** A hash that is good for most of its time yet, and stays so when a few blocks are taken off. */
  blockhash(): string {
    return this.at(Math.max(0, this.head - 20)).hash;
  }

  /** Signed for the next block; each call another transaction. */
  transact(
    parts: Omit<Parameters<typeof signedTransaction>[0], "blockhash" | "payer"> & { payer?: SolanaKey },
  ): string {
    const limit = getSetComputeUnitLimitInstruction({ units: 1_000_000 + ++this.#made });
    const instructions = parts.version === 1 ? parts.instructions : [...parts.instructions, limit];
    return this.send(signedTransaction({ payer: this.faucet, ...parts, instructions, blockhash: this.blockhash() }));
  }

  /** From the faucet. */
  pay(to: string, amount: bigint): string {
    const source = this.faucet.signer;
    return this.transact({ instructions: [getTransferSolInstruction({ source, destination: address(to), amount })] });
  }

  /** Puts it among what waits, if it may still land. @returns its signature */
  send(raw: Uint8Array): string {
    const wire = readTransaction(raw);
    const signature = transactionId(wire);
    if (this.#isGood(wire) && this.find(signature) === null) this.waiting.set(signature, raw);
    return signature;
  }

  find(signature: string): { readonly block: ChainBlock; readonly tx: ChainTx } | null {
    for (const block of this.#blocks.toReversed()) {
      const tx = block.txs.find((candidate) => candidate.signature === signature);
      if (tx !== undefined) return { block, tx };
    }
    return null;
  }

  /** The next block comes so many slots later. */
  skip(slots: number): void {
    this.#skipped += slots;
  }

  /** So many blocks; the first holds what waits, or of it only these. */
  mine(count = 1, { include }: { include?: readonly string[] } = {}): ChainBlock {
    for (let i = 0; i < count; i++) this.#mineOne(i > 0 ? [] : (include ?? [...this.waiting.keys()]));
    return this.tip;
  }

  /** Takes blocks off. Their transactions wait again (`keep`: only these, for the next block). */
  reorg(depth: number, { keep, mine = depth + 1 }: { keep?: readonly string[]; mine?: number } = {}): void {
    const gone = this.#blocks.splice(this.#blocks.length - depth);
    for (const [who, entries] of this.#history) {
      const kept = entries.filter((entry) => entry.height <= this.head);
      if (kept.length === entries.length) continue;
      this.#history.set(who, kept);
      this.#put(who, kept.at(-1)?.account ?? null);
    }
    this.#skipped += gone.length;
    this.#salt += 1;
    for (const { txs } of gone) for (const { signature, raw } of txs) this.waiting.set(signature, raw);
    if (keep !== undefined) {
      for (const signature of [...this.waiting.keys()]) if (!keep.includes(signature)) this.waiting.delete(signature);
    }
    this.mine(mine);
  }

  /** What would come of it on top of the newest block; nothing stays of it. */
  simulate(
    raw: Uint8Array,
    sigVerify: boolean,
  ): { readonly err: unknown; readonly units: bigint; readonly logs: readonly string[] } {
    const wire = readTransaction(raw);
    if (!this.#isGood(wire)) return { err: "BlockhashNotFound", units: 0n, logs: [] };
    this.svm.withSigverify(sigVerify);
    const outcome = this.svm.simulateTransaction(getTransactionDecoder().decode(raw));
    this.svm.withSigverify(true);
    const failed = outcome instanceof FailedTransactionMetadata;
    const meta = outcome.meta();
    return { err: failed ? errorOf(outcome) : null, units: meta.computeUnitsConsumed(), logs: meta.logs() };
  }

  /** Whether its blockhash is young enough. */
  isGoodHash(hash: string): boolean {
    const from = this.#blocks.find((block) => block.hash === hash);
    return from !== undefined && this.head + 1 <= from.height + BLOCKHASH_AGE;
  }

  #isGood({ lifetime }: WireTransaction): boolean {
    return this.isGoodHash(base58.encode(lifetime));
  }

  #mineOne(include: readonly string[]): void {
    const parent = this.tip;
    const slot = parent.slot + 1 + this.#skipped;
    this.#skipped = 0;
    const txs: ChainTx[] = [];
    for (const signature of include) {
      const raw = this.waiting.get(signature);
      if (raw === undefined) continue;
      this.waiting.delete(signature);
      if (!this.#isGood(readTransaction(raw)) || this.find(signature) !== null) continue;
      const tx = this.#execute(signature, raw, parent.height + 1);
      if (tx !== null) txs.push(tx);
    }
    for (const [signature, raw] of this.waiting)
      if (!this.#isGood(readTransaction(raw))) this.waiting.delete(signature);
    const hash = digest(`${parent.hash} ${slot} ${this.#salt} ${txs.map((tx) => tx.signature).join()}`);
    const time = FIRST_TIME + Math.floor(slot * 0.4);
    const links = { parentSlot: parent.slot, parentHash: parent.hash };
    this.#blocks.push({ slot, height: parent.height + 1, hash, ...links, time, txs });
  }

  /** Null: it is refused before it costs anything, and is in no block. */
  #execute(signature: string, raw: Uint8Array, height: number): ChainTx | null {
    const wire = readTransaction(raw);
    const loaded = this.#loadedBy(raw, wire);
    const accounts = [...wire.keys.map((key) => base58.encode(key)), ...loaded.writable, ...loaded.readonly];
    const states = accounts.map((who) => this.#now(who));
    const outcome = this.svm.sendTransaction(getTransactionDecoder().decode(raw));
    const failed = outcome instanceof FailedTransactionMetadata;
    const later = accounts.map((who) => this.#now(who));
    const held = (list: readonly (ChainAccount | null)[]) => list.map((account) => account?.lamports ?? 0n);
    const total = (list: readonly bigint[]) => list.reduce((sum, one) => sum + one, 0n);
    const fee = total(held(states)) - total(held(later));
    if (failed && fee === 0n) return null;
    for (const [i, who] of accounts.entries()) this.#note(who, states[i] ?? null, height);
    const meta: TransactionMetadata = failed ? outcome.meta() : outcome;
    return {
      signature,
      raw,
      wire,
      err: failed ? errorOf(outcome) : null,
      fee,
      before: held(states),
      after: held(later),
      tokensBefore: this.#tokensOf(states),
      tokensAfter: this.#tokensOf(later),
      loaded,
      inner: innerOf(meta),
      units: meta.computeUnitsConsumed(),
    };
  }

  #tokensOf(accounts: readonly (ChainAccount | null)[]): ChainTokenBalance[] {
    return accounts.flatMap((account, accountIndex) => {
      const isToken = account !== null && TOKEN_PROGRAMS.includes(account.owner);
      if (!isToken || !(account.data.length === 165 || account.data[165] === 2) || account.data[108] === 0) return [];
      const mint = base58.encode(account.data.subarray(0, 32));
      const owner = base58.encode(account.data.subarray(32, 64));
      const amount = String(new DataView(account.data.buffer, account.data.byteOffset).getBigUint64(64, true));
      const decimals = this.#now(mint)?.data[44] ?? 0;
      return [{ accountIndex, mint, owner, programId: account.owner, uiTokenAmount: { amount, decimals } }];
    });
  }

  /** Lookups as in version 0: table, then the places of writable and of other accounts; the list begins at byte 56. */
  #loadedBy(raw: Uint8Array, wire: WireTransaction): ChainTx["loaded"] {
    const loaded: { writable: string[]; readonly: string[] } = { writable: [], readonly: [] };
    if (wire.version !== 0) return loaded;
    const { lookups } = wire;
    if (lookups.writable + lookups.readonly === 0) return loaded;
    // One table at most in tests: its part is the end of the message.
    const end = wire.message.subarray(-(34 + lookups.writable + lookups.readonly));
    const table = this.#now(base58.encode(end.subarray(0, 32)));
    if (table?.owner !== LOOKUP_PROGRAM) throw new Error(`no lookup table in ${raw.length} bytes`);
    const entry = (place: number) => base58.encode(table.data.subarray(56 + 32 * place, 88 + 32 * place));
    const places = end.subarray(33, 33 + lookups.writable);
    for (const place of places) loaded.writable.push(entry(place));
    for (const place of end.subarray(34 + lookups.writable)) loaded.readonly.push(entry(place));
    return loaded;
  }

  #now(who: string): ChainAccount | null {
    const account = this.svm.getAccount(address(who));
    if (!account.exists || account.lamports === 0n) return null;
    const { lamports, programAddress, executable } = account;
    return { lamports, owner: programAddress, data: Uint8Array.from(account.data), executable };
  }

  #put(who: string, account: ChainAccount | null): void {
    const { lamports, owner, data, executable } = account ?? { ...EMPTY };
    this.svm.setAccount({
      address: address(who),
      lamports: lamportsOf(lamports),
      programAddress: owner as Address,
      data,
      executable,
      space: BigInt(data.length),
    });
  }

  #note(who: string, held: ChainAccount | null, height: number): void {
    const entries = this.#history.get(who) ?? [{ height: -1, account: held }];
    const later = entries.filter((entry) => entry.height !== height || entry.height === -1);
    this.#history.set(who, [...later, { height, account: this.#now(who) }]);
  }
}

const EMPTY: ChainAccount = { lamports: 0n, owner: NOWHERE, data: new Uint8Array(0), executable: false };

/** In a node's words, as far as tests look at them. */
function errorOf(failed: FailedTransactionMetadata): unknown {
  const error = failed.err();
  if (typeof error === "object" && "err" in error) {
    const { index } = error;
    const inner = error.err();
    const code = typeof inner === "object" && "code" in inner ? { Custom: inner.code } : String(inner);
    return { InstructionError: [index, code] };
  }
  return String(failed.toString().match(/err: (\w+)/)?.[1] ?? error);
}

function innerOf(meta: TransactionMetadata): ChainTx["inner"] {
  return meta.innerInstructions().flatMap((list, index) => {
    const instructions = list.map((inner) => {
      const called = inner.instruction();
      return {
        programIdIndex: called.programIdIndex(),
        accounts: [...called.accounts()],
        data: base58.encode(called.data()),
        stackHeight: inner.stackHeight(),
      };
    });
    return instructions.length === 0 ? [] : [{ index, instructions }];
  });
}

function digest(text: string): string {
  return base58.encode(sha256(utf8ToBytes(text)));
}
