/** Everything that happens by chance in one run comes from one seed, in the order it is asked for. */

export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** mulberry32: at least 0, below 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** At least 0, below `sides`. */
  roll(sides: number): number {
    return Math.floor(this.fraction() * sides);
  }

  between(least: number, most: number): number {
    return least + this.roll(most - least + 1);
  }

  /** True with this probability. Always takes one number, so that a rate of nothing shifts nothing else. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.roll(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.roll(256));
  }

  /** Another stream of chance that what is drawn here does not shift. */
  split(): Dice {
    return new Dice(Math.floor(this.fraction() * 2 ** 32));
  }
}
