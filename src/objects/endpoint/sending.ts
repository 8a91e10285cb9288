/**
 * What sends: starts what is due and may start, and commits what came back.
 *
 * Results gather while there is more to send, and are committed together: a commit waits for the disk, however much is
 * in it. Until then its subject counts as under way, so that what is lost in a crash is sent again before anything that
 * follows it. Nothing here is needed after a crash: every delivery that has no committed result is still due.
 */

import type { DeliveryOutcome } from "../../core/webhook-schedule.ts";
import type { EndpointRow } from "../../store/endpoint/config.ts";
import type { EndpointDb } from "../../store/endpoint/database.ts";
import { type KeyRow, resealKey } from "../../store/endpoint/key-store.ts";
import * as queue from "../../store/endpoint/queue.ts";
import { type Deadline, Deadlines } from "../../webhooks/deadline.ts";
import { type AttemptResult, attemptDelivery } from "../../webhooks/delivery.ts";
import { Pace } from "../../webhooks/pace.ts";
import type { SigningKey } from "../../webhooks/signature.ts";
import type { PlacePolicy } from "../../webhooks/target-place.ts";
import type { SteppedStorage } from "../stepped-storage.ts";
import { type Answered, commitAcknowledged, commitFailed } from "./commit-attempt.ts";
import type { EndpointKeys } from "./keys.ts";
import { isFresh, type Look, lookInto } from "./look.ts";

const MAX_IN_FLIGHT = 5;
/** So many at most, or what came in this time, are committed together, and sent again after a crash. */
const RESULTS_AT_ONCE = 100;
const RESULTS_WAIT_MS = 100;
/** Rest after something broke on our own side. */
const FAULT_PAUSE_MS = 60_000;

export interface SendingHost {
  readonly db: EndpointDb;
  readonly storage: SteppedStorage;
  readonly keys: EndpointKeys;
  policy(): PlacePolicy;
  fetch(url: string, init: RequestInit): Promise<Response>;
  clock(): number;
  random(): number;
  deadlineMs(): number;
  /** As it stands now; null: there is none any more. */
  endpoint(): EndpointRow | null;
  waitUntil(work: Promise<void>): void;
  /** Something ended or may begin: calls `goOn` of this one, and does what else follows. */
  goOn(): void;
  /** In the commit of an attempt that failed. */
  failed(): void;
  /** One attempt was committed; `ended`: with it, its delivery. */
  counted(outcome: DeliveryOutcome, ended: "delivered" | "given_up" | null): void;
  report(what: string, fault: unknown): void;
}

export class Sending {
  /** Position of the delivery under way, by subject, until its result is committed. */
  readonly inFlight = new Map<string, number>();
  readonly pace = new Pace();
  readonly #host: SendingHost;
  /** Sent, and not answered yet. */
  #requests = 0;
  /** Answered, and not committed yet. */
  #results: Answered[] = [];
  /** null: the database has changed since. */
  #look: Look | null = null;
  #deadlines = new Deadlines(0);
  readonly #timers = new Map<"pace" | "results", ReturnType<typeof setTimeout>>();

  constructor(host: SendingHost) {
    this.#host = host;
  }

  /** What the database says, as far as it is known. null: there is no endpoint. */
  look(): Look | null {
    const now = this.#host.clock();
    if (this.#look !== null && isFresh(this.#look, now)) return this.#look;
    this.#look = this.#host.endpoint() === null ? null : lookInto(this.#host.db, now);
    return this.#look;
  }

  /** The database has changed. */
  lookAnew(): void {
    this.#look = null;
  }

  goOn(): void {
    const before = this.#look;
    const isSpent = this.#startDue();
    const hasResults = this.#results.length > 0;
    const isEnough = isSpent || this.#requests === 0 || this.#results.length >= RESULTS_AT_ONCE;
    if (hasResults && isEnough) this.#commitResults();
    // What was committed freed others, and more may be due than an earlier look found.
    if (isSpent && (hasResults || before !== null)) {
      this.#look = null;
      this.#startDue();
    }
    if (this.#results.length > 0) this.#goOnAfter("results", RESULTS_WAIT_MS);
  }

  /** The endpoint is closed: nothing is begun or kept any more. */
  stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#results = [];
    this.#look = null;
  }

  /** @returns whether of what was looked at nothing is left that may be sent now */
  #startDue(): boolean {
    const look = this.look();
    if (look === null || look.endpoint.status !== "enabled") return true;
    const now = this.#host.clock();
    for (let head = look.heads[0]; head !== undefined; head = look.heads[0]) {
      if (head.nextAt > now) return true;
      if (!this.inFlight.has(head.subject)) {
        if (this.#requests >= MAX_IN_FLIGHT) return false;
        const waitMs = this.pace.take(now);
        if (waitMs > 0) {
          this.#goOnAfter("pace", waitMs);
          return false;
        }
        this.inFlight.set(head.subject, head.position);
        this.#requests++;
        this.#host.waitUntil(this.#send(look, head));
      }
      look.heads.shift();
    }
    return true;
  }

  /** One attempt, then the next thing due. The alarm armed for the lease repeats it if this object dies meanwhile. */
  async #send(look: Look, head: queue.Head): Promise<void> {
    const { url, statusAt } = look.endpoint;
    const startedAt = this.#host.clock();
    try {
      const result = await this.#attempt(look, head.position);
      this.#results.push({ sent: { ...head, url, statusAt, startedAt }, result });
      this.pace.heard(result.outcome);
    } catch (fault) {
      this.#host.report(`attempt of delivery ${head.position} broke`, fault);
      this.#rest(head);
    }
    this.#requests--;
    this.#host.goOn();
  }

