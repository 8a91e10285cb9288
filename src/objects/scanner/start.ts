/**
 * Starts reading a network at its head. Heights before the first watch are nobody's business; headers of up
 * to one window are fetched so that a reorganisation right after the start can be followed.
 */

import { type ChainNode, type ChainTip, MAX_BLOCKS_PER_RANGE } from "../../chains/port.ts";
import { brokenLink } from "../../core/window.ts";
import { deleteAllBlocks, insertBlocks, updateState } from "../../store/scanner/state-store.ts";
import { takeTransfersAbove } from "../../store/scanner/transfer-store.ts";
import { anyoneWaits } from "../../store/scanner/watch-store.ts";
import { type ScannerContext, stateOf } from "./context.ts";

/** @returns the height read to, or null when this node cannot show a linked window. @throws ChainFault */
export async function startAtHead(s: ScannerContext, node: ChainNode, tip: ChainTip): Promise<number | null> {
  const { version } = stateOf(s);
  const height = tip.head.height;
  // One range of headers: a longer window fills up with the blocks that are read from now on.
  const from = Math.max(0, height - Math.min(s.network.reorgWindow, MAX_BLOCKS_PER_RANGE - 1));
  const headers = await node.headers(from, height);
  const lowest = headers[0];
  const last = headers.at(-1);
  if (lowest === undefined || last === undefined || lowest.height !== from || last.height !== height) return null;
  if (brokenLink(lowest, headers.slice(1)) !== -1) return null;

  // Somebody may have started, or begun to wait, while the node answered.
  const state = stateOf(s);
  if (state.version !== version || anyoneWaits(s.db)) return state.scannedTo;
  s.storage.transactionSync(() => {
    deleteAllBlocks(s.db);
    takeTransfersAbove(s.db, -1);
    insertBlocks(s.db, headers);
    updateState(s.db, {
      version: state.version + 1,
      claimedVersion: state.version + 1,
      scannedTo: height,
      windowFrom: from + 1,
      finalized: Math.max(state.finalized, Math.min(tip.finalized?.height ?? -1, height)),
    });
  });
  return height;
}
