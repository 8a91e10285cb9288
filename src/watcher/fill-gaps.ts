/**
 * Reads the past of addresses that were added with a start height, a stretch at a time, lowest first. Below the
 * window blocks are final; inside it a block is used only when it is the very one of our own chain.
 */

import { ChainFault, type ChainNode, MAX_BLOCKS_PER_RANGE, MAX_BLOCKS_PER_READ, type Reading } from "../chains/port.ts";
import { hashAt, type ReadChain, readTo } from "./book.ts";
import { interestOf } from "./read-chain.ts";
import type { Turn } from "./turn.ts";
import { nextStretch } from "./watches.ts";

/** @throws ChainFault when no provider shows the next stretch and this poll has nothing else to tell */
export async function fillGaps(turn: Turn): Promise<void> {
  while (turn.blocksLeft > 0 && turn.draft.gaps.length > 0) {
    if (!(await fillNext(turn))) {
      if (turn.hasAdvanced) return;
      const { id } = turn.network;
      throw new ChainFault(`${id}: no provider shows the past: ${turn.detail}`, true, id);
    }
    turn.hasAdvanced = true;
  }
}

async function fillNext(turn: Turn): Promise<boolean> {
  for (const node of turn.candidates) {
    try {
      const reading = await readStretch(turn, node);
      if (reading === null) continue;
      turn.draft.fill(reading);
      turn.blocksLeft -= reading.blocks.length;
      return true;
    } catch (error) {
      if (!(error instanceof ChainFault)) throw error;
      turn.detail = error.message;
    }
  }
  return false;
}

async function readStretch(turn: Turn, node: ChainNode): Promise<Reading | null> {
  const { chain, gaps } = turn.draft;
  const stretch = nextStretch(gaps);
  if (chain === null || stretch === null) throw new Error("there is no gap to fill");
  const { from } = stretch;
  const isFinal = from < chain.windowFrom;
  const most = Math.min(turn.blocksLeft, isFinal ? MAX_BLOCKS_PER_RANGE : MAX_BLOCKS_PER_READ);
  const to = Math.min(stretch.to, isFinal ? chain.windowFrom - 1 : readTo(chain), from + most - 1);
  const asking = new Set(gaps.filter((gap) => gap.from <= to).map(({ address }) => address));
  const interest = interestOf(turn, (addresses) => new Set([...addresses].filter((address) => asking.has(address))));
  // Nothing links a stretch far below to our own chain, and a node left behind on a branch that died shows one as well.
  if (isFinal && !(await hasOurBase(node, chain))) return unlike(turn, node);
  const reading = isFinal ? await node.readRange(from, to, interest) : await node.readBlocks(from, to, interest);
  if (reading.blocks.length === 0) {
    turn.detail = `${node.name}: ${reading.stopped?.detail ?? "nothing was read"}`;
    return null;
  }
  if (!agrees(chain, reading) || (isFinal && !(await hasOurBase(node, chain)))) return unlike(turn, node);
  return reading;
}

function unlike(turn: Turn, node: ChainNode): null {
  turn.detail = `${node.name}: what it shows does not meet our own chain`;
  return null;
}

/** Whether the node has the block below our window, and so all that lies under it. */
async function hasOurBase(node: ChainNode, chain: ReadChain): Promise<boolean> {
  const base = chain.windowFrom - 1;
  const [theirs] = await node.headers(base, base);
  return theirs !== undefined && theirs.hash === hashAt(chain, base);
}

/** Every block whose hash we hold at these heights must be the node's. */
function agrees(chain: ReadChain, { blocks }: Reading): boolean {
  return blocks.every((block) => (hashAt(chain, block.height) ?? block.hash) === block.hash);
}
