/**
 * Reads past ranges for one tenant, a slice at a time between polls. The tenant counts and adds; a slice
 * whose answer was lost is sent again and changes nothing. Below the window blocks are final; inside it a
 * block is used only when it is the very one of our own chain.
 */

import type { ChainNode, Reading } from "../../chains/port.ts";
import { ChainFault, MAX_BLOCKS_PER_RANGE, MAX_BLOCKS_PER_READ } from "../../chains/port.ts";
import { keyText } from "../../core/transfer.ts";
import { log } from "../../log.ts";
import { type BackfillJob, deleteJob, nextJob, updateJob } from "../../store/scanner/job-store.ts";
import { blockAt, blocksFrom, updateState } from "../../store/scanner/state-store.ts";
import { insertTransfers, type OwnedTransfer, takeUnmined, transfersAt } from "../../store/scanner/transfer-store.ts";
import { markDirty, tenantByNumber } from "../../store/scanner/watch-store.ts";
import type { BackfillSlice, SeenTransfer } from "../api.ts";
import { soon } from "../soon.ts";
import { claimTransfers } from "./claim.ts";
import { type ScannerContext, stateOf } from "./context.ts";
import { TENANT_DEADLINE_MS, tenantOf } from "./deliver.ts";
import { credits, interestOf } from "./interest.ts";

const MAX_FAILURES = 40;
const BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 120_000;

/** Does one slice of one job. @returns whether there was work */
export async function stepBackfill(s: ScannerContext, candidates: readonly ChainNode[]): Promise<boolean> {
  const job = nextJob(s.db, s.now());
  const { holdUntil, scannedTo } = stateOf(s);
  if (job === undefined || holdUntil !== null) return false;
  if (scannedTo === null || job.nextHeight > scannedTo) {
    // It begins above what has been read so far: no fault of any node.
    updateJob(s.db, job.seq, { dueAt: s.now() + s.network.pollMs });
    return false;
  }
  const slice = await readFrom(s, candidates, job);
  if (typeof slice === "string") {
    await postpone(s, job, slice);
    return false;
  }
  // Read; what is left depends on no node. A tenant or D1 out of reach delays this job and no other.
  try {
    await handOn(s, job, slice);
    return true;
  } catch (error) {
    await postpone(s, job, error instanceof Error ? error.message : String(error));
    return false;
  }
}

/** The slice as the first node shows it that can, or why none does. */
async function readFrom(
  s: ScannerContext,
  candidates: readonly ChainNode[],
  job: BackfillJob,
): Promise<Slice | string> {
  let detail = "no node answers";
  for (const node of candidates) {
    try {
      const slice = await readSlice(s, node, job);
      if (typeof slice !== "string") return slice;
      detail = `${node.name}: ${slice}`;
    } catch (error) {
      if (!(error instanceof ChainFault)) throw error;
      detail = error.message;
    }
  }
  return detail;
}

interface Slice {
  readonly reading: Reading;
  readonly toHeight: number;
  readonly isFinal: boolean;
}

async function readSlice(s: ScannerContext, node: ChainNode, job: BackfillJob): Promise<Slice | string> {
  const { windowFrom, scannedTo } = stateOf(s);
  const from = job.nextHeight;
  if (windowFrom === null || scannedTo === null || from > scannedTo) return `height ${from} has not been read`;
  const isFinal = from < windowFrom;
  const top = isFinal ? windowFrom - 1 : scannedTo;
  const to = Math.min(job.toHeight, top, from + (isFinal ? MAX_BLOCKS_PER_RANGE : MAX_BLOCKS_PER_READ) - 1);
  const interest = interestOf(s, job);
  const reading = isFinal ? await node.readRange(from, to, interest) : await node.readBlocks(from, to, interest);
  const last = reading.blocks.at(-1);
  if (last === undefined) return reading.stopped?.detail ?? "nothing was read";
  if (!agrees(s, reading)) return "the range does not meet our own chain";
  if (isFinal && !(await hasOurWindow(s, node))) return "it does not have the lowest block of our window";
  return { reading, toHeight: last.height, isFinal };
}

/**
 * Below the window few hashes are kept, so that a range alone may say nothing against a node that was left behind on a
 * dead branch. One that has the block above all of them was on our chain when it showed them.
 */
async function hasOurWindow(s: ScannerContext, node: ChainNode): Promise<boolean> {
  const { windowFrom } = stateOf(s);
  if (windowFrom === null) return false;
  const [theirs] = await node.headers(windowFrom, windowFrom);
  return theirs !== undefined && theirs.hash === blockAt(s.db, windowFrom)?.hash;
}

