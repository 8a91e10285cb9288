/** How often something failed for each block, by hash. Few are remembered: all are forgotten when they become many. */

const MAX_REMEMBERED = 64;

export class Attempts {
  readonly #counts = new Map<string, number>();

  /** Counts one more, and says how many that makes. */
  next(hash: string): number {
    const attempts = (this.#counts.get(hash) ?? 0) + 1;
    if (this.#counts.size >= MAX_REMEMBERED && attempts === 1) this.#counts.clear();
    this.#counts.set(hash, attempts);
    return attempts;
  }
}
