/**
 * A reorganisation deeper than the window: the network halts, everybody concerned is told once, and a
 * person decides. Nothing is guessed: what was credited stays as it is until then.
 */

import { type BlockRef, ChainFault, type ChainNode } from "../../chains/port.ts";
import { derivedId } from "../../core/ids.ts";
import { type Outcome, refuse } from "../../core/refusal.ts";
import { log } from "../../log.ts";
import { insertNotices } from "../../store/scanner/job-store.ts";
import {
  allBlocksDescending,
  blockAt,
  countUp,
  deleteBlocksAbove,
  insertBlocks,
  updateState,
} from "../../store/scanner/state-store.ts";
import { takeTransfersAbove } from "../../store/scanner/transfer-store.ts";
import { forgetAcknowledgements, tenantsWithWatches } from "../../store/scanner/watch-store.ts";
import { type ScannerContext, stateOf } from "./context.ts";
import { sawContradiction, tellHalt } from "./sights.ts";

/** One node may be on a fork of its own: the sight must hold over several polls before the network halts. */
const SIGHTINGS_TO_HALT = 3;

/** @returns whether the network is halted now */
export async function sightDeepFork(s: ScannerContext, below: number, others: readonly ChainNode[]): Promise<boolean> {
  const ours = blockAt(s.db, below);
  let isConfirmed = others.length === 0;
  for (const node of others) {
    const [theirs] = await node.headers(below, below).catch(() => []);
    if (theirs !== undefined && theirs.hash !== ours?.hash) isConfirmed = true;
    // Another node has our block: the first one is on a fork of its own and is not followed.
    if (theirs !== undefined && theirs.hash === ours?.hash) {
      sawContradiction(s, `another provider than ${node.name} has a different block ${below}`);
      s.memory.deepSightings = 0;
      return false;
    }
  }
  // Others that cannot be asked prove nothing, and three nodes in one poll are one sight.
  if (!isConfirmed || s.memory.deepSightingAt === s.memory.lastPollAt) return false;
  s.memory.deepSightingAt = s.memory.lastPollAt;
  s.memory.deepSightings++;
  if (s.memory.deepSightings < SIGHTINGS_TO_HALT) return false;
  const reason = `The chain was replaced from below height ${below + 1}, deeper than the window of ${s.network.reorgWindow} blocks.`;
  halt(s, reason, below);
  return true;
}

function halt(s: ScannerContext, reason: string, height: number): void {
  if (stateOf(s).status === "halted") return;
  const at = s.now();
  // With the time in it: a network that halts again at the same height has a new incident to tell.
  const id = derivedId("inc", s.network.id, height, at);
  s.storage.transactionSync(() => {
    updateState(s.db, { status: "halted", incidentId: id, incidentReason: reason, incidentAt: at });
    const notice = { id, type: "network.halted" as const, reason, height, at };
    insertNotices(
      s.db,
      tenantsWithWatches(s.db).map((tenant) => ({ tenant, ...notice })),
    );
    countUp(s.db, "halts", 1);
  });
  tellHalt(s);
  log("error", "network_halted", { network: s.network.id, incident: id, reason });
}

/**
 * A person accepts the other branch. Everything from the first replaced height on is read anew, and only
 * when the old tip is reached again are tenants told, each once, with the whole.
 */
export async function resume(s: ScannerContext, fromHeight: number | null): Promise<Outcome<{ fromHeight: number }>> {
  if (stateOf(s).status !== "halted") return notHalted(s);
  let detail = "no node is configured";
  for (const node of s.nodes.candidates(s.now())) {
    try {
      const { head } = await node.tip();
      const below = fromHeight === null ? await highestShared(s, node) : fromHeight - 1;
      if (below === null || below < 0) {
        return refuse("invalid_range", "No header kept here is on the node's chain; name the first replaced height.");
      }
      const [parent] = await node.headers(below, below);
      if (parent !== undefined && below < head.height) return reopen(s, parent, head.height);
      detail = `${node.name} has no block ${below + 1}`;
    } catch (error) {
      if (!(error instanceof ChainFault)) throw error;
      detail = error.message;
    }
  }
  return refuse("chain_unavailable", `No node of ${s.network.id} shows its chain: ${detail}.`, { retryAfterS: 10 });
}

function reopen(s: ScannerContext, parent: BlockRef, head: number): Outcome<{ fromHeight: number }> {
  const state = stateOf(s);
  const { scannedTo, windowFrom, incidentId } = state;
  if (state.status !== "halted" || scannedTo === null || windowFrom === null || incidentId === null) {
    return notHalted(s);
  }
  const from = parent.height + 1;
  if (from > windowFrom) {
    return refuse("invalid_range", `Heights above ${windowFrom} are followed without a person.`);
  }
  const version = state.version + 1;
  const reason = `Reading goes on from height ${from}.`;
  const notice = { id: incidentId, type: "network.resumed" as const, reason, height: from, at: s.now() };
  s.storage.transactionSync(() => {
    takeTransfersAbove(s.db, parent.height);
    deleteBlocksAbove(s.db, parent.height - 1);
    insertBlocks(s.db, [parent]);
    forgetAcknowledgements(s.db, from);
    updateState(s.db, {
      version,
      // What waits for its claim at lower heights waits on.
      ...(state.claimedVersion === state.version ? { claimedVersion: version } : {}),
      scannedTo: parent.height,
      windowFrom: from,
      finalized: Math.min(state.finalized, parent.height),
      holdUntil: Math.min(scannedTo, head),
      reopenedFrom: from,
      status: "ok",
      incidentId: null,
      incidentReason: null,
      incidentAt: null,
    });
    insertNotices(
      s.db,
      tenantsWithWatches(s.db).map((tenant) => ({ tenant, ...notice })),
    );
  });
  tellHalt(s);
  s.memory.deepSightings = 0;
  s.memory.unclaimed = null;
  return { ok: true, value: { fromHeight: from } };
}

function notHalted(s: ScannerContext): Outcome<never> {
  return refuse("state_conflict", `${s.network.id} is not halted.`);
}

/**
 * The highest header kept below the window that the node has too: what is inside the window needs no person.
 * A chain that shares a block shares all below it, so the place is found by halving.
 */
async function highestShared(s: ScannerContext, node: ChainNode): Promise<number | null> {
  const known = allBlocksDescending(s.db).filter((block) => block.height < (stateOf(s).windowFrom ?? 0));
  let [first, end] = [0, known.length];
  while (first < end) {
    const middle = Math.floor((first + end) / 2);
    const block = known[middle];
    const [theirs] = block === undefined ? [] : await node.headers(block.height, block.height);
    if (theirs !== undefined && theirs.hash === block?.hash) end = middle;
    else first = middle + 1;
  }
  return known[first]?.height ?? null;
}