  async #attempt({ endpoint, keys }: Look, position: number): Promise<AttemptResult> {
    const { db, policy, fetch, clock, deadlineMs } = this.#host;
    const content = queue.readContent(db, position);
    if (content === null) throw new Error(`delivery ${position} is a head of the queue, but is not there`);
    const toSign = await this.#signingKeys(keys, endpoint);
    const delivery = { url: endpoint.url, ...policy(), ...content, keys: toSign };
    const startDeadline = () => this.#startDeadline();
    return attemptDelivery(delivery, { fetch, clock, deadlineMs: deadlineMs(), startDeadline });
  }

  #startDeadline(): Deadline {
    const ms = this.#host.deadlineMs();
    if (this.#deadlines.ms !== ms) this.#deadlines = new Deadlines(ms);
    return this.#deadlines.start();
  }

  #signingKeys(keys: readonly KeyRow[], endpoint: EndpointRow): Promise<SigningKey[]> {
    return this.#host.keys.toSign(keys, endpoint, (row, sealed) => {
      // Closed meanwhile: there is nothing left to keep.
      if (this.#host.endpoint() !== null) resealKey(this.#host.db, row, sealed);
    });
  }

  /** All of it in one turn, and so with one wait for the disk. */
  #commitResults(): void {
    const answered = this.#results.splice(0);
    const good = answered.filter(wasAcknowledged);
    const bad = answered.filter((one) => !wasAcknowledged(one));
    // Together: a statement for all of them costs little more than for one. Should one be poison, each by itself.
    if (good.length > 0 && !this.#commit(good)) for (const one of good) if (!this.#commit([one])) this.#rest(one.sent);
    for (const one of bad) if (!this.#commit([one])) this.#rest(one.sent);
    // The deliveries that were looked at stand as they did, but for those that failed; so does the endpoint, if it was well.
    if (bad.length > 0 || (this.#look?.endpoint.failingSince ?? null) !== null) this.#look = null;
  }

  /** @param answered one, or several that were acknowledged @returns whether it could be done; when not, nothing was */
  #commit(answered: readonly Answered[]): boolean {
    const { db, storage, clock, random } = this.#host;
    const [first] = answered;
    try {
      const endpoint = this.#host.endpoint();
      // Closed meanwhile: there is nothing left to change.
      if (endpoint === null || first === undefined) return true;
      const ended = storage.transactionSync(() => {
        if (wasAcknowledged(first)) {
          commitAcknowledged(db, endpoint, answered, clock());
          return "delivered";
        }
        const givenUp = commitFailed(db, endpoint, first, clock(), random());
        this.#host.failed();
        return givenUp;
      });
      for (const { sent, result } of answered) {
        this.inFlight.delete(sent.subject);
        this.#host.counted(result.outcome, ended);
      }
      return true;
    } catch (fault) {
      this.#host.report(
        `${answered.length} results, from delivery ${first?.sent.position} on, could not be kept`,
        fault,
      );
      return false;
    }
  }

  /** Keeps a fault of our own from turning into a loop. It counts as no attempt. */
  #rest({ position, subject }: Pick<queue.Head, "position" | "subject">): void {
    const { db, clock } = this.#host;
    this.#look = null;
    this.inFlight.delete(subject);
    try {
      const row = this.#host.endpoint() === null ? null : queue.readDelivery(db, position);
      if (row !== null) queue.reschedule(db, position, row.failures, clock() + FAULT_PAUSE_MS);
    } catch (fault) {
      this.#host.report(`delivery ${position} could not be put off`, fault);
    }
  }

  #goOnAfter(reason: "pace" | "results", waitMs: number): void {
    if (this.#timers.has(reason)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(reason);
      if (reason === "results") this.#commitResults();
      this.#host.goOn();
    }, waitMs);
    this.#timers.set(reason, timer);
  }
}

function wasAcknowledged({ result }: Answered): boolean {
  return result.outcome === "delivered";
}
