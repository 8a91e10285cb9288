/**
 * Reading blocks, near the head and far behind it alike: every one whole, as raw bytes that prove themselves. As much
 * is read in one go as memory and time allow, which on the main chain is a few blocks, and then the reading ends.
 */

import { addressOfScript } from "../../core/bitcoin-address.ts";
import type { BitcoinAddressForm } from "../../core/network.ts";
import { NATIVE, type Transfer } from "../../core/transfer.ts";
import { Cut } from "../cut.ts";
import type { BlockRef, Interest, Reading } from "../port.ts";
import type { RpcClient } from "../rpc/client.ts";
import { MalformedAnswer } from "../rpc/malformed.ts";
import { isUnknownBlock } from "../rpc/rpc-failure.ts";
import type { Span } from "../span.ts";
import { faultOf } from "./answers.ts";
import { type BitcoinBlock, readRawBlock, statedHeight } from "./block.ts";
import { blockHashes, type HeaderAccess, linkedRef, readHeaders } from "./headers.ts";

export interface BlockAccess extends HeaderAccess {
  readonly form: BitcoinAddressForm;
  /** Blocks in one request. */
  readonly span: Span;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly bounds: ReadingBounds;
}

/** A reading ends with the request that reaches one of these. */
export interface ReadingBounds {
  /** Of answers, which are hex: half of it in bytes of blocks. */
  readonly bytes: number;
  /** Outputs that are kept until it is known who is watched. */
  readonly outputs: number;
  readonly ms: number;
}

export const READING_BOUNDS: ReadingBounds = { bytes: 24_000_000, outputs: 50_000, ms: 5_000 };
/**
 * The depth at which the network lets a reward be spent. The block itself is the first, and Core's wallet calls a reward
 * mature when 100 blocks stand on it (`COINBASE_MATURITY`).
 */
const COINBASE_DEPTH = 101;

/** @throws ChainFault */
export async function readBlocks(access: BlockAccess, from: number, to: number, interest: Interest): Promise<Reading> {
  const cut = new Cut();
  if (!interest.native) return readingOf(await readHeaders(access, from, to, cut), [], cut);
  const refs: BlockRef[] = [];
  const paid: Transfer[] = [];
  const startedAt = access.now();
  let bytes = 0;
  while (refs.length <= to - from && cut.stopped === null) {
    const next = from + refs.length;
    const last = Math.min(to, next + access.span.blocks - 1);
    bytes += await readPiece(access, next, last, { refs, paid, cut });
    const { bounds } = access;
    if (bytes >= bounds.bytes || paid.length >= bounds.outputs || access.now() - startedAt >= bounds.ms) break;
  }
  const receivers = new Set(paid.map(({ address }) => address));
  const watched = receivers.size === 0 ? receivers : interest.watched(receivers);
  const transfers = paid.filter(({ address }) => watched.has(address));
  return readingOf(refs, transfers, cut);
}

interface Found {
  readonly refs: BlockRef[];
  /** To anybody. */
  readonly paid: Transfer[];
  readonly cut: Cut;
}

/** @returns the size of what came */
async function readPiece(access: BlockAccess, from: number, to: number, found: Found): Promise<number> {
  const { rpc, span, form } = access;
  const { refs, paid, cut } = found;
  const hashes = await blockHashes(rpc, from, to, cut);
  const { answers, bytes } = await rpc.batch(hashes.map((hash) => ({ method: "getblock", params: [hash, 0] })));
  if (hashes.length > 0) span.answered(hashes.length, bytes);
  for (const [i, answer] of answers.entries()) {
    const height = from + i;
    if (!answer.ok && !isUnknownBlock(answer.failure)) throw faultOf(rpc, `block ${height}`, answer.failure);
    if (!answer.ok) {
      // Not yet downloaded, or deleted by a node that prunes.
      cut.at("not_known", height, `${rpc.name}: block ${height}: ${answer.failure.message}`);
      break;
    }
    const block = readOrCut(rpc, answer.result, height, cut);
    if (block === null) break;
    const ref = linkedRef(access, block.header, { height, hash: hashes[i] ?? "" }, refs.at(-1), cut);
    if (ref === null) break;
    refs.push(ref);
    for (const transfer of paymentsIn(block, ref, form)) paid.push(transfer);
  }
  return bytes;
}

/** Null, and a cut there, when the bytes do not prove themselves or are another height's. */
function readOrCut(rpc: RpcClient, raw: unknown, height: number, cut: Cut): BitcoinBlock | null {
  try {
    const block = readRawBlock(raw);
    const stated = statedHeight(block);
    if (stated === null || stated === height) return block;
    cut.at("inconsistent", height, `${rpc.name} was asked for block ${height} and gave block ${stated}`);
  } catch (error) {
    if (!(error instanceof MalformedAnswer)) throw error;
    cut.at("inconsistent", height, `${rpc.name}: block ${height}: ${rpc.clean(error.message)}`);
  }
  return null;
}

/** Every output that an address receives. */
function* paymentsIn(
  { transactions }: BitcoinBlock,
  { height, hash }: BlockRef,
  form: BitcoinAddressForm,
): Generator<Transfer> {
  for (const [place, { txId, outputs }] of transactions.entries()) {
    // The first one makes new coins; that it is alone was proven with the block.
    const maturity = place === 0 ? { leastDepth: COINBASE_DEPTH } : {};
    for (const [vout, { amountUnits, script }] of outputs.entries()) {
      const address = amountUnits > 0n ? addressOfScript(form, script) : null;
      if (address === null) continue;
      const key = { txId, transferIndex: `out:${vout}` };
      yield { ...key, address, asset: NATIVE, amountUnits, height, blockHash: hash, ...maturity };
    }
  }
}

function readingOf(blocks: readonly BlockRef[], transfers: readonly Transfer[], cut: Cut): Reading {
  return {
    blocks,
    transfers,
    stopped: cut.stopped,
    internal: "off",
    shortTransfers: 0,
    unweighedTransfers: 0,
    irregularLogs: 0,
  };
}
