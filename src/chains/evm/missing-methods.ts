/**
 * Methods that a node turned out not to have. What was learned is forgotten after a number of readings: a
 * refusal may have come from one backend of many, and a plan may be upgraded while we run.
 */

/** At a reading or two per poll this is ten minutes to an hour. */
const READINGS_BEFORE_PROBING = 200;

export class MissingMethods {
  #readings = 0;
  /** Number of the reading in which each was learned. */
  readonly #learned = new Map<string, number>();

  nextReading(): void {
    this.#readings += 1;
  }

  add(method: string): void {
    this.#learned.set(method, this.#readings);
  }

  has(method: string): boolean {
    const learned = this.#learned.get(method);
    return learned !== undefined && this.#readings - learned < READINGS_BEFORE_PROBING;
  }
}
