/**
 * The receiving end: applies each event once, and in the order of its subject, whichever way it comes and
 * however often. What the consumer writes for an event and the inbox's own mark are one commit.
 *
 * `decide` is pure. A mark says how far a subject was applied; an event is applied only by the commit that moves
 * the mark from exactly what was read.
 */

import { SluiceError } from "./errors.ts";
import type { InboxStorage, Mark } from "./inbox-storage.ts";
import type { List } from "./pages.ts";
import type { AbortSignalLike } from "./platform.ts";
import type { CallOptions } from "./transport.ts";
import type { EventFilter, SluiceEvent } from "./types.ts";

/** Somebody else moves the mark each time: no more than this is possible without a fault. */
const MAX_TRIES = 20;
/** Pages of the feed that are read while a webhook waits for its answer. */
const MAX_PAGES_IN_REQUEST = 5;
const PAGE = 200;
const RETRY_AFTER_S = 10;
/** Where the feed's own position is kept: no subject looks like this. */
const FEED = "sluice:feed";

/** The part of `sluice.events` that is needed. */
export interface EventFeed {
  list(filter: EventFilter, options?: CallOptions): List<SluiceEvent>;
  follow(options: { after: number; signal?: AbortSignalLike | undefined }): AsyncIterable<SluiceEvent>;
}

export interface InboxOptions<Applied> {
  readonly storage: InboxStorage<Applied>;
  /**
   * What an event means to the consumer, run inside the storage's commit. Throwing undoes it: the event is not
   * applied and comes again. What it does outside that commit (a mail, a call) may be done again.
   */
  readonly apply: (event: SluiceEvent) => Applied;
  /** `sluice.events`: fills what a webhook left out. Without it, such a webhook waits for the sender to fill it. */
  readonly feed?: EventFeed | undefined;
  /**
   * With a feed: the last sequence that the consumer's books had before there was an inbox; 0 when left out. Counts
   * until the feed was read for the first time. Of what lies before it nothing is applied, whichever way it comes,
   * and nothing is waited for.
   */
  readonly after?: number | undefined;
  /** Any name, for ever: where one store takes the events of several tenants, each of which has a sequence of its own. */
  readonly tenant?: string | undefined;
}

/** What became of an event, and what to answer whoever sent it. */
export type Received =
  | { readonly outcome: "applied"; readonly status: 204 }
  /** Applied before, overtaken by a newer event of its subject, or before `after`: acknowledged, nothing done. */
  | { readonly outcome: "duplicate"; readonly status: 204 }
  /** An earlier event of its subject is missing. Nothing done: the sender keeps it and those after it. */
  | { readonly outcome: "gap"; readonly status: 503; readonly retryAfterS: number };

export class Inbox<Applied> {
  readonly #storage: InboxStorage<Applied>;
  readonly #apply: (event: SluiceEvent) => Applied;
  readonly #feed: EventFeed | null;
  readonly #after: number;
  readonly #tenant: string | null;

  /** @throws TypeError */
  constructor({ storage, apply, feed, after = 0, tenant }: InboxOptions<Applied>) {
    if (!Number.isSafeInteger(after) || after < 0) throw new TypeError(`expected after of 0 or more, got ${after}`);
    this.#storage = storage;
    this.#apply = apply;
    this.#feed = feed ?? null;
    this.#after = after;
    this.#tenant = tenant ?? null;
  }

