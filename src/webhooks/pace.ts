/**
 * Owns how fast one receiver is sent to. One that is well sets the pace itself, by how fast it answers the few requests that are
 * under way. One that fails is sent half as many in a second, and again half with each failure; each acknowledgement
 * adds one to them, so that what recovers is asked for twice as much each second, and a backlog is no flood.
 */

import type { DeliveryOutcome } from "../core/webhook-schedule.ts";

const SLOWEST_PER_SECOND = 10;
/** From here on nothing is counted. */
const FREE_PER_SECOND = 1_000;
const SECOND_MS = 1_000;

export class Pace {
  #perSecond = FREE_PER_SECOND;
  /** Unix ms, when the second began of which so many starts are left. */
  #since = 0;
  #left = 0;

  /** Takes one start and gives 0, or gives the wait in ms until one is free. */
  take(now: number): number {
    if (this.#perSecond >= FREE_PER_SECOND) return 0;
    // The clock may have stepped back.
    if (now < this.#since || now >= this.#since + SECOND_MS) {
      this.#since = now;
      this.#left = this.#perSecond;
    }
    if (this.#left <= 0) return this.#since + SECOND_MS - now;
    this.#left--;
    return 0;
  }

  /** Of an attempt in which nothing left, nothing follows. */
  heard(outcome: DeliveryOutcome): void {
    if (outcome === "target_refused" || outcome === "unresolved") return;
    if (outcome === "delivered") {
      if (this.#perSecond < FREE_PER_SECOND) this.#perSecond++;
      return;
    }
    const before = this.#perSecond;
    this.#perSecond = Math.max(Math.floor(before / 2), SLOWEST_PER_SECOND);
    this.#left -= before - this.#perSecond;
  }

  /** Of a receiver that was failing when it was last heard of. */
  beginSlowly(): void {
    this.#perSecond = SLOWEST_PER_SECOND;
    this.#left = Math.min(this.#left, SLOWEST_PER_SECOND);
  }
}
