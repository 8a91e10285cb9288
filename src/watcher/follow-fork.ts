/**
 * Follows a reorganisation. Proof is links from one node: the branch is read from the block both sides share up to
 * a height above our tip, and replaces ours whole. A branch that is not longer proves nothing; one that leaves
 * below the window is not followed.
 */

import {
  ChainFault,
  type ChainNode,
  type ChainTip,
  type Interest,
  MAX_BLOCKS_PER_READ,
  type Reading,
} from "../chains/port.ts";
import { commonAncestor, type Link } from "../core/window.ts";
import { hashAt, type ReadChain, readTo } from "./book.ts";
import { DeepReorganisation, type Turn } from "./turn.ts";

const HEADERS_PER_STEP = 128;

/** @throws ChainFault, DeepReorganisation */
export async function followFork(
  turn: Turn,
  node: ChainNode,
  tip: ChainTip,
  { contracts, native, internal }: Interest,
): Promise<"advanced" | "doubtful"> {
  const { draft } = turn;
  const chain = draft.chain;
  if (chain === null) throw new Error("a fork is followed from a chain");
  const found = await findAncestor(chain, node);
  if (found === "unproven") return doubt(turn, node, "it does not show its own headers");
  if (found === null) return sightDeepFork(turn, node, chain);

  const interest = { contracts, native, internal, watched: draft.watchedFrom(found.height + 1) };
  const readings: Reading[] = [];
  let parent: Link = found;
  // One block above our tip is proof; what follows after it is read as ordinary new blocks.
  while (parent.height <= readTo(chain)) {
    const to = Math.min(parent.height + MAX_BLOCKS_PER_READ, tip.head.height);
    const reading = await node.readBlocks(parent.height + 1, to, interest);
    const [first] = reading.blocks;
    const last = reading.blocks.at(-1);
    if (first === undefined || last === undefined || first.parentHash !== parent.hash) {
      return doubt(turn, node, reading.stopped?.detail ?? `block ${parent.height + 1} is of a third branch`);
    }
    readings.push(reading);
    parent = last;
  }
  // Coins sent by contracts would seem to be gone, for want of traces.
  if (readings.some((reading) => reading.internal === "untraced") && draft.holdsInternalAbove(found.height))
    return doubt(turn, node, "it has no traces of blocks in which coins sent by contracts may have moved");
  const finalized = tip.finalized !== null && tip.finalized.height <= found.height ? tip.finalized : null;
  draft.replace(found, readings, finalized);
  turn.blocksLeft -= parent.height - found.height;
  turn.internal = readings.at(-1)?.internal ?? null;
  return "advanced";
}

async function findAncestor(chain: ReadChain, node: ChainNode): Promise<Link | null | "unproven"> {
  const lowest = chain.windowFrom - 1;
  for (let to = readTo(chain); to >= lowest; to -= HEADERS_PER_STEP) {
    const from = Math.max(lowest, to - HEADERS_PER_STEP + 1);
    const theirs = await node.headers(from, to);
    if (theirs.length !== to - from + 1) return "unproven";
    const ours = new Map(theirs.map(({ height }) => [height, hashAt(chain, height) ?? ""]));
    const shared = commonAncestor(ours, theirs);
    if (shared !== null) return shared;
  }
  return null;
}

/** One node may be on a fork of its own: where others are configured, one of them must lack our block as well. */
async function sightDeepFork(turn: Turn, node: ChainNode, chain: ReadChain): Promise<"doubtful"> {
  const below = chain.windowFrom - 1;
  const ours = hashAt(chain, below) ?? "";
  const others = turn.candidates.filter((other) => other !== node);
  let isConfirmed = others.length === 0;
  for (const other of others) {
    const theirs = await headerOf(other, below);
    if (theirs === null) continue;
    if (theirs.hash === ours) return doubt(turn, node, `it lacks block ${ours}, which ${other.name} has`);
    isConfirmed = true;
  }
  if (!isConfirmed) return doubt(turn, node, `it lacks block ${ours} below the window, and no other provider answers`);
  throw new DeepReorganisation({ network: turn.network.id, below, ours, reorgDepth: turn.reorgDepth }, node.name);
}

async function headerOf(node: ChainNode, height: number): Promise<Link | null> {
  try {
    const [header] = await node.headers(height, height);
    return header ?? null;
  } catch (error) {
    if (error instanceof ChainFault) return null;
    throw error;
  }
}

function doubt(turn: Turn, node: ChainNode, detail: string): "doubtful" {
  turn.detail = `${node.name}: another branch is not proven: ${detail}`;
  return "doubtful";
}
