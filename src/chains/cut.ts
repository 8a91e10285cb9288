/**
 * Where a reading ends early. Whatever goes wrong at a height, everything from that height on is left out
 * of the reading: the lowest trouble wins, and no block is skipped.
 */

import type { Stopped } from "./port.ts";

export class Cut {
  #stopped: Stopped | null = null;

  get stopped(): Stopped | null {
    return this.#stopped;
  }

  at(reason: Stopped["reason"], height: number, detail: string): void {
    if (this.keeps(height)) this.#stopped = { reason, height, detail };
  }

  /** Whether this height is still part of the reading. */
  keeps(height: number): boolean {
    return this.#stopped === null || height < this.#stopped.height;
  }
}
