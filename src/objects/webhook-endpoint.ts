/**
 * One webhook endpoint: keeps its queue of deliveries and sends them.
 *
 * Invariants:
 * - a delivery leaves the queue only by an acknowledgement or visibly given up;
 * - of one subject one delivery is under way at a time, the earliest; other subjects do not wait for it;
 * - what is still to do has a due time in the database, and the alarm is armed for it. Memory holds only
 *   what may be lost: after a crash in mid-send the same event goes out again, with the same id and
 *   bytes, and the lost attempt counts against nothing.
 */

import { DurableObject } from "cloudflare:workers";
import { type Outcome, refuse } from "../core/refusal.ts";
import type { DeliveryView, Page } from "../core/views.ts";
import { type Env, readSettings } from "../env.ts";
import { objectOf } from "../steps.ts";
import { decodeCursor, toPage } from "../store/cursor.ts";
import { recordEndpointWait } from "../store/d1/waits.ts";
import * as config from "../store/endpoint/config.ts";
import { migrateEndpointDb, openEndpointDb } from "../store/endpoint/database.ts";
import { deliveryView, listDeliveries, pruneSettled, type StatusFilter } from "../store/endpoint/history.ts";
import * as queue from "../store/endpoint/queue.ts";
import { ATTEMPT_DEADLINE_MS, type AttemptResult, attemptDelivery } from "../webhooks/delivery.ts";
import { Pace } from "../webhooks/pace.ts";
import { mintSecret } from "../webhooks/signature.ts";
import { placePolicy } from "../webhooks/target-place.ts";
import type { EndpointApi, EndpointConfig, PageRequest, QueuedEvent, TenantPeerApi } from "./api.ts";
import { commitAttempt, type Sent } from "./endpoint/commit-attempt.ts";
import { configureEndpoint, rotateEndpointSecret } from "./endpoint/configure.ts";
import { nextWake } from "./endpoint/next-wake.ts";
import { steppedStorage } from "./stepped-storage.ts";

const MAX_IN_FLIGHT = 5;
/** At most five heads are under way, and at most five more wait for an attempt of their own subject. */
const HEADS_LOOKED_AT = 3 * MAX_IN_FLIGHT;
const MAX_STARTS_PER_SECOND = 50;
/** After this long an attempt has ended or was lost in a crash. */
const LEASE_MS = ATTEMPT_DEADLINE_MS + 5_000;
/** An alarm this late was lost. */
const ALARM_OVERDUE_MS = 30_000;
/** A longer wait than this is listed for cron, which wakes the object if its alarm does not. */
const LONG_WAIT_MS = 60_000;
/** Rest after something broke on our own side. */
const FAULT_PAUSE_MS = 60_000;
const TELL_RETRY_MS = 60_000;
const RETENTION_MS = 30 * 24 * 3_600_000;
const ROWS_PRUNED_AT_ONCE = 500;
const SECRET_BYTES = 32;

export class WebhookEndpoint extends DurableObject<Env> implements EndpointApi {
  // The world, replaceable in tests.
  clock = () => Date.now();
  random = () => Math.random();
  deadlineMs = ATTEMPT_DEADLINE_MS;

  readonly #storage;
  readonly #db;
  readonly #pace = new Pace(MAX_STARTS_PER_SECOND, 1_000);
  /** Position of the delivery under way, by subject. */
  readonly #inFlight = new Map<string, number>();
  #armedFor: number | null = null;
  #paceTimer: ReturnType<typeof setTimeout> | null = null;
  #telling = false;
  #closed = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#storage = steppedStorage("WebhookEndpoint", ctx.storage);
    this.#db = openEndpointDb(ctx.storage);
    ctx.blockConcurrencyWhile(async () => {
      await migrateEndpointDb(this.#db);
      this.#armedFor = await this.#storage.getAlarm();
    });
  }

