/**
 * Reading blocks, near the head and far behind it alike: every one whole. What is left out between two slots is proven
 * by the blocks themselves: the later one names the earlier one's slot and hash as its parent, and its height is one
 * more. As much is read in one go as memory and time allow, which on the main chain is a few blocks.
 */

import type { Transfer } from "../../core/transfer.ts";
import { log } from "../../log.ts";
import { Cut } from "../cut.ts";
import type { BlockRef, Interest, Reading } from "../port.ts";
import type { RpcAnswer, RpcClient } from "../rpc/client.ts";
import { MalformedAnswer } from "../rpc/malformed.ts";
import { inParallel } from "../rpc/parallel.ts";
import type { Span } from "../span.ts";
import { faultOf, isWithoutBlock } from "./answers.ts";
import { type Arrivals, arrivalsOf } from "./arrivals.ts";
import { askBlock } from "./big-block.ts";
import { type BlockHead, executedIn, headCall, readHead } from "./block.ts";
import type { FoundSlots, Slots } from "./slots.ts";
import type { ExecutedTransaction } from "./status.ts";

export interface BlockAccess {
  readonly rpc: RpcClient;
  readonly slots: Slots;
  /** Blocks that are read side by side. */
  readonly span: Span;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly bounds: ReadingBounds;
}

/** A reading ends with the blocks that reach one of these. */
export interface ReadingBounds {
  readonly bytes: number;
  /** Payments and irregularities that are kept until it is known who is watched. */
  readonly arrivals: number;
  readonly ms: number;
}

export const READING_BOUNDS: ReadingBounds = { bytes: 24_000_000, arrivals: 50_000, ms: 5_000 };
/** An `HttpExchange` has five requests on the wire. */
const SIDE_BY_SIDE = 4;

interface Found {
  readonly refs: BlockRef[];
  /** For anybody. */
  readonly arrivals: { readonly ref: BlockRef; readonly tx: ExecutedTransaction; readonly found: Arrivals }[];
  readonly cut: Cut;
  last: BlockHead | undefined;
}

/** How blocks of some slots are asked for, and what is done with each that fits. */
interface Reader {
  readonly rpc: RpcClient;
  readonly slots: Slots;
  ask(slots: readonly number[]): Promise<readonly RpcAnswer[]>;
  /** @throws MalformedAnswer */
  take(answer: unknown, ref: BlockRef, slot: number): void;
}

/** Ascending, linked; shorter when the node does not have them all. @throws ChainFault, MalformedAnswer */
export async function readHeaders(
  { rpc, slots }: Pick<BlockAccess, "rpc" | "slots">,
  from: number,
  to: number,
  cut: Cut,
): Promise<BlockRef[]> {
  const found: Found = { refs: [], arrivals: [], cut, last: undefined };
  const ask = async (listed: readonly number[]) => (await rpc.batch(listed.map(headCall))).answers;
  await readPiece({ rpc, slots, ask, take: () => {} }, from, to, found);
  return found.refs;
}

/** @throws ChainFault, MalformedAnswer */
export async function readBlocks(access: BlockAccess, from: number, to: number, interest: Interest): Promise<Reading> {
  const { rpc, slots, span, bounds } = access;
  const cut = new Cut();
  if (!interest.native && interest.contracts.size === 0) {
    const refs = await readHeaders(access, from, to, cut);
    return readingOf({ refs, arrivals: [], cut, last: undefined }, interest, rpc);
  }
  const found: Found = { refs: [], arrivals: [], cut, last: undefined };
  const startedAt = access.now();
  const startedBytes = rpc.bytesRead;
  let kept = 0;
  const reader: Reader = {
    rpc,
    slots,
    ask: (listed) => inParallel(SIDE_BY_SIDE, listed, (slot) => askBlock(rpc, slot, interest)),
    take(answer, ref, slot) {
      const arrivals = arrivalsIn(answer, slot, interest);
      for (const one of arrivals) found.arrivals.push({ ref, ...one });
      kept += arrivals.reduce((sum, { found: { credits, irregular } }) => sum + credits.length + irregular.length, 0);
    },
  };
  while (found.refs.length <= to - from && cut.stopped === null) {
    const next = from + found.refs.length;
    const last = Math.min(to, next + span.blocks - 1);
    const before = rpc.bytesRead;
    await readPiece(reader, next, last, found);
    span.answered(last - next + 1, rpc.bytesRead - before);
    const bytes = rpc.bytesRead - startedBytes;
    if (bytes >= bounds.bytes || kept >= bounds.arrivals || access.now() - startedAt >= bounds.ms) break;
  }
  return readingOf(found, interest, rpc);
}

/** Finds the slots of these heights, and reads and links their blocks; once more by a search when memory led astray. */
async function readPiece(reader: Reader, from: number, to: number, found: Found): Promise<void> {
  const { rpc, slots } = reader;
  let where = await slots.of(from, to);
  let answers = await reader.ask(where.slots);
  if (where.isRemembered && isAstray(where, answers, from)) {
    slots.forget();
    where = await slots.of(from, to);
    answers = await reader.ask(where.slots);
  }
  for (const [i, slot] of where.slots.entries()) {
    const answer = answers[i];
    if (answer === undefined || !accept(reader, from + i, slot, answer, found)) return;
  }
  const height = from + where.slots.length;
  if (height <= to) found.cut.at("not_known", height, `${rpc.name} does not show the slot of block ${height}`);
}

