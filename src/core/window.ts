/**
 * The part of a chain that may still be replaced.
 *
 * Invariant: the scanner holds the header of every height from one below the window to the tip, each the
 * parent of the next. The window only ever moves up; a reorganisation that would reach below it is not
 * followed but brought before a person.
 */

export interface Link {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
}

/** A header as far as this service needs it. */
export interface BlockRef extends Link {
  /** The block's own time stamp, unix seconds. */
  readonly timestamp: number;
}

/**
 * First height that may still be replaced, after the tip moved to `scannedTo`. Under `depth` it trails the
 * tip by the network's window; under `tag` it follows the chain's own finalized height and waits for it.
 */
export function windowStart(
  settings: { readonly finality: "depth" | "tag"; readonly reorgWindow: number },
  at: { readonly scannedTo: number; readonly finalized: number; readonly current: number },
): number {
  const start =
    settings.finality === "tag" ? Math.min(at.finalized, at.scannedTo) + 1 : at.scannedTo - settings.reorgWindow + 1;
  return Math.max(at.current, start);
}

/** Highest height that a long range may be read to without asking whether it can still be replaced. */
export function safeHeight(
  settings: { readonly finality: "depth" | "tag"; readonly reorgWindow: number },
  head: number,
  finalized: number | null,
): number {
  return settings.finality === "tag" ? (finalized ?? -1) : head - settings.reorgWindow;
}

/** Where a list of headers stops being a chain that goes on from `parent`, or -1 when all of it does. */
export function brokenLink(parent: Link, blocks: readonly Link[]): number {
  let before = parent;
  for (const [i, block] of blocks.entries()) {
    if (block.height !== before.height + 1 || block.parentHash !== before.hash) return i;
    before = block;
  }
  return -1;
}

/** The highest block both sides have, or null when these heights share none. */
export function commonAncestor(ours: ReadonlyMap<number, string>, theirs: readonly Link[]): Link | null {
  let best: Link | null = null;
  for (const block of theirs) {
    if (ours.get(block.height) === block.hash && (best === null || block.height > best.height)) best = block;
  }
  return best;
}
