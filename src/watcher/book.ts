/**
 * What a watcher knows between two polls. Never changed: a poll works on a draft of it and makes the next one.
 *
 * Invariant: `hashes` holds every height from one below the window to the highest height read, each the parent of
 * the next. `deposits` holds every payment that may still be told of otherwise, and those settled at heights that
 * a gap could yet be read at.
 */

import type { TransferKey } from "../core/transfer.ts";
import type { Told } from "../core/watcher.ts";
import type { Gap, Watches } from "./watches.ts";

export interface Held extends TransferKey, Told {}

export interface ReadChain {
  /** First height that may still be replaced. */
  readonly windowFrom: number;
  /** Of heights from `windowFrom - 1` on; the last one is the highest that was read. */
  readonly hashes: readonly string[];
  /** Time stamp of the highest, unix seconds. */
  readonly tipTimestamp: number;
  /** Highest height that is final by the chain's own tag, -1 when unknown. */
  readonly finalized: number;
}

export interface Book {
  /** Grows by one with each poll that changed something. */
  readonly revision: number;
  /** Null before the first block. */
  readonly chain: ReadChain | null;
  /** By key text. */
  readonly deposits: ReadonlyMap<string, Held>;
  readonly watches: Watches;
  readonly gaps: readonly Gap[];
}

export const EMPTY_BOOK: Book = { revision: 0, chain: null, deposits: new Map(), watches: new Map(), gaps: [] };

export function readTo(chain: ReadChain): number {
  return chain.windowFrom - 2 + chain.hashes.length;
}

export function hashAt(chain: ReadChain, height: number): string | undefined {
  return chain.hashes[height - chain.windowFrom + 1];
}

/** Whether it stands on the best chain as far as was read. */
export function isLive(told: Pick<Told, "status">): boolean {
  return told.status !== "reverted" && told.status !== "dropped";
}