/** @throws StoreFault, or whatever the tenant's call ended with; doing it again is safe */
async function handOn(s: ScannerContext, job: BackfillJob, { reading, toHeight, isFinal }: Slice): Promise<void> {
  const timestamps = new Map(reading.blocks.map((block) => [block.height, block.timestamp]));
  const owned: OwnedTransfer[] = reading.transfers
    .filter((transfer) => credits(s, transfer.asset, job.tenant))
    .map((t) => ({ ...t, tenant: job.tenant, timestamp: timestamps.get(t.height) ?? 0 }));
  const { conflicts } = await claimTransfers(s, owned);
  const refused = new Set(conflicts);
  const transfers = owned.filter((transfer) => !refused.has(transfer));

  // Inside the window the rows must be there before the tenant hears, so that a reorganisation finds them.
  if (!isFinal && !joinWindow(s, reading, transfers)) throw new Error("the chain moved while the slice was read");
  const told = await tellSlice(s, job, toHeight, transfers, conflicts.length);
  // Where its tenant has a report, that says what comes next: an answer may have been lost before.
  const nextHeight = told.nextHeight ?? toHeight + 1;
  if (nextHeight > job.toHeight) deleteJob(s.db, job.seq);
  else updateJob(s.db, job.seq, { nextHeight, failures: 0, dueAt: s.now() });
}

/** Every block we hold at these heights, and the one after, must be the node's. */
function agrees(s: ScannerContext, reading: Reading): boolean {
  const first = reading.blocks[0];
  const last = reading.blocks.at(-1);
  if (first === undefined || last === undefined) return false;
  const ours = new Map(blocksFrom(s.db, first.height, reading.blocks.length + 1).map((b) => [b.height, b]));
  const after = ours.get(last.height + 1);
  if (after !== undefined && after.parentHash !== last.hash) return false;
  return reading.blocks.every((block) => (ours.get(block.height)?.hash ?? block.hash) === block.hash);
}

/** Adds payments of window blocks that were not watched when they were read. One synchronous commit. */
function joinWindow(s: ScannerContext, reading: Reading, transfers: readonly OwnedTransfer[]): boolean {
  if (reading.blocks.some((block) => blockAt(s.db, block.height)?.hash !== block.hash)) return false;
  const missing = transfers.filter(
    (transfer) => !transfersAt(s.db, transfer.height).some((known) => keyText(known) === keyText(transfer)),
  );
  if (missing.length === 0) return true;
  const state = stateOf(s);
  const version = state.version + 1;
  s.storage.transactionSync(() => {
    takeUnmined(s.db, missing);
    insertTransfers(s.db, missing, version);
    const lowest = Math.min(...missing.map(({ height }) => height));
    markDirty(s.db, new Set(missing.map((transfer) => transfer.tenant)), state.windowFrom ?? 0, lowest);
    // They were claimed just now; what waited before still waits.
    updateState(s.db, { version, ...(state.claimedVersion === state.version ? { claimedVersion: version } : {}) });
  });
  return true;
}

async function tellSlice(
  s: ScannerContext,
  job: BackfillJob,
  toHeight: number,
  transfers: readonly OwnedTransfer[],
  conflicts: number,
): Promise<{ nextHeight: number | null }> {
  const { scannedTo, windowFrom, finalized } = stateOf(s);
  const tip = scannedTo === null ? undefined : blockAt(s.db, scannedTo);
  const mark = tenantByNumber(s.db, job.tenant);
  if (tip === undefined || windowFrom === null || mark === undefined)
    throw new Error("a backfill runs before its network");
  const slice: BackfillSlice = {
    backfillId: job.id,
    network: s.network.id,
    fromHeight: job.nextHeight,
    toHeight,
    head: tip.height,
    headTimestamp: tip.timestamp,
    finalized,
    windowFrom,
    transfers: transfers.map(({ tenant: _tenant, ...seen }): SeenTransfer => seen),
    conflicts,
    last: toHeight >= job.toHeight,
  };
  return soon(tenantOf(s, mark.tenantId).backfillSlice(slice), TENANT_DEADLINE_MS);
}

/** A range that was asked for is given up in the end, visibly. The past of a watched address never is. */
async function postpone(s: ScannerContext, job: BackfillJob, detail: string): Promise<void> {
  s.memory.lastError = `backfill: ${detail}`;
  const failures = job.failures + 1;
  const wait = Math.min(BACKOFF_MS * 2 ** Math.min(failures, 20), MAX_BACKOFF_MS);
  updateJob(s.db, job.seq, { failures, dueAt: s.now() + wait });
  if (failures < MAX_FAILURES || job.address !== null) return;
  const mark = tenantByNumber(s.db, job.tenant);
  try {
    if (mark !== undefined) await soon(tenantOf(s, mark.tenantId).backfillFailed(job.id, detail), TENANT_DEADLINE_MS);
    deleteJob(s.db, job.seq);
  } catch (error) {
    log("warn", "backfill_failed", { network: s.network.id, backfill: job.id }, error);
  }
}
