/**
 * Owns how fast one receiver is sent to: at most so many starts within any window of time. A burst within
 * the bound goes out at once; a backlog of thousands does not become a flood.
 */
export class Pace {
  readonly #starts: number;
  readonly #windowMs: number;
  /** Unix ms of the latest starts, oldest first. */
  #recent: number[] = [];

  constructor(starts: number, windowMs: number) {
    this.#starts = starts;
    this.#windowMs = windowMs;
  }

  /** Takes one start and gives 0, or gives the wait in ms until one is free. */
  take(now: number): number {
    this.#recent = this.#recent.filter((at) => at > now - this.#windowMs && at <= now);
    const oldest = this.#recent[0];
    if (oldest !== undefined && this.#recent.length >= this.#starts) return oldest + this.#windowMs - now;
    this.#recent.push(now);
    return 0;
  }
}
