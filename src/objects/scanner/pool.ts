/**
 * What waits to be mined, after a poll that has read up to a node's head. A pool proves nothing: what it holds is told
 * as pending, and is credited by no rule. Invariant: a key that is in a block kept here never waits as well.
 *
 * A reading counts only if its head is our own tip, so that both speak of the same chain. What is missing from a
 * whole reading, or from the list of all that waits, is gone unless another provider still has it; a reading that has
 * neither, or fails, takes nothing away.
 */

import { type BlockRef, ChainFault, type ChainNode, type PoolReading, type PoolTransfer } from "../../chains/port.ts";
import { keyText, type TransferKey, UNMINED } from "../../core/transfer.ts";
import { blockAt, countUp, updateState } from "../../store/scanner/state-store.ts";
import {
  hasUnmined,
  insertRemovals,
  insertTransfers,
  minedAmong,
  type OwnedTransfer,
  takeUnmined,
  unminedTransfers,
} from "../../store/scanner/transfer-store.ts";
import { markDirty } from "../../store/scanner/watch-store.ts";
import { type ScannerContext, stateOf } from "./context.ts";
import { attributeUnmined, interestOf } from "./interest.ts";

/** Bounds what anybody can make this object keep for the price of unmined payments. The rest is seen when it is mined. */
export const MAX_UNMINED = 10_000;

interface PoolView {
  /** Everything that any reading has, by key. */
  readonly waiting: ReadonlyMap<string, PoolTransfer>;
  /** Whether what is not among these waits no longer. */
  readonly isGone: (key: TransferKey) => boolean;
}

/**
 * @param nodes in the order in which they are asked; the first one has our tip as its head
 * @returns whether anything changed
 */
export async function readPool(s: ScannerContext, nodes: readonly ChainNode[]): Promise<boolean> {
  const tip = tipHash(s);
  if (tip === null) return false;
  // Nobody reads the pool any more, so nobody would say how it ends for what was told of it.
  if (!s.network.pool) return hasUnmined(s.db) && commitPool(s, tip, { waiting: new Map(), isGone: () => true });

  const waiting = new Map<string, PoolTransfer>();
  const readings: PoolReading[] = [];
  for (const node of nodes) {
    if (
      readings.some(({ isWhole }) => isWhole) &&
      unminedTransfers(s.db).every((transfer) => waiting.has(keyText(transfer)))
    )
      break;
    const reading = await ask(s, node);
    if (reading === null || reading.head !== tip) continue;
    for (const transfer of reading.transfers) {
      if (!waiting.has(keyText(transfer))) waiting.set(keyText(transfer), transfer);
    }
    readings.push(reading);
  }
  const isGone = ({ txId }: TransferKey) =>
    readings.some((reading) => lacks(reading, txId)) && !readings.some((reading) => mayHave(reading, txId));
  return commitPool(s, tip, { waiting, isGone });
}

/** Whether a transaction that pays nobody in this reading does not wait there. */
function lacks({ isWhole, txIds }: PoolReading, txId: string): boolean {
  return isWhole || (txIds !== null && !txIds.has(txId));
}

/** Whether it waits there and was not looked at yet. */
function mayHave({ isWhole, txIds }: PoolReading, txId: string): boolean {
  return !isWhole && txIds !== null && txIds.has(txId);
}

async function ask(s: ScannerContext, node: ChainNode): Promise<PoolReading | null> {
  try {
    return (await node.pool?.(interestOf(s, null))) ?? null;
  } catch (error) {
    if (!(error instanceof ChainFault)) throw error;
    s.memory.lastError = error.message;
    countUp(s.db, "pool_readings_failed", 1);
    return null;
  }
}

/** Commits the difference, if there is one. A pool in which nothing happened writes no row. */
function commitPool(s: ScannerContext, tip: string, { waiting, isGone }: PoolView): boolean {
  const state = stateOf(s);
  if (tipHash(s) !== tip || state.status === "halted" || state.scannedTo === null) return false;
  const held = unminedTransfers(s.db);
  const gone = held.filter((transfer) => !waiting.has(keyText(transfer)) && isGone(transfer));
  const fresh = newcomers(s, waiting, held, state.scannedTo + 1, MAX_UNMINED - held.length + gone.length);
  if (fresh.length === 0 && gone.length === 0) return false;

  const version = state.version + 1;
  s.storage.transactionSync(() => {
    takeUnmined(s.db, gone);
    insertTransfers(s.db, fresh, version);
    insertRemovals(s.db, gone, version);
    markDirty(s.db, new Set([...fresh, ...gone].map((t) => t.tenant)), state.windowFrom ?? 0, UNMINED);
    updateState(s.db, {
      version,
      ...(fresh.length === 0 && state.claimedVersion === state.version ? { claimedVersion: version } : {}),
    });
    countUp(s.db, "pool_transfers_added", fresh.length);
    countUp(s.db, "pool_transfers_gone", gone.length);
  });
  s.memory.unclaimed?.push(...fresh);
  return true;
}

/** What waits for somebody, is not kept yet, and may be. */
function newcomers(
  s: ScannerContext,
  waiting: PoolView["waiting"],
  held: readonly TransferKey[],
  nextHeight: number,
  room: number,
): OwnedTransfer[] {
  const { refusedUnmined } = s.memory;
  for (const key of refusedUnmined) if (!waiting.has(key)) refusedUnmined.delete(key);
  const known = new Set([...held.map(keyText), ...refusedUnmined]);
  const owned = attributeUnmined(
    s,
    [...waiting.values()].filter((transfer) => !known.has(keyText(transfer))),
    nextHeight,
  );
  countLeftOut(s, Math.max(0, owned.length - room));
  const taken = owned.slice(0, room);
  // A provider whose pool hangs behind shows what has long been mined.
  const mined = new Set(minedAmong(s.db, taken).map(keyText));
  return taken.filter((transfer) => !mined.has(keyText(transfer)));
}

/** Counts a payment that found no room once, not at every poll. */
function countLeftOut(s: ScannerContext, count: number): void {
  countUp(s.db, "pool_transfers_left_out", Math.max(0, count - s.memory.leftOutOfPool));
  s.memory.leftOutOfPool = count;
}

function tipHash(s: ScannerContext): string | null {
  const { scannedTo } = stateOf(s);
  return scannedTo === null ? null : (blockAt(s.db, scannedTo)?.hash ?? null);
}

/** Whether a node's head is our own tip: everything up to it was read. */
export function isAtTip(s: ScannerContext, head: BlockRef): boolean {
  return tipHash(s) === head.hash;
}
