/** Puts what the receiver tells, page after page, into one list: pure. */

import type { ReceivedDelivery } from "../../sandbox.ts";

export interface Received {
  /** Newest first. */
  readonly latest: readonly ReceivedDelivery[];
  /** The number of the last one that is known. */
  readonly next: number;
}

/** What the receiver itself keeps. */
export const KEPT = 500;
/** Of one answer; a shorter one is the last. */
export const PER_PAGE = 100;

export interface ReceivedPage {
  readonly data: readonly ReceivedDelivery[];
  readonly next: number;
}

export function withPage({ latest, next }: Received, page: ReceivedPage): Received {
  // Two askers at a time may both have got it.
  const fresh = page.data.filter(({ n }) => n > next);
  return {
    latest: fresh.length === 0 ? latest : [...fresh.toReversed(), ...latest].slice(0, KEPT),
    next: Math.max(next, page.next),
  };
}
