/**
 * Which outputs the last blocks spend, each as 32 bits of its name: enough to tell that a block does not spend an
 * output without having it again. That it does is read from the block itself.
 */

import type { CoinRef } from "../coin-payout.ts";
import type { BitcoinBlock } from "./block.ts";

/** An ordinary block of the main chain spends some 7,000 outputs: 30 kB. */
const MAX_BLOCKS = 300;

interface Entry {
  readonly parentHash: string;
  readonly marks: Uint32Array;
}

export class SpentOutputs {
  /** The longest unused first. */
  readonly #blocks = new Map<string, Entry>();

  keep({ header, transactions }: BitcoinBlock): void {
    const marks = Uint32Array.from(transactions.flatMap(({ inputs }) => inputs.map(markOf))).sort();
    this.#blocks.set(header.hash, { parentHash: header.parentHash, marks });
    for (const hash of this.#blocks.keys()) {
      if (this.#blocks.size <= MAX_BLOCKS) return;
      this.#blocks.delete(hash);
    }
  }

  /** The block's parent, when the block is known to spend none of these; null when that is not known. */
  parentIfUntouched(hash: string, refs: readonly CoinRef[]): string | null {
    const entry = this.#blocks.get(hash);
    if (entry === undefined) return null;
    this.#blocks.delete(hash);
    this.#blocks.set(hash, entry);
    return refs.some((ref) => includes(entry.marks, markOf(ref))) ? null : entry.parentHash;
  }
}

function markOf({ txId, vout }: CoinRef): number {
  return (Number.parseInt(txId.slice(0, 8), 16) ^ Math.imul(vout, 0x9e3779b1)) >>> 0;
}

function includes(sorted: Uint32Array, mark: number): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < mark) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === mark;
}
