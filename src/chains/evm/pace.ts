/**
 * How many blocks one whole reading of a range covers, learned from what readings cost. A reading is held in
 * memory and keeps the scanner from everything else, so neither its time nor its bytes may grow without bound.
 */

export interface PaceBounds {
  readonly start: number;
  readonly max: number;
}

const AIM_MS = 5_000;
const AIM_BYTES = 64_000_000;
/** One reading never lengthens the next by more than this factor. */
const MAX_STEP = 4;

export class Pace {
  #blocks: number;
  readonly #max: number;

  constructor({ start, max }: PaceBounds) {
    this.#blocks = start;
    this.#max = max;
  }

  get blocks(): number {
    return this.#blocks;
  }

  /** A reading of `blocks` blocks came to its end. */
  took(blocks: number, ms: number, bytes: number): void {
    const ratio = Math.min(AIM_MS / Math.max(ms, 1), AIM_BYTES / Math.max(bytes, 1));
    // A short one is mostly round trips: it tells nothing about long ones unless it was too much itself.
    if (blocks < this.#blocks && ratio >= 1) return;
    const wanted = Math.min(Math.floor(blocks * ratio), blocks * MAX_STEP, this.#max);
    this.#blocks = Math.max(1, wanted);
  }

  /** A reading of `blocks` blocks ended in a fault, perhaps for being too much. */
  failed(blocks: number): void {
    this.#blocks = Math.max(1, Math.min(this.#blocks, Math.floor(blocks / 2)));
  }
}
