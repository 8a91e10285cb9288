/** The event feed: everything that happened, oldest first, by a sequence without a gap. */

import type { Call } from "../call.ts";
import { ConnectionError, RateLimitError, ServerError, SluiceError, UnexpectedAnswerError } from "../errors.ts";
import { List } from "../pages.ts";
import type { AbortSignalLike } from "../platform.ts";
import { waitBefore } from "../retry.ts";
import { type CallOptions, pathOf, type Transport } from "../transport.ts";
import type { EventFilter, EventType, SluiceEvent } from "../types.ts";

/** The longest that the service holds a request open. */
const LONGEST_POLL_S = 25;
const PAGE = 200;
/** Between two answers without an event when the service, or what stands before it, did not hold the first one open. */
const LEAST_PAUSE_MS = 1_000;
/** Whatever a Retry-After says: a wrong one must not stop the feed for ever, nor overflow a timer, which ends at once. */
const LONGEST_PAUSE_MS = 10 * 60_000;

export interface FollowOptions {
  /** The last sequence that you have dealt with; 0: from the first event on. */
  readonly after: number;
  readonly types?: readonly EventType[] | undefined;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignalLike | undefined;
  /** How long a request waits for the next event, 0 to 25 seconds; 25 when left out. */
  readonly waitS?: number | undefined;
}

export class EventCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** What is there now after a sequence, oldest first. */
  list(filter: EventFilter = {}, options?: CallOptions): List<SluiceEvent> {
    // `next_cursor` is a sequence, and goes in the place of `after`.
    return new List((cursor) => this.#page({ ...filter, after: cursor ?? filter.after }, options));
  }

  get(id: string, options?: CallOptions): Call<SluiceEvent> {
    return this.#transport.call({ method: "GET", path: pathOf("/v1/events/", id) }, options);
  }

  /**
   * Every event after a sequence, each once and in order, for as long as you read: it waits for the next one, and
   * outlasts restarts and lost connections. Store an event's `sequence` together with what you did about it, and
   * begin from there the next time.
   *
   * @throws SluiceError what repeating does not mend: a key that does not hold, a sequence that leaves one out
   */
  async *follow({ after, types, signal, waitS = LONGEST_POLL_S }: FollowOptions): AsyncGenerator<SluiceEvent, void> {
    const poll = { types, wait: waitS, limit: PAGE };
    const options = { signal, timeoutMs: waitS * 1_000 + this.#transport.timeoutMs };
    let last = after;
    let failures = 0;
    while (!isAborted(signal)) {
      const askedAt = this.#transport.now();
      let events: readonly SluiceEvent[];
      try {
        events = (await this.#page({ ...poll, after: last }, options)).data;
        failures = 0;
      } catch (error) {
        if (isAborted(signal)) return;
        if (!isPassing(error)) throw error;
        failures++;
        const waitMs = waitBefore(failures, error.retryAfterMs, this.#transport.random());
        await this.#transport.sleep(Math.min(waitMs, LONGEST_PAUSE_MS), signal);
        continue;
      }
      for (const event of events) {
        // Without a filter the sequences are whole; what is left out here would be left out for ever.
        if (!(event.sequence > last) || (types === undefined && event.sequence !== last + 1)) {
          throw new UnexpectedAnswerError(`expected the event after sequence ${last}, got ${event.sequence}`, {
            code: "unexpected_answer",
          });
        }
        last = event.sequence;
        yield event;
        if (isAborted(signal)) return;
      }
      const passedMs = this.#transport.now() - askedAt;
      if (events.length === 0 && passedMs < LEAST_PAUSE_MS)
        await this.#transport.sleep(LEAST_PAUSE_MS - Math.max(0, passedMs), signal);
    }
  }

  #page(
    query: Omit<EventFilter, "after"> & { after?: number | string | undefined; wait?: number },
    options?: CallOptions,
  ) {
    return this.#transport.page<SluiceEvent>("/v1/events", { ...query }, options);
  }
}

/** What may be over at the next try. */
function isPassing(error: unknown): error is SluiceError {
  return (
    error instanceof ConnectionError ||
    error instanceof RateLimitError ||
    error instanceof ServerError ||
    (error instanceof SluiceError && error.retryable)
  );
}

/** Asked anew each time: it changes while others run. */
function isAborted(signal: AbortSignalLike | undefined): boolean {
  return signal?.aborted === true;
}
