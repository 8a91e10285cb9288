/**
 * Reading solid blocks, near the head and far behind it alike: each one with the infos of all its transactions, or not
 * at all. As much is read in one go as memory and time allow, and then the reading ends.
 */

import type { Transfer } from "../../core/transfer.ts";
import { tronHex } from "../../core/tron-address.ts";
import { Cut } from "../cut.ts";
import type { Attempts } from "../evm/attempts.ts";
import type { BlockRef, Interest, Reading } from "../port.ts";
import { inParallel } from "../rpc/parallel.ts";
import { ContradictedAnswer } from "./answers.ts";
import type { TronApi } from "./api.ts";
import { readBlock, readHeader, type TronBlock } from "./block.ts";
import { readInfos, type TronInfo } from "./info.ts";
import { type Payments, paymentsIn, type Wanted } from "./payments.ts";

export interface ReadingAccess {
  readonly api: TronApi;
  /** What the node has shown of internal transactions. */
  readonly internal: InternalSight;
  /** Blocks whose root did not come out of their transactions. */
  readonly doubtedRoots: Attempts;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly bounds: ReadingBounds;
}

/** A reading ends with the blocks that reach one of these. */
export interface ReadingBounds {
  readonly bytes: number;
  /** Payments that are kept until it is known who is watched. */
  readonly payments: number;
  readonly ms: number;
}

export const READING_BOUNDS: ReadingBounds = { bytes: 24_000_000, payments: 50_000, ms: 5_000 };
/** Of blocks in one go; a busy one has a megabyte with its infos. */
const BLOCKS_AT_ONCE = 4;
/**
 * A block whose root does not come out is left unread so often, and then taken: a stranger's transaction can do that
 * to any block, and must not stop a network.
 */
const MAX_DOUBTED_READINGS = 3;
const HEADERS_AT_ONCE = 5;
/** Of executions without one internal transaction, after which a node is taken to save none: every tenth has some. */
const EXECUTIONS_TO_JUDGE = 2_000;

/**
 * Whether a node saves internal transactions (`vm.saveInternalTx`). It never says so: it leaves them out. One that has
 * shown some saves them.
 */
export class InternalSight {
  #hasShown = false;
  #executions = 0;

  get isKnown(): boolean {
    return this.#hasShown;
  }

  get isLacking(): boolean {
    return !this.#hasShown && this.#executions >= EXECUTIONS_TO_JUDGE;
  }

  see({ execution, showsInternal }: TronInfo): void {
    if (showsInternal) this.#hasShown = true;
    if (execution === "SUCCESS") this.#executions += 1;
  }
}

/** Ascending, linked; shorter when the node does not have them all. @throws ChainFault, MalformedAnswer */
export async function readHeaders(api: TronApi, from: number, to: number, cut: Cut): Promise<BlockRef[]> {
  const chain = new Chain(api.name, cut);
  for (let next = from; next <= to && cut.stopped === null; next += HEADERS_AT_ONCE) {
    const heights = upTo(next, Math.min(to, next + HEADERS_AT_ONCE - 1));
    const found = await inParallel(HEADERS_AT_ONCE, heights, async (height) => {
      const answer = await api.ask("walletsolidity/getblock", { id_or_num: String(height), detail: false });
      return orContradiction(() => readHeader(answer));
    });
    for (const [i, header] of found.entries()) if (!chain.add(next + i, header)) break;
  }
  return chain.refs;
}

interface WholeBlock extends TronBlock {
  /** Null: not all of them are there yet. */
  readonly infos: ReadonlyMap<string, TronInfo> | null;
}

/** @throws ChainFault, MalformedAnswer */
export async function readBlocks(
  access: ReadingAccess,
  from: number,
  to: number,
  interest: Interest,
): Promise<Reading> {
  const { api, bounds } = access;
  const cut = new Cut();
  const found = new Findings(access, interest);
  const chain = new Chain(api.name, cut);
  if (found.isNothingWanted) return found.reading(await readHeaders(api, from, to, cut), cut);
  const [startedAt, bytesBefore] = [access.now(), api.bytesRead];
  for (let next = from; next <= to && cut.stopped === null; next += BLOCKS_AT_ONCE) {
    const heights = upTo(next, Math.min(to, next + BLOCKS_AT_ONCE - 1));
    const blocks = await inParallel(BLOCKS_AT_ONCE, heights, (height) => readWhole(api, height));
    for (const [i, block] of blocks.entries()) if (!chain.add(next + i, block, (whole) => found.add(whole))) break;
    if (api.bytesRead - bytesBefore >= bounds.bytes || found.kept >= bounds.payments) break;
    if (access.now() - startedAt >= bounds.ms) break;
  }
  return found.reading(chain.refs, cut);
}

