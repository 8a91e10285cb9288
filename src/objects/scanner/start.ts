/**
 * Starts reading a network at its head. Heights before the first watch are nobody's business; the headers of
 * one window are fetched so that a reorganisation right after the start can be followed.
 */

import { type BlockRef, type ChainNode, type ChainTip, MAX_BLOCKS_PER_RANGE } from "../../chains/port.ts";
import { brokenLink } from "../../core/window.ts";
import { deleteAllBlocks, insertBlocks, updateState } from "../../store/scanner/state-store.ts";
import { takeTransfersAbove } from "../../store/scanner/transfer-store.ts";
import { isActive } from "./active.ts";
import { type ScannerContext, stateOf } from "./context.ts";

/** Bounds the headers of a start; a chain whose tag lags further behind is not started. */
const MAX_START_WINDOW = 32_768;

/** @returns the height read to, or null when this node cannot show a linked window. @throws ChainFault */
export async function startAtHead(s: ScannerContext, node: ChainNode, tip: ChainTip): Promise<number | null> {
  const { version } = stateOf(s);
  const height = tip.head.height;
  // What the chain itself does not call final yet is inside the window, also while its tag stands still.
  const notFinal = s.network.finality === "tag" && tip.finalized !== null ? height - tip.finalized.height : 0;
  const length = Math.min(Math.max(s.network.reorgWindow, notFinal), MAX_START_WINDOW);
  const from = Math.max(0, height - length);
  const headers = await allHeaders(node, from, height);
  const lowest = headers[0];
  const last = headers.at(-1);
  if (lowest === undefined || last === undefined || lowest.height !== from || last.height !== height) return null;
  if (brokenLink(lowest, headers.slice(1)) !== -1) return null;

  // Somebody may have started, or begun to wait, while the node answered.
  const state = stateOf(s);
  if (state.version !== version || isActive(s)) return state.scannedTo;
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
  s.memory.tipFrom = node;
  return height;
}

async function allHeaders(node: ChainNode, from: number, to: number): Promise<BlockRef[]> {
  const headers: BlockRef[] = [];
  for (let next = from; next <= to; ) {
    const part = await node.headers(next, Math.min(to, next + MAX_BLOCKS_PER_RANGE - 1));
    if (part.length === 0) break;
    headers.push(...part);
    next += part.length;
  }
  return headers;
}