function isAstray({ slots }: FoundSlots, [first]: readonly RpcAnswer[], from: number): boolean {
  if (slots.length === 0) return true;
  if (first === undefined || !first.ok || first.result === null) return true;
  return (first.result as { readonly blockHeight?: unknown }).blockHeight !== from;
}

/** Whether reading goes on above. */
function accept({ rpc, slots, take }: Reader, height: number, slot: number, answer: RpcAnswer, found: Found): boolean {
  const { cut, refs } = found;
  if (!answer.ok && !isWithoutBlock(answer.failure)) throw faultOf(rpc, `block ${height}`, answer.failure);
  if (!answer.ok || answer.result === null) {
    const words = answer.ok ? "null" : `${answer.failure.message} (code ${answer.failure.code})`;
    cut.at("not_known", height, `${rpc.name}: block ${height} in slot ${slot}: ${words}`);
    return false;
  }
  try {
    const head = readHead(answer.result, slot);
    const ref = linked(rpc, head, height, found.last, cut);
    if (ref === null) return false;
    take(answer.result, ref, slot);
    refs.push(ref);
    found.last = head;
    slots.learn(height, slot);
    return true;
  } catch (error) {
    if (!(error instanceof MalformedAnswer)) throw error;
    cut.at("inconsistent", height, `${rpc.name}: block ${height}: ${rpc.clean(error.message)}`);
    return false;
  }
}

/** The block as a link of the chain; null, and a cut there, when it is not the one of this height or does not go on from the one before. */
function linked(
  rpc: RpcClient,
  head: BlockHead,
  height: number,
  before: BlockHead | undefined,
  cut: Cut,
): BlockRef | null {
  const { slot, hash, parentHash, parentSlot } = head;
  const where = `${rpc.name}: slot ${slot}`;
  if (head.height === null || (head.timestamp === null && height > 0)) {
    cut.at("not_known", height, `${where} has no height or no time any more`);
  } else if (head.height > height) {
    cut.at(
      "not_known",
      height,
      `${where} is listed for block ${height} and has block ${head.height}: one before is not listed`,
    );
  } else if (head.height < height || (parentSlot >= slot && height > 0)) {
    cut.at(
      "inconsistent",
      height,
      `${where} is listed for block ${height} and has block ${head.height} with parent slot ${parentSlot}`,
    );
  } else if (before !== undefined && (parentHash !== before.hash || parentSlot !== before.slot)) {
    const named = `${parentHash} in slot ${parentSlot}`;
    cut.at(
      "inconsistent",
      height,
      `${where}: block ${height} names parent ${named}, block ${height - 1} is ${before.hash} in ${before.slot}`,
    );
  } else {
    return { height, hash, parentHash, timestamp: head.timestamp ?? 0 };
  }
  return null;
}

interface TransactionArrivals {
  readonly tx: ExecutedTransaction;
  readonly found: Arrivals;
}

function arrivalsIn(answer: unknown, slot: number, interest: Interest): TransactionArrivals[] {
  const all: TransactionArrivals[] = [];
  for (const tx of executedIn(answer, slot)) {
    const found = arrivalsOf(tx, interest);
    if (found.credits.length + found.irregular.length > 0) all.push({ tx, found });
  }
  return all;
}

function readingOf({ refs, arrivals, cut }: Found, interest: Interest, rpc: RpcClient): Reading {
  const credits = arrivals.flatMap(({ ref, tx, found }) => found.credits.map((credit) => ({ ...credit, ref, tx })));
  const irregular = arrivals.flatMap(({ ref, tx, found }) => found.irregular.map((one) => ({ ...one, ref, tx })));
  const receivers = new Set([...credits, ...irregular].map(({ address }) => address));
  const watched = receivers.size === 0 ? receivers : interest.watched(receivers);
  const counted = credits.filter(({ address }) => watched.has(address));
  const odd = irregular.filter(({ address }) => watched.has(address));
  for (const { tx, address, asset, expected, arrived, ref } of odd) {
    const evidence = {
      height: ref.height,
      tx_id: tx.txId,
      address,
      asset,
      expected: String(expected),
      arrived: String(arrived),
    };
    log("warn", "irregular_payment", { node: rpc.name, ...evidence });
  }
  return {
    blocks: refs,
    transfers: counted.map(
      ({ tx, transferIndex, address, asset, amountUnits, ref }): Transfer => ({
        txId: tx.txId,
        transferIndex,
        address,
        asset,
        amountUnits,
        height: ref.height,
        blockHash: ref.hash,
      }),
    ),
    stopped: cut.stopped,
    internal: "off",
    shortTransfers: counted.filter(({ isShort }) => isShort).length,
    unweighedTransfers: 0,
    irregularLogs: odd.length,
  };
}
