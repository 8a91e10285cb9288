/**
 * Whether another branch as high as ours may be followed. On EVM chains it is not length that decides: validators
 * or a sequencer replace a block by another one at its height, and on a chain that rests no longer branch ever comes.
 *
 * What looks the same is a provider with two backends on two branches, and two providers on one each. So the branch
 * counts only when no other provider still has our block in its place, when the one that shows it is the one that our
 * tip was read from or all others could be asked, and when, read whole, it is still that provider's head afterwards
 * (fork.ts). At one height it happens once: whoever flips all the same takes back a payment once for each
 * block that comes, not with every poll.
 */

import { type BlockRef, ChainFault, type ChainNode, type ChainTip } from "../../chains/port.ts";
import { blockAt } from "../../store/scanner/state-store.ts";
import { type ScannerContext, stateOf } from "./context.ts";

/** Asks nobody as long as the head is our own tip. @param candidates all providers, in the order of asking */
export async function mayFollowEven(
  s: ScannerContext,
  node: ChainNode,
  { head }: ChainTip,
  candidates: readonly ChainNode[],
): Promise<boolean> {
  // On Bitcoin the work decides, and nobody is to go back on a block for one that has no more of it.
  if (s.network.family !== "evm") return false;
  const { scannedTo } = stateOf(s);
  const ours = scannedTo === null ? undefined : blockAt(s.db, scannedTo);
  if (ours === undefined || head.height !== ours.height || head.hash === ours.hash) return false;
  const { tipFrom, evenAt } = s.memory;
  if (evenAt === ours.height) return false;
  const others = candidates.filter((other) => other !== node);
  // With nobody to ask there is its own word alone. A start has forgotten what was followed at this height before it.
  if (others.length === 0 && tipFrom !== node) return false;
  const shown = await Promise.all(others.map((other) => headerOf(other, ours.height)));
  // Our own source may speak while others cannot; from another one we would only hear that it never had our block.
  return shown.every((header) => (header === undefined ? tipFrom === node : header.hash !== ours.hash));
}

async function headerOf(node: ChainNode, height: number): Promise<BlockRef | undefined> {
  try {
    return (await node.headers(height, height))[0];
  } catch (error) {
    if (error instanceof ChainFault) return undefined;
    throw error;
  }
}
