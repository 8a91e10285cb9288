/**
 * Calls that wait for an event: whoever pulls hears of one as soon as it is committed, without asking over and over.
 *
 * In memory alone: an instance that ends ends its calls, and they are made again. A commit that wrote events wakes
 * them, and they read the log in a turn of their own; nobody looks at the disk in between. A wait is no work of the
 * tenant's: it takes no turn and holds nobody up.
 */

import { refuse } from "../../core/refusal.ts";
import type { EventView, Page } from "../../core/views.ts";
import { type EventFilter, lastSequence } from "../../store/tenant/event-store.ts";
import type { Caller } from "../api.ts";
import { type Done, heldKey } from "./authorize.ts";
import type { TenantContext } from "./context.ts";
import { pageOfEvents } from "./reads.ts";

/** Calls of one tenant that wait at a time. */
export const MAX_WAITING = 100;
const RETRY_AFTER_S = 1;

export class EventWaits {
  readonly #waits = new Set<EventWait>();

  get size(): number {
    return this.#waits.size;
  }

  /** @returns null when as many wait as may */
  open(ms: number): EventWait | null {
    if (this.#waits.size >= MAX_WAITING) return null;
    const wait = new EventWait(ms, () => this.#waits.delete(wait));
    this.#waits.add(wait);
    return wait;
  }

  /** After each commit. @param newest the last sequence, read only when somebody waits */
  wake(newest: () => number): void {
    if (this.#waits.size === 0) return;
    const sequence = newest();
    for (const wait of this.#waits) wait.wake(sequence);
  }
}

class EventWait {
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #leave: () => void;
  #isOver = false;
  #seen = 0;
  #go: ((isNews: boolean) => void) | null = null;

  constructor(ms: number, leave: () => void) {
    this.#leave = leave;
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.#go?.(false);
    }, ms);
  }

  /** Resolves to true when events after `seen` were committed, to false when the time is over. */
  next(seen: number): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(false);
    this.#seen = seen;
    return new Promise((resolve) => {
      this.#go = resolve;
    });
  }

  wake(newest: number): void {
    if (newest > this.#seen) this.#go?.(true);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#leave();
  }
}

/** A page that is not empty at once, or as soon as there is one, or an empty one after `waitMs`. */
export async function awaitEvents(
  c: TenantContext,
  waits: EventWaits,
  caller: Caller,
  filter: EventFilter,
  limit: number,
  waitMs: number,
): Promise<Done<Page<EventView>>> {
  let page = pageOfEvents(c, filter, limit);
  if (page.data.length > 0 || waitMs === 0) return { ok: true, value: page };
  const wait = waits.open(waitMs);
  if (wait === null) {
    const detail = `${MAX_WAITING} calls of this tenant wait for events already. Wait with fewer.`;
    return refuse("rate_limited", detail, { retryAfterS: RETRY_AFTER_S });
  }
  try {
    // What does not fit the types is looked at once.
    for (let seen = lastSequence(c.db); page.data.length === 0 && (await wait.next(seen)); seen = lastSequence(c.db)) {
      page = pageOfEvents(c, { ...filter, after: Math.max(filter.after, seen) }, limit);
    }
  } finally {
    wait.end();
  }
  // A key or session that ended meanwhile opens nothing any more.
  if (heldKey(c, caller) === null) return refuse("unauthorized", "The API key or session has ended.");
  return { ok: true, value: page };
}