async function readWhole(api: TronApi, height: number): Promise<WholeBlock | ContradictedAnswer | null> {
  const answer = await api.ask("walletsolidity/getblock", { id_or_num: String(height), detail: true });
  const block = orContradiction(() => readBlock(answer));
  if (block === null || block instanceof ContradictedAnswer) return block;
  const txIds = block.transactions.map(({ txId }) => txId);
  if (txIds.length === 0) return { ...block, infos: new Map() };
  const given = await api.ask("walletsolidity/gettransactioninfobyblocknum", { num: height });
  return orContradiction(() => ({ ...block, infos: readInfos(given, height, txIds) }));
}

/** The blocks so far, each the parent of the next. */
class Chain {
  readonly refs: BlockRef[] = [];
  readonly #name: string;
  readonly #cut: Cut;

  constructor(name: string, cut: Cut) {
    this.#name = name;
    this.#cut = cut;
  }

  /** False, and a cut there, when the block does not go on from those before or cannot be read. */
  add<T extends { readonly ref: BlockRef }>(
    height: number,
    block: T | ContradictedAnswer | null,
    read: (block: T) => string | null = () => null,
  ): boolean {
    if (block === null) return this.#end("not_known", height, `does not have block ${height} as a solid one`);
    if (block instanceof ContradictedAnswer) return this.#end("inconsistent", height, block.message);
    const { ref } = block;
    const parent = this.refs.at(-1);
    if (ref.height !== height)
      return this.#end("inconsistent", height, `was asked for block ${height} and gave ${ref.height}`);
    if (parent !== undefined && ref.parentHash !== parent.hash) {
      const detail = `block ${height} names parent ${ref.parentHash}, block ${height - 1} is ${parent.hash}`;
      return this.#end("inconsistent", height, detail);
    }
    const missing = orContradiction(() => read(block));
    if (missing instanceof ContradictedAnswer) return this.#end("inconsistent", height, missing.message);
    if (missing !== null) return this.#end("not_known", height, missing);
    this.refs.push(ref);
    return true;
  }

  #end(reason: "not_known" | "inconsistent", height: number, detail: string): false {
    this.#cut.at(reason, height, `${this.#name}: ${detail}`);
    return false;
  }
}

class Findings {
  readonly #access: ReadingAccess;
  readonly #interest: Interest;
  readonly #wanted: Wanted;
  readonly #payments: Payments[] = [];
  kept = 0;

  constructor(access: ReadingAccess, interest: Interest) {
    this.#access = access;
    this.#interest = interest;
    const contracts = new Map([...interest.contracts].map((contract) => [tronHex(contract), contract]));
    this.#wanted = { native: interest.native, internal: interest.internal, contracts };
  }

  get isNothingWanted(): boolean {
    const { native, internal, contracts } = this.#wanted;
    return !native && !internal && contracts.size === 0;
  }

  /** What the block lacks, in words; null when all of it is kept. @throws ContradictedAnswer */
  add({ ref, transactions, infos, isProven }: WholeBlock): string | null {
    if (!isProven && this.#access.doubtedRoots.next(ref.hash) <= MAX_DOUBTED_READINGS)
      throw new ContradictedAnswer(
        `the header of block ${ref.height} is not of its ${transactions.length} transactions`,
      );
    if (infos === null) return `does not have the infos of all ${transactions.length} transactions of ${ref.height}`;
    const found: Payments[] = [];
    for (const tx of transactions) {
      const info = infos.get(tx.txId);
      if (info === undefined) throw new Error(`transaction ${tx.txId} has no info`);
      this.#access.internal.see(info);
      found.push(paymentsIn(tx, info, ref, this.#wanted));
    }
    for (const payments of found) {
      if (payments.transfers.length + payments.trc10.length + payments.irregular === 0) continue;
      this.#payments.push(payments);
      this.kept += payments.transfers.length + payments.trc10.length;
    }
    return null;
  }

  reading(blocks: readonly BlockRef[], cut: Cut): Reading {
    const transfers = this.#payments.flatMap((payments) => payments.transfers);
    const trc10 = this.#payments.flatMap((payments) => payments.trc10);
    const receivers = new Set([...transfers.map(({ address }) => address), ...trc10]);
    const watched = receivers.size === 0 ? receivers : this.#interest.watched(receivers);
    const kept = transfers.filter(({ address }) => watched.has(address));
    const irregular = this.#payments.reduce((sum, payments) => sum + payments.irregular, 0);
    return {
      blocks,
      transfers: kept,
      stopped: cut.stopped,
      internal: this.#sight,
      shortTransfers: 0,
      unweighedTransfers: kept.filter(isOfToken).length,
      irregularLogs: irregular + trc10.filter((address) => watched.has(address)).length,
    };
  }

  get #sight(): Reading["internal"] {
    if (!this.#interest.internal) return "off";
    return this.#access.internal.isKnown ? "traced" : "untraced";
  }
}

function isOfToken({ transferIndex }: Transfer): boolean {
  return transferIndex.startsWith("log:");
}

/** What the node contradicts itself in, as a value: it stops the reading at its block and no lower. */
function orContradiction<T>(read: () => T): T | ContradictedAnswer {
  try {
    return read();
  } catch (error) {
    if (error instanceof ContradictedAnswer) return error;
    throw error;
  }
}

function upTo(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}