  /**
   * Takes one event in that `Webhooks.verify` gave. Answer with its `status`, and with `Retry-After` when it says so.
   *
   * @throws what `apply` or the storage throws: answer 5xx, and the event comes again
   */
  async receive(event: SluiceEvent): Promise<Received> {
    const received = await this.#take(event, false);
    if (received.outcome !== "gap" || this.#feed === null) return received;
    // The feed has everything, this event included: its own order closes the gap.
    await this.#read(this.#feed, event.sequence, MAX_PAGES_IN_REQUEST, {});
    const again = await this.#take(event, false);
    return again.outcome === "duplicate" ? { outcome: "applied", status: 204 } : again;
  }

  /**
   * Applies what the feed has, up to what is newest now. Goes on where the last reading of the feed ended.
   *
   * @throws what `apply`, the storage or the feed throws; the next reading begins with the event that was not applied
   */
  async catchUp(options: { signal?: AbortSignalLike | undefined } = {}): Promise<void> {
    const feed = this.#mustHaveFeed();
    await this.#read(feed, null, Number.POSITIVE_INFINITY, { signal: options.signal });
  }

  /**
   * Applies what the feed has and what it will have, until the signal ends it.
   *
   * @throws as `catchUp`
   */
  async follow(options: { signal?: AbortSignalLike | undefined } = {}): Promise<void> {
    const feed = this.#mustHaveFeed();
    const after = await this.#begin();
    for await (const event of feed.follow({ after, signal: options.signal })) await this.#takeFromFeed(event);
  }

  async #take(event: SluiceEvent, isFromFeed: boolean): Promise<Received> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const subject = this.#named(markOf(event));
      const before = await this.#storage.read(subject);
      const decision = decide(before, event);
      // Up to where the feed was read, all is applied or lies before the beginning.
      if (decision === "duplicate" || (!isFromFeed && event.sequence <= (await this.#position())))
        return { outcome: "duplicate", status: 204 };
      // The feed leaves nothing out: what is missing lies before where its reader chose to begin.
      if (decision === "gap" && !isFromFeed) return { outcome: "gap", status: 503, retryAfterS: RETRY_AFTER_S };
      const change = { subject, before, after: markAfter(event) };
      if (await this.#storage.commit(change, () => this.#apply(event))) return { outcome: "applied", status: 204 };
    }
    throw new SluiceError(`event ${event.id} found its subject ${event.subject} moving ${MAX_TRIES} times`, {
      code: "state_conflict",
      retryable: true,
    });
  }

  /** @param upTo the last sequence that is of interest; null: to the end */
  async #read(feed: EventFeed, upTo: number | null, maxPages: number, options: CallOptions): Promise<void> {
    const after = await this.#begin();
    let pages = 0;
    for await (const { data } of feed.list({ after, limit: PAGE }, options).pages()) {
      for (const event of data) await this.#takeFromFeed(event);
      const last = data.at(-1)?.sequence ?? after;
      if (++pages >= maxPages || (upTo !== null && last >= upTo)) return;
    }
  }

  async #takeFromFeed(event: SluiceEvent): Promise<void> {
    await this.#take(event, true);
    // After the event's own commit: a crash in between reads it again, and finds it applied.
    await this.#moveFeed(event.sequence);
  }

  async #moveFeed(sequence: number): Promise<void> {
    const subject = this.#named(FEED);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const before = await this.#storage.read(subject);
      if (before !== null && before.subjectSequence >= sequence) return;
      if (await this.#storage.commit({ subject, before, after: { subjectSequence: sequence, credits: 0 } }, null))
        return;
    }
  }

  /** Stores where the feed begins, so that another `after` of a later start changes nothing. */
  async #begin(): Promise<number> {
    const position = await this.#position();
    if (position > 0) await this.#moveFeed(position);
    return position;
  }

  /** How far the feed was read. */
  async #position(): Promise<number> {
    const mark = await this.#storage.read(this.#named(FEED));
    return mark?.subjectSequence ?? this.#after;
  }

  #named(subject: string): string {
    return this.#tenant === null ? subject : `${this.#tenant}/${subject}`;
  }

  #mustHaveFeed(): EventFeed {
    if (this.#feed === null) throw new TypeError("this inbox was made without a feed: pass { feed: sluice.events }");
    return this.#feed;
  }
}

/**
 * Whether an event is the next of its subject.
 *
 * A subject's sequence has no gap where it is written, but an endpoint hears only of the types it asked for: by
 * default of no `deposit.pending` and no `deposit.dropped`. So a jump tells nothing by itself. For a deposit, what
 * counts is that confirmations and reversals alternate, and `epoch` numbers them: an event that finds another
 * number of them applied has left one out. A withdrawal has one type, so that a jump is a gap. Everything else
 * (debts, networks) says how things stand, and the newest counts.
 */
export function decide(before: Mark | null, event: SluiceEvent): "next" | "duplicate" | "gap" {
  const applied = before?.subjectSequence ?? 0;
  if (event.subject_sequence <= applied) return "duplicate";
  if (event.subject_sequence === applied + 1) return "next";
  const needed = creditsBefore(event);
  if (needed !== null) return needed === (before?.credits ?? 0) ? "next" : "gap";
  return event.type === "withdrawal.updated" ? "gap" : "next";
}

/** A test goes to one endpoint and says nothing of how that one fares, which its subject tells all the others. */
function markOf({ type, subject }: SluiceEvent): string {
  return type === "webhook.test" ? `${subject}#test` : subject;
}

function markAfter(event: SluiceEvent): Mark {
  const before = creditsBefore(event) ?? 0;
  const isCredit = event.type === "deposit.confirmed" || event.type === "deposit.reverted";
  return { subjectSequence: event.subject_sequence, credits: isCredit ? before + 1 : before };
}

/** How many confirmations and reversals of its deposit come before an event. null: not about a deposit. */
function creditsBefore(event: SluiceEvent): number | null {
  switch (event.type) {
    case "deposit.pending":
    case "deposit.dropped":
    case "deposit.confirmed":
      return 2 * event.data.epoch - 2;
    case "deposit.reverted":
    case "deposit.settled":
      return 2 * event.data.epoch - 1;
    default:
      return null;
  }
}
