/**
 * Follows a reorganisation. Proof is links from one node: the branch is read from the block both sides
 * share up to a height above our tip, each block the parent of the next, and replaces ours in one commit.
 * A shorter branch proves nothing, one as high as ours only where even-branch.ts says so; one that leaves below the
 * window is not followed.
 */

import type { BlockRef, ChainNode, ChainTip, Reading } from "../../chains/port.ts";
import { MAX_BLOCKS_PER_READ } from "../../chains/port.ts";
import { commonAncestor } from "../../core/window.ts";
import { blockAt, blocksFrom } from "../../store/scanner/state-store.ts";
import { holdsInternalAbove } from "../../store/scanner/transfer-store.ts";
import { type ScannerContext, stateOf } from "./context.ts";
import { type Extended, replaceBranch } from "./extend.ts";
import { interestOf } from "./interest.ts";

/** Nearly all forks are short: a few headers are looked at first, then many. */
const FIRST_HEADERS = 8;
const HEADERS_PER_STEP = 128;

export type Followed =
  | Extended
  /** The branch could not be read whole, or is not what the node shows any more. Nothing was written. */
  | { readonly kind: "unproven"; readonly detail: string }
  /** The branch leaves our chain below the window. */
  | { readonly kind: "deep"; readonly below: number };

/** @param tip above ours, or as high: then the caller has found that this is enough. @throws ChainFault */
export async function followFork(s: ScannerContext, node: ChainNode, tip: ChainTip): Promise<Followed> {
  const { version, scannedTo, windowFrom, finalized: finalTo } = stateOf(s);
  if (scannedTo === null || windowFrom === null || tip.head.height < scannedTo) return { kind: "stale" };
  const isEven = tip.head.height === scannedTo;
  const lowest = Math.max(0, windowFrom - 1);
  const found = await findAncestor(s, node, lowest, scannedTo);
  if (found === "unproven") return { kind: "unproven", detail: "the node does not show its own headers" };
  if (found === null && isEven) return { kind: "unproven", detail: "it leaves below the window, and is not longer" };
  if (found === null) return { kind: "deep", below: lowest };
  if (isEven && found.height < finalTo)
    return { kind: "unproven", detail: "it leaves below what is final, and is not longer" };

  const interest = interestOf(s, null);
  const readings: Reading[] = [];
  let parent: BlockRef = found;
  // One block above our tip is proof; what follows after it is read as ordinary new blocks.
  const proof = isEven ? scannedTo : scannedTo + 1;
  while (parent.height < proof) {
    const to = Math.min(parent.height + MAX_BLOCKS_PER_READ, tip.head.height);
    const reading = await node.readBlocks(parent.height + 1, to, interest);
    const first = reading.blocks[0];
    const last = reading.blocks.at(-1);
    if (first === undefined || last === undefined || first.parentHash !== parent.hash) {
      return { kind: "unproven", detail: reading.stopped?.detail ?? `block ${parent.height + 1} is of a third branch` };
    }
    readings.push(reading);
    parent = last;
  }
  // A node with two backends shows both branches in turn; one that has changed its mind stays with it.
  if (isEven && (parent.hash !== tip.head.hash || (await node.tip()).head.hash !== parent.hash)) {
    return { kind: "unproven", detail: `it showed ${tip.head.hash} as its head, and then another block` };
  }
  // Without traces what contracts sent would look as if it were gone.
  if (readings.some(({ internal }) => internal === "untraced") && holdsInternalAbove(s.db, found.height)) {
    return { kind: "unproven", detail: "it has no traces of blocks in which coins sent by contracts may stand" };
  }
  const finalized = tip.finalized !== null && tip.finalized.height <= found.height ? tip.finalized : null;
  return replaceBranch(s, version, found, readings, finalized);
}

async function findAncestor(
  s: ScannerContext,
  node: ChainNode,
  lowest: number,
  highest: number,
): Promise<BlockRef | null | "unproven"> {
  let count = FIRST_HEADERS;
  for (let to = highest; to >= lowest; to -= count, count = HEADERS_PER_STEP) {
    const from = Math.max(lowest, to - count + 1);
    const theirs = await node.headers(from, to);
    if (theirs.length !== to - from + 1) return "unproven";
    const ours = new Map(blocksFrom(s.db, from, HEADERS_PER_STEP).map((block) => [block.height, block.hash]));
    const shared = commonAncestor(ours, theirs);
    if (shared !== null) return blockAt(s.db, shared.height) ?? null;
  }
  return null;
}
