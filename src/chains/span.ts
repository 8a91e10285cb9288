/**
 * How many blocks to ask for at once, learned from the provider's answers: their size steers it, and a
 * refusal puts a ceiling on it that is tried again only now and then.
 */

export interface SpanBounds {
  readonly start: number;
  readonly max: number;
  /** Size of an answer that is neither too many round trips nor too much memory. */
  readonly aimBytes: number;
}

/** After so many answers in a row, the ceiling that a refusal set is lifted once. */
const ANSWERS_BEFORE_LIFTING = 32;
/** One answer never lengthens the span by more than this factor. */
const MAX_STEP = 4;

export class Span {
  #blocks: number;
  #ceiling: number;
  #answers = 0;
  readonly #bounds: SpanBounds;

  constructor(bounds: SpanBounds) {
    this.#bounds = bounds;
    this.#blocks = bounds.start;
    this.#ceiling = bounds.max;
  }

  get blocks(): number {
    return this.#blocks;
  }

  /** An answer for `blocks` blocks came, `bytes` long. */
  answered(blocks: number, bytes: number): void {
    this.#answers += 1;
    if (this.#answers >= ANSWERS_BEFORE_LIFTING) {
      this.#answers = 0;
      this.#ceiling = Math.min(this.#bounds.max, this.#ceiling * 2);
    }
    const wanted = Math.floor((this.#bounds.aimBytes * blocks) / Math.max(bytes, 1));
    // A short last piece says little about long ones: it may only lower the span.
    const next = blocks < this.#blocks ? Math.min(wanted, this.#blocks) : Math.min(wanted, blocks * MAX_STEP);
    this.#blocks = Math.max(1, Math.min(next, this.#ceiling));
  }

  /** `blocks` blocks were too many. */
  refused(blocks: number): void {
    this.#answers = 0;
    this.#ceiling = Math.max(1, Math.min(this.#ceiling, Math.floor(blocks / 2)));
    this.#blocks = Math.min(this.#blocks, this.#ceiling);
  }
}
