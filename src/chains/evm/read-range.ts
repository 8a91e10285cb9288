/**
 * Reading far behind the head: headers in batches, one filtered log query per range, and receipts only of
 * transactions that pay somebody watched. Headers still hold everything together: each is linked to the next,
 * every log names its block's hash, and a block whose bloom contradicts the answer is read through its receipts.
 */

import { TRANSFER_TOPIC } from "../../core/transfer-log.ts";
import { Cut } from "../cut.ts";
import type { BlockRef, Interest, Reading } from "../port.ts";
import { MAX_BATCH } from "../rpc/client.ts";
import { chunked, inParallel } from "../rpc/parallel.ts";
import { type NodeAccess, PARALLEL_REQUESTS, paceOf } from "./access.ts";
import { weighRange } from "./arrivals.ts";
import { keepListed } from "./block-evidence.ts";
import { bloomMayHold, bloomMayHoldTransfer } from "./bloom.ts";
import { readChain } from "./headers.ts";
import { readInternal } from "./internal.ts";
import { type LogRange, type RangeHeader, readLogRange } from "./log-range.ts";
import { BLOCK_RECEIPTS, blockReceipts, provenReceiptsOf, receiptsOf } from "./receipts.ts";
import type { Log, NativePayment } from "./records.ts";
import { readingOf, settle } from "./settle.ts";
import { factsOf, type TxFacts } from "./tx-facts.ts";

/** Blocks read through their receipts in one go: a busy block has a megabyte of them. */
const BLOCKS_PER_RECEIPT_BATCH = 4;
/** From this many wanted transactions on, all receipts of a block are cheaper than each of them. */
const WORTH_WHOLE_BLOCK = 8;

interface RangeBlock extends RangeHeader {
  readonly payments: readonly NativePayment[];
  /** Empty unless traces are asked for. */
  readonly txHashes: readonly string[];
}

/**
 * As much of the range as this node is read in one go. @throws ChainFault, MalformedAnswer
 */
export async function readRange(access: NodeAccess, from: number, to: number, interest: Interest): Promise<Reading> {
  const pace = paceOf(access, interest);
  // What is in doubt is asked again for little, not with two thousand blocks behind it.
  const blocks = access.doubtedHeight === from ? 1 : Math.min(pace.blocks, to - from + 1);
  access.doubtedHeight = null;
  const [startedAt, bytesBefore] = [access.now(), access.rpc.bytesRead];
  try {
    const reading = await readAll(access, from, from + blocks - 1, interest);
    // One that was cut short is no measure.
    if (reading.stopped === null) pace.took(blocks, access.now() - startedAt, access.rpc.bytesRead - bytesBefore);
    return reading;
  } catch (error) {
    pace.failed(blocks);
    throw error;
  }
}

async function readAll(access: NodeAccess, from: number, to: number, interest: Interest): Promise<Reading> {
  const cut = new Cut();
  const { contracts } = interest;
  const blocks = await readChain(access, { from, to, full: interest.native }, cut, (block): RangeBlock => {
    const { ref, bloom, payments } = block;
    return { ref, bloom, payments, txHashes: interest.internal ? block.txHashes : [] };
  });
  const facts = new Map<string, TxFacts>();
  const range = { access, headers: blocks, contracts, facts, cut };
  const logs = await readLogRange(range);
  await rereadContradicted(range, logs);
  const internal = interest.internal ? await readInternal(access, blocks, true, cut) : null;
  const findings = {
    refs: blocks.map((block) => block.ref),
    logs: blocks.flatMap((block) => logs.get(block.ref.height) ?? []),
    payments: blocks.flatMap((block) => block.payments.map((payment) => ({ ...payment, height: block.ref.height }))),
    internal: internal?.payments ?? [],
    facts,
    traced: internal?.traced ?? ("off" as const),
  };
  const transfers = await settle(findings, interest, (wanted) => fetchFacts(range, wanted), cut);
  return readingOf(findings, await weighRange(access, { ...findings, transfers, cut }), cut);
}

/**
 * Header and answer contradict each other: the bloom could hold a listed Transfer and no log came, or a log
 * came that the bloom denies. The receipts decide, and replace what the range answered.
 */
async function rereadContradicted(range: LogRange, logs: Map<number, Log[]>): Promise<void> {
  const { access, contracts, cut, facts } = range;
  const suspects = range.headers.filter(({ ref, bloom }) => {
    const found = logs.get(ref.height);
    if (found === undefined) return bloomMayHoldTransfer(bloom, contracts);
    return !bloomMayHold(bloom, TRANSFER_TOPIC) || found.some((log) => !bloomMayHold(bloom, log.address));
  });
  const groups = chunked(suspects, BLOCKS_PER_RECEIPT_BATCH);
  await inParallel(PARALLEL_REQUESTS, groups, async (group) => {
    const refs = group.map(({ ref }) => ref).filter((ref) => cut.keeps(ref.height));
    for (const [height, receipts] of await provenReceiptsOf(access, refs, cut)) {
      const listed = receipts.filter((receipt) => factsOf(receipt, contracts).transfers.size > 0);
      logs.set(height, keepListed(listed, contracts, facts));
    }
  });
}

async function fetchFacts(range: LogRange, wanted: ReadonlyMap<number, readonly string[]>): Promise<void> {
  const refs = new Map(range.headers.map(({ ref }) => [ref.height, ref]));
  const whole: BlockRef[] = [];
  const single: { ref: BlockRef; txHash: string }[] = [];
  for (const [height, txHashes] of wanted) {
    const ref = refs.get(height);
    if (ref === undefined) throw new Error(`height ${height} is outside the range that was read`);
    if (txHashes.length >= WORTH_WHOLE_BLOCK && !range.access.missing.has(BLOCK_RECEIPTS)) whole.push(ref);
    else single.push(...txHashes.map((txHash) => ({ ref, txHash })));
  }
  await inParallel(PARALLEL_REQUESTS, chunked(whole, BLOCKS_PER_RECEIPT_BATCH), async (group) => {
    single.push(...(await factsOfBlocks(range, group, wanted)));
  });
  await inParallel(PARALLEL_REQUESTS, chunked(single, MAX_BATCH), async (group) => {
    const kept = group.filter(({ ref }) => range.cut.keeps(ref.height));
    for (const receipt of await receiptsOf(range.access, kept, range.cut)) {
      range.facts.set(receipt.txHash, factsOf(receipt, range.contracts));
    }
  });
}

/** Facts of the wanted transactions of these blocks; gives back those to be asked for singly. */
async function factsOfBlocks(
  range: LogRange,
  refs: readonly BlockRef[],
  wanted: ReadonlyMap<number, readonly string[]>,
): Promise<{ ref: BlockRef; txHash: string }[]> {
  const kept = refs.map((ref) => ({ ref })).filter(({ ref }) => range.cut.keeps(ref.height));
  const given = await blockReceipts(range.access, kept, range.cut);
  const left: { ref: BlockRef; txHash: string }[] = [];
  for (const { ref } of kept) {
    const own = (given.get(ref.height) ?? []).filter((receipt) => receipt.blockHash === ref.hash);
    const byHash = new Map(own.map((receipt) => [receipt.txHash, receipt]));
    for (const txHash of wanted.get(ref.height) ?? []) {
      const receipt = byHash.get(txHash);
      if (receipt) range.facts.set(txHash, factsOf(receipt, range.contracts));
      else left.push({ ref, txHash });
    }
  }
  return left;
}