  async configure(target: EndpointConfig): Promise<{ secret: string | null }> {
    if (this.#closed) throw new Error(`endpoint ${target.endpointId} was deleted; its id is not used again`);
    const fresh = this.#newSecret();
    const now = this.clock();
    const secret = this.#storage.transactionSync(() => configureEndpoint(this.#db, target, fresh, now));
    return { secret };
  }

  async rotateSecret(overlapS: number, requestId: string): Promise<{ secret: string }> {
    this.#configured();
    const fresh = this.#newSecret();
    const now = this.clock();
    const secret = this.#storage.transactionSync(() => rotateEndpointSecret(this.#db, fresh, overlapS, requestId, now));
    return { secret };
  }

  async enqueue(events: readonly QueuedEvent[], options: { readonly replay: boolean }): Promise<void> {
    this.#configured();
    const now = this.clock();
    const inFlight = new Set(this.#inFlight.values());
    this.#storage.transactionSync(() => {
      for (const event of events) {
        if (options.replay) queue.enqueueAgain(this.#db, event, inFlight, now);
        else queue.enqueueOnce(this.#db, event, now);
      }
    });
    this.#advance();
  }

  async enable(): Promise<void> {
    if (this.#configured().status === "enabled") return;
    const now = this.clock();
    this.#storage.transactionSync(() => {
      config.enableEndpoint(this.#db, now);
      queue.makeHeadsDue(this.#db, now);
    });
    this.#advance();
  }

  async deliveries(
    filter: { readonly status?: Exclude<StatusFilter, null> },
    page: PageRequest,
  ): Promise<Outcome<Page<DeliveryView>>> {
    const endpoint = this.#endpoint();
    if (endpoint === null) return refuse("not_found", "There is no such webhook endpoint.");
    const before = page.cursor === null ? null : decodeCursor(page.cursor);
    if (page.cursor !== null && before === null) {
      return refuse("invalid_cursor", "Pass a next_cursor of this list as it came.");
    }
    const rows = listDeliveries(this.#db, filter.status ?? null, before, page.limit + 1);
    const value = toPage(
      rows,
      page.limit,
      (row) => row.position,
      (row) => deliveryView(endpoint, row),
    );
    return { ok: true, value };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#armedFor = null;
    if (this.#paceTimer !== null) clearTimeout(this.#paceTimer);
    await this.#storage.clear();
  }

  async patrol(): Promise<void> {
    this.#armedFor = await this.#storage.getAlarm();
    this.#advance();
  }

  /** May run twice, early or late: what it does depends on the due times alone. */
  override async alarm(): Promise<void> {
    this.#armedFor = null;
    if (this.#endpoint() === null) return;
    try {
      const cutoff = this.clock() - RETENTION_MS;
      this.#storage.transactionSync(() => pruneSettled(this.#db, cutoff, ROWS_PRUNED_AT_ONCE));
    } catch (fault) {
      this.#report("could not prune", fault);
    }
    this.#advance();
  }

  /** Starts what is due and may start, then arms the alarm for all that is left. */
  #advance(): void {
    const endpoint = this.#endpoint();
    if (endpoint === null) return;
    try {
      if (endpoint.status === "enabled") this.#startDue(endpoint);
      if (endpoint.tellAt !== null && endpoint.tellAt <= this.clock()) this.#startTelling(endpoint);
    } catch (fault) {
      this.#report("could not start what is due", fault);
    }
    this.#arm();
  }

  #startDue(endpoint: config.EndpointRow): void {
    const now = this.clock();
    for (const head of queue.readHeads(this.#db, HEADS_LOOKED_AT)) {
      if (head.nextAt > now || this.#inFlight.size >= MAX_IN_FLIGHT) return;
      if (this.#inFlight.has(head.subject)) continue;
      const waitMs = this.#pace.take(now);
      if (waitMs > 0) {
        this.#advanceAfter(waitMs);
        return;
      }
      this.#inFlight.set(head.subject, head.position);
      this.ctx.waitUntil(this.#send(endpoint, head));
    }
  }

  /** One attempt, then the next thing due. The alarm armed for the lease repeats it if this object dies meanwhile. */
  async #send(endpoint: config.EndpointRow, head: queue.Head): Promise<void> {
    try {
      const startedAt = this.clock();
      const result = await this.#attempt(endpoint, head.position, startedAt);
      this.#commit({ position: head.position, url: endpoint.url, startedAt }, result);
    } catch (fault) {
      this.#report(`attempt of delivery ${head.position} broke`, fault);
      this.#rest(head.position);
    } finally {
      this.#inFlight.delete(head.subject);
      this.#advance();
    }
  }

  #attempt(endpoint: config.EndpointRow, position: number, now: number): Promise<AttemptResult> {
    const row = queue.readDelivery(this.#db, position);
    if (row === null) throw new Error(`delivery ${position} is a head of the queue, but is not there`);
    return attemptDelivery(
      {
        url: endpoint.url,
        ...placePolicy(readSettings(this.env)),
        eventId: row.eventId,
        body: row.body,
        secrets: config.signingSecrets(this.#db, now),
      },
      { fetch: (url, init) => fetch(url, init), clock: this.clock, deadlineMs: this.deadlineMs },
    );
  }

  #commit(sent: Sent, result: AttemptResult): void {
    const endpoint = this.#endpoint();
    // Closed meanwhile: there is nothing left to change.
    if (endpoint === null) return;
    this.#storage.transactionSync(() => {
      commitAttempt(this.#db, endpoint, sent, result, this.clock(), this.random());
    });
  }

  /** Keeps a fault of our own from turning into a loop. It counts as no attempt. */
  #rest(position: number): void {
    try {
      const row = this.#endpoint() === null ? null : queue.readDelivery(this.#db, position);
      if (row !== null) queue.reschedule(this.#db, position, row.failures, this.clock() + FAULT_PAUSE_MS);
    } catch (fault) {
      this.#report(`delivery ${position} could not be put off`, fault);
    }
  }

  #startTelling(endpoint: config.EndpointRow): void {
    if (this.#telling) return;
    this.#telling = true;
    this.ctx.waitUntil(this.#tell(endpoint));
  }

  /** Repeats until the tenant has heard the status that holds. */
  async #tell(told: config.EndpointRow): Promise<void> {
    let tellAgainAt: number | null = null;
    try {
      const tenant = objectOf<TenantPeerApi>("Tenant", this.env.TENANT, told.tenantId);
      await tenant.endpointStatus(told.endpointId, told.status, told.disabledReason);
    } catch (fault) {
      this.#report("the tenant could not be told its endpoint's status", fault);
      tellAgainAt = this.clock() + TELL_RETRY_MS;
    }
    this.#telling = false;
    const endpoint = this.#endpoint();
    if (endpoint === null) return;
    const changedMeanwhile = endpoint.statusAt !== told.statusAt || endpoint.status !== told.status;
    config.setTellAt(this.#db, changedMeanwhile ? this.clock() : tellAgainAt);
    this.#advance();
  }

  #advanceAfter(waitMs: number): void {
    if (this.#paceTimer !== null) return;
    this.#paceTimer = setTimeout(() => {
      this.#paceTimer = null;
      this.#advance();
    }, waitMs);
  }

  /**
   * The one alarm stands no later than the earliest thing to do. One that fires early finds nothing due and
   * costs little, so an earlier one is left as it is: a burst of events writes it once.
   */
  #arm(): void {
    const endpoint = this.#endpoint();
    if (endpoint === null) return;
    const now = this.clock();
    const heads = queue.readHeads(this.#db, HEADS_LOOKED_AT);
    const wakeAt = nextWake(endpoint, heads, { subjects: this.#inFlight, telling: this.#telling }, now, LEASE_MS);
    if (wakeAt === null) return;
    const armedFor = this.#armedFor;
    if (armedFor !== null && armedFor >= now - ALARM_OVERDUE_MS && armedFor <= wakeAt) return;
    this.#armedFor = wakeAt;
    this.ctx.waitUntil(this.#storage.setAlarm(wakeAt));
    if (wakeAt - now > LONG_WAIT_MS) this.ctx.waitUntil(this.#listWait(endpoint.endpointId, wakeAt));
  }

  /** A second way to be woken, so that it may fail. */
  async #listWait(endpointId: string, wakeAt: number): Promise<void> {
    try {
      await recordEndpointWait(this.env.DB, endpointId, wakeAt + ALARM_OVERDUE_MS);
    } catch (fault) {
      this.#report("a long wait could not be listed", fault);
    }
  }

  #endpoint(): config.EndpointRow | null {
    return this.#closed ? null : config.readEndpoint(this.#db);
  }

  /** An event for an endpoint that is not there must not vanish unnoticed: the caller hears of it. */
  #configured(): config.EndpointRow {
    const endpoint = this.#endpoint();
    if (endpoint === null) throw new Error("this webhook endpoint is not configured, or was deleted");
    return endpoint;
  }

  #newSecret(): string {
    return mintSecret(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
  }

  #report(what: string, fault: unknown): void {
    const error = fault instanceof Error ? fault.message : String(fault);
    console.error(JSON.stringify({ at: "webhook endpoint", object: String(this.ctx.id), what, error }));
  }
}
