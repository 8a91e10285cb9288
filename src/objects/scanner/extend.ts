/**
 * Commits what was read: headers, transfers, the cursor and who must hear of it, in one synchronous
 * transaction. The cursor never outruns what is stored, and the tip never steps back: a branch is replaced
 * only by one that is not shorter, whole, in one commit.
 */

import type { BlockRef, ChainTip, Reading } from "../../chains/port.ts";
import { keyText, type Transfer } from "../../core/transfer.ts";
import { brokenLink, windowStart } from "../../core/window.ts";
import {
  blockAt,
  countUp,
  deleteBlocksAbove,
  insertBlocks,
  isAnchor,
  pruneBlocks,
  type ScannerState,
  updateState,
} from "../../store/scanner/state-store.ts";
import {
  insertRemovals,
  insertTransfers,
  type OwnedTransfer,
  pruneTransfers,
  takeTransfersAbove,
  takeUnmined,
} from "../../store/scanner/transfer-store.ts";
import { markDirty, pruneWatches } from "../../store/scanner/watch-store.ts";
import { type ScannerContext, stateOf } from "./context.ts";
import { attribute } from "./interest.ts";

export type Extended =
  | { readonly kind: "extended"; readonly to: number }
  /** Somebody else moved the tip while this was read. Nothing was written. */
  | { readonly kind: "stale" }
  /** The first block's parent is not our tip: another branch. Nothing was written. */
  | { readonly kind: "forked" };

/**
 * Appends a reading to the tip.
 * @param finalTo highest of these heights that is final already, because it was read as such
 */
export function extend(
  s: ScannerContext,
  reading: Reading,
  finalized: ChainTip["finalized"],
  finalTo: number,
): Extended {
  const state = stateOf(s);
  const first = reading.blocks[0];
  const tip = state.scannedTo === null ? undefined : blockAt(s.db, state.scannedTo);
  if (first === undefined || tip === undefined || first.height !== tip.height + 1) return { kind: "stale" };
  if (first.parentHash !== tip.hash) return { kind: "forked" };
  const to = commitBranch(s, state, tip, [reading], finalized, finalTo);
  return { kind: "extended", to };
}

/**
 * Replaces everything above `ancestor` by a branch that one node proved, longer than ours or as long.
 * Refuses as stale when the tip moved meanwhile.
 */
export function replaceBranch(
  s: ScannerContext,
  basedOnVersion: number,
  ancestor: BlockRef,
  readings: readonly Reading[],
  finalized: ChainTip["finalized"],
): Extended {
  const state = stateOf(s);
  const last = readings.at(-1)?.blocks.at(-1);
  if (state.version !== basedOnVersion || state.scannedTo === null || last === undefined) return { kind: "stale" };
  if (last.height < state.scannedTo) throw new Error(`a branch to ${last.height} is shorter than ${state.scannedTo}`);
  const to = commitBranch(s, state, ancestor, readings, finalized, -1);
  return { kind: "extended", to };
}

