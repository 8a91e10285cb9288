/**
 * Headers of consecutive heights from one node, each the parent of the next. The list ends before the first
 * height that the node does not have or whose link is broken.
 */

import type { Cut } from "../cut.ts";
import type { BlockRef } from "../port.ts";
import type { RpcAnswer, RpcCall } from "../rpc/client.ts";
import { inParallel } from "../rpc/parallel.ts";
import { isUnknownBlock } from "../rpc/rpc-failure.ts";
import { type NodeAccess, PARALLEL_REQUESTS, takeAhead } from "./access.ts";
import { toQuantity } from "./parse.ts";
import { type Block, parseBlock } from "./records.ts";

export interface HeaderRange {
  readonly from: number;
  readonly to: number;
  /** With whole transactions, not their hashes alone. */
  readonly full: boolean;
}

/**
 * @param keep what to keep of each block, so that a long range does not hold what it does not need.
 * @throws ChainFault, MalformedAnswer
 */
export async function readChain<Kept extends { readonly ref: BlockRef }>(
  access: NodeAccess,
  range: HeaderRange,
  cut: Cut,
  keep: (block: Block) => Kept,
): Promise<Kept[]> {
  const kept = new Map<number, Kept>();
  const readPiece = async (from: number, to: number) => {
    for (const block of await readPieceOf(access, { ...range, from, to }, cut)) kept.set(block.ref.height, keep(block));
  };
  const span = range.full ? access.headerSpan.full : access.headerSpan.hashes;
  // Pieces are cut while others are under way: what their answers taught counts at once.
  let next = range.from;
  const worker = async () => {
    while (next <= range.to && cut.keeps(next)) {
      const from = next;
      const to = Math.min(range.to, from + span.blocks - 1);
      next = to + 1;
      await readPiece(from, to);
    }
  };
  await inParallel(
    PARALLEL_REQUESTS,
    Array.from({ length: PARALLEL_REQUESTS }, () => worker),
    (run) => run(),
  );
  return linked(kept, range, cut);
}

export function blockCall(height: number, full: boolean): RpcCall {
  return { method: "eth_getBlockByNumber", params: [toQuantity(height), full] };
}

async function readPieceOf(access: NodeAccess, range: HeaderRange, cut: Cut): Promise<Block[]> {
  const { from, to, full } = range;
  const ahead = takeAhead(access, from, full);
  const first = ahead === null ? from : from + 1;
  const calls = Array.from({ length: to - first + 1 }, (_, i) => blockCall(first + i, full));
  const { answers: asked, bytes } = await access.rpc.batch(calls);
  if (calls.length > 0) (full ? access.headerSpan.full : access.headerSpan.hashes).answered(calls.length, bytes);
  const answers: RpcAnswer[] = [...(ahead === null ? [] : [{ ok: true as const, result: ahead.block }]), ...asked];
  const blocks: Block[] = [];
  for (const [i, answer] of answers.entries()) {
    const height = from + i;
    if (!answer.ok && !isUnknownBlock(answer.failure)) throw access.rpc.fault(`block ${height}`, answer.failure);
    if (!answer.ok || answer.result === null) {
      cut.at("not_known", height, `${access.rpc.name} does not have block ${height}`);
      break;
    }
    const block = parseBlock(answer.result, full);
    if (block.ref.height !== height) {
      cut.at("inconsistent", height, `${access.rpc.name} was asked for block ${height} and gave ${block.ref.height}`);
      break;
    }
    blocks.push(block);
  }
  return blocks;
}

function linked<Kept extends { readonly ref: BlockRef }>(
  kept: ReadonlyMap<number, Kept>,
  range: HeaderRange,
  cut: Cut,
): Kept[] {
  const chain: Kept[] = [];
  for (let height = range.from; height <= range.to && cut.keeps(height); height++) {
    const entry = kept.get(height);
    if (entry === undefined) throw new Error(`block ${height} was neither read nor left out`);
    const parent = chain.at(-1);
    if (parent && entry.ref.parentHash !== parent.ref.hash) {
      const detail = `block ${height} names parent ${entry.ref.parentHash}, block ${height - 1} is ${parent.ref.hash}`;
      cut.at("inconsistent", height, detail);
      break;
    }
    chain.push(entry);
  }
  return chain;
}