function commitBranch(
  s: ScannerContext,
  state: ScannerState,
  parent: BlockRef,
  readings: readonly Reading[],
  nodeFinalized: ChainTip["finalized"],
  finalTo: number,
): number {
  const blocks = readings.flatMap((reading) => reading.blocks);
  const broken = brokenLink(parent, blocks);
  if (broken !== -1) throw new Error(`block ${blocks[broken]?.height} does not go on from the one before it`);
  const to = blocks.at(-1)?.height ?? parent.height;
  const version = state.version + 1;
  const windowBefore = state.windowFrom ?? 0;
  const finalized = Math.max(state.finalized, provenFinalized(s, nodeFinalized, blocks, parent, finalTo));
  const held = state.holdUntil !== null && to < state.holdUntil;
  const trailing = windowStart(s.network, { scannedTo: to, finalized, current: windowBefore });
  const windowFrom = held ? windowBefore : Math.max(trailing, Math.min(finalTo, to) + 1);
  const timestamps = new Map(blocks.map((block) => [block.height, block.timestamp]));

  let fresh: OwnedTransfer[] = [];
  s.storage.transactionSync(() => {
    const orphans =
      state.scannedTo !== null && parent.height < state.scannedTo ? takeTransfersAbove(s.db, parent.height) : [];
    const transfers = readings.flatMap((reading) => reading.transfers);
    const waited = takeUnmined(s.db, transfers);
    const owners = new Map([...orphans, ...waited].map((t) => [keyText(t), t]));
    const hadBefore = (t: Transfer) => {
      const before = owners.get(keyText(t));
      return before?.address === t.address ? before.tenant : null;
    };
    fresh = attribute(s, transfers, (height) => timestamps.get(height) ?? 0, hadBefore);
    const kept = new Set(fresh.map((t) => `${t.tenant}/${keyText(t)}`));
    const gone = [...orphans, ...waited].filter((t) => !kept.has(`${t.tenant}/${keyText(t)}`));

    deleteBlocksAbove(s.db, parent.height);
    insertBlocks(
      s.db,
      blocks.filter((block) => block.height >= windowFrom - 1 || block.height === to || isAnchor(block.height)),
    );
    insertTransfers(s.db, fresh, version);
    insertRemovals(s.db, gone, version);
    markDirty(s.db, new Set([...fresh, ...gone].map((t) => t.tenant)), windowBefore, parent.height + 1);
    updateState(s.db, {
      version,
      scannedTo: to,
      windowFrom,
      finalized,
      ...(held ? {} : { holdUntil: null }),
      ...internalOf(readings, state),
      // Nothing to claim: the claims stand where this commit stands.
      ...(fresh.length === 0 && state.claimedVersion === state.version ? { claimedVersion: version } : {}),
    });
    if (windowFrom > windowBefore) {
      pruneBlocks(s.db, windowBefore, windowFrom);
      pruneTransfers(s.db, windowFrom);
      countUp(s.db, "watches_ended", pruneWatches(s.db, windowFrom));
    }
    countReading(s, readings, orphans.length, gone.length, state, parent);
  });
  s.memory.unclaimed?.push(...fresh);
  s.memory.counted.blocksRead += blocks.length;
  return to;
}

/**
 * How far the node's finalized block proves our own chain final: a height of ours must have the hash the
 * node names. Above what was read it says something only about a range that was read as final.
 */
function provenFinalized(
  s: ScannerContext,
  finalized: ChainTip["finalized"],
  blocks: readonly BlockRef[],
  parent: BlockRef,
  finalTo: number,
): number {
  if (finalized === null) return -1;
  const to = blocks.at(-1)?.height ?? parent.height;
  if (finalized.height > to) return finalTo >= to ? to : -1;
  const ours =
    finalized.height > parent.height
      ? blocks.find((block) => block.height === finalized.height)
      : blockAt(s.db, finalized.height);
  return ours === undefined || ours.hash === finalized.hash ? finalized.height : -1;
}

function internalOf(readings: readonly Reading[], state: ScannerState): Partial<ScannerState> {
  const seen = readings.at(-1)?.internal;
  return seen === undefined || seen === state.internal ? {} : { internal: seen };
}

function countReading(
  s: ScannerContext,
  readings: readonly Reading[],
  orphaned: number,
  gone: number,
  state: ScannerState,
  parent: BlockRef,
): void {
  const total = (of: (reading: Reading) => number) => readings.reduce((sum, reading) => sum + of(reading), 0);
  countUp(
    s.db,
    "irregular_logs",
    total((reading) => reading.irregularLogs),
  );
  countUp(
    s.db,
    "transfers_short_of_their_log",
    total((reading) => reading.shortTransfers),
  );
  countUp(
    s.db,
    "transfers_not_weighed",
    total((reading) => reading.unweighedTransfers),
  );
  if (state.scannedTo !== null && parent.height < state.scannedTo) {
    countUp(s.db, "reorganisations", 1);
    countUp(s.db, "blocks_replaced", state.scannedTo - parent.height);
    countUp(s.db, "transfers_replaced", orphaned);
    countUp(s.db, "transfers_removed", gone);
  }
}
