/**
 * What sends: one endpoint's queue as an engine. Starts what is due, judges what came back, arms the alarm for all
 * that is left, and tells the tenant what it must know. The calls from outside are in webhook-endpoint.ts.
 *
 * What is still to do has a due time in the database, and the alarm is armed for it. Memory holds only what may be
 * lost: after a crash in mid-send the same event goes out again, with the same id and bytes, and the lost attempt
 * counts against nothing.
 */

import { DurableObject } from "cloudflare:workers";
import { hasFailedLong } from "../../core/webhook-schedule.ts";
import { type Env, readSettings } from "../../env.ts";
import { objectOf } from "../../steps.ts";
import { recordEndpointWait } from "../../store/d1/waits.ts";
import { type EndpointRow, noteNews, readEndpoint, setTellAt } from "../../store/endpoint/config.ts";
import { migrateEndpointDb, openEndpointDb } from "../../store/endpoint/database.ts";
import { pruneSettled } from "../../store/endpoint/history.ts";
import { publicKeyOf, resealKey, signingKeys } from "../../store/endpoint/key-store.ts";
import * as queue from "../../store/endpoint/queue.ts";
import { ATTEMPT_DEADLINE_MS, type AttemptResult, attemptDelivery } from "../../webhooks/delivery.ts";
import { Pace } from "../../webhooks/pace.ts";
import { LOOK_UP_DEADLINE_MS } from "../../webhooks/resolver.ts";
import type { SigningKey } from "../../webhooks/signature.ts";
import { placePolicy } from "../../webhooks/target-place.ts";
import type { EndpointState, OverdueAlarm, TenantPeerApi } from "../api.ts";
import { SecretBox } from "../secret-box.ts";
import { soon } from "../soon.ts";
import { steppedStorage } from "../stepped-storage.ts";
import { commitAttempt, type Sent } from "./commit-attempt.ts";
import { EndpointKeys } from "./keys.ts";
import { nextWake } from "./next-wake.ts";

const MAX_IN_FLIGHT = 5;
/** At most five heads are under way, and at most five more wait for an attempt of their own subject. */
const HEADS_LOOKED_AT = 3 * MAX_IN_FLIGHT;
const MAX_STARTS_PER_SECOND = 50;
/** After this long an attempt has ended or was lost in a crash. */
const LEASE_MS = LOOK_UP_DEADLINE_MS + ATTEMPT_DEADLINE_MS + 5_000;
/** An alarm this late was lost. */
const ALARM_OVERDUE_MS = 30_000;
/** A longer wait than this is listed for cron, which wakes the object if its alarm does not. */
const LONG_WAIT_MS = 60_000;
/** Rest after something broke on our own side. */
const FAULT_PAUSE_MS = 60_000;
const TELL_RETRY_MS = 60_000;
/** While it does nothing but fail, the tenant hears of it at most so often. */
const TELL_FAILING_MS = 15 * 60_000;
const RETENTION_MS = 30 * 24 * 3_600_000;
const ROWS_PRUNED_AT_ONCE = 500;

export abstract class EndpointBase extends DurableObject<Env> {
  // The world, replaceable in tests.
  clock = () => Date.now();
  random = () => Math.random();
  deadlineMs = ATTEMPT_DEADLINE_MS;

  protected readonly storage;
  protected readonly db;
  protected readonly keys: EndpointKeys;
  /** Position of the delivery under way, by subject. */
  protected readonly inFlight = new Map<string, number>();
  protected isClosed = false;
  readonly #pace = new Pace(MAX_STARTS_PER_SECOND, 1_000);
  #armedFor: number | null = null;
  #paceTimer: ReturnType<typeof setTimeout> | null = null;
  #telling = false;
  #toldFailingAt: number | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.storage = steppedStorage("WebhookEndpoint", ctx.storage);
    this.db = openEndpointDb(ctx.storage);
    const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
    this.keys = new EndpointKeys(new SecretBox(() => readSettings(env).rootKeys, random), random);
    ctx.blockConcurrencyWhile(async () => {
      await migrateEndpointDb(this.db);
      this.#armedFor = await this.storage.getAlarm();
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.#armedFor = null;
    if (this.#paceTimer !== null) clearTimeout(this.#paceTimer);
    await this.storage.clear();
  }

  async patrol(): Promise<OverdueAlarm | null> {
    this.#armedFor = await this.storage.getAlarm();
    const overdue = this.#overdueAlarm();
    this.advance();
    return overdue;
  }

  /** Whether something is long due, is not under way, and has no alarm that could still begin it. */
  #overdueAlarm(): OverdueAlarm | null {
    const endpoint = this.endpoint();
    if (endpoint === null || this.inFlight.size > 0 || this.#telling) return null;
    const overdueAt = this.clock() - ALARM_OVERDUE_MS;
    const heads = endpoint.status === "enabled" ? queue.readHeads(this.db, 1) : [];
    const dueAt = Math.min(...[endpoint.tellAt, heads[0]?.nextAt].map((at) => at ?? Number.POSITIVE_INFINITY));
    const isArmed = this.#armedFor !== null && this.#armedFor > overdueAt;
    return dueAt > overdueAt || isArmed ? null : { dueAt, isMissing: this.#armedFor === null };
  }

  /** May run twice, early or late: what it does depends on the due times alone. */
  override async alarm(): Promise<void> {
    this.#armedFor = null;
    if (this.endpoint() === null) return;
    try {
      const cutoff = this.clock() - RETENTION_MS;
      this.storage.transactionSync(() => pruneSettled(this.db, cutoff, ROWS_PRUNED_AT_ONCE));
    } catch (fault) {
      this.#report("could not prune", fault);
    }
    this.advance();
  }

  /** Starts what is due and may start, then arms the alarm for all that is left. */
  protected advance(): void {
    const endpoint = this.endpoint();
    if (endpoint === null) return;
    try {
      if (endpoint.status === "enabled") this.#startDue(endpoint);
      if (endpoint.tellAt !== null && endpoint.tellAt <= this.clock()) this.#startTelling(endpoint);
    } catch (fault) {
      this.#report("could not start what is due", fault);
    }
    this.#arm();
  }

  #startDue(endpoint: EndpointRow): void {
    const now = this.clock();
    for (const head of queue.readHeads(this.db, HEADS_LOOKED_AT)) {
      if (head.nextAt > now || this.inFlight.size >= MAX_IN_FLIGHT) return;
      if (this.inFlight.has(head.subject)) continue;
      const waitMs = this.#pace.take(now);
      if (waitMs > 0) {
        this.#advanceAfter(waitMs);
        return;
      }
      this.inFlight.set(head.subject, head.position);
      this.ctx.waitUntil(this.#send(endpoint, head));
    }
  }

  /** One attempt, then the next thing due. The alarm armed for the lease repeats it if this object dies meanwhile. */
  async #send(endpoint: EndpointRow, head: queue.Head): Promise<void> {
    try {
      const startedAt = this.clock();
      const result = await this.#attempt(endpoint, head.position, startedAt);
      const { url, statusAt } = endpoint;
      this.#commit({ position: head.position, url, statusAt, startedAt }, result);
    } catch (fault) {
      this.#report(`attempt of delivery ${head.position} broke`, fault);
      this.#rest(head.position);
    } finally {
      this.inFlight.delete(head.subject);
      this.advance();
    }
  }

  async #attempt(endpoint: EndpointRow, position: number, now: number): Promise<AttemptResult> {
    const row = queue.readDelivery(this.db, position);
    if (row === null) throw new Error(`delivery ${position} is a head of the queue, but is not there`);
    const keys = await this.#signingKeys(endpoint, now);
    return attemptDelivery(
      {
        url: endpoint.url,
        ...placePolicy(readSettings(this.env)),
        eventId: row.eventId,
        body: row.body,
        keys,
      },
      { fetch: (url, init) => fetch(url, init), clock: this.clock, deadlineMs: this.deadlineMs },
    );
  }

  #signingKeys(endpoint: EndpointRow, now: number): Promise<SigningKey[]> {
    return this.keys.toSign(signingKeys(this.db, now), endpoint, (row, sealed) => {
      // Closed meanwhile: there is nothing left to keep.
      if (this.endpoint() !== null) resealKey(this.db, row, sealed);
    });
  }

  #commit(sent: Sent, result: AttemptResult): void {
    const endpoint = this.endpoint();
    // Closed meanwhile: there is nothing left to change.
    if (endpoint === null) return;
    this.storage.transactionSync(() => {
      commitAttempt(this.db, endpoint, sent, result, this.clock(), this.random());
      this.#noteFailing();
    });
  }

  /** In the commit of an attempt. What was told is forgotten with the instance, and told once more. */
  #noteFailing(): void {
    const endpoint = this.endpoint();
    const now = this.clock();
    if (endpoint?.status !== "enabled" || !hasFailedLong(endpoint.failingSince, now)) return;
    if (this.#toldFailingAt !== null && now - this.#toldFailingAt < TELL_FAILING_MS) return;
    this.#toldFailingAt = now;
    noteNews(this.db, now);
  }

  /** Keeps a fault of our own from turning into a loop. It counts as no attempt. */
  #rest(position: number): void {
    try {
      const row = this.endpoint() === null ? null : queue.readDelivery(this.db, position);
      if (row !== null) queue.reschedule(this.db, position, row.failures, this.clock() + FAULT_PAUSE_MS);
    } catch (fault) {
      this.#report(`delivery ${position} could not be put off`, fault);
    }
  }

  #startTelling(endpoint: EndpointRow): void {
    if (this.#telling) return;
    this.#telling = true;
    this.ctx.waitUntil(this.#tell(endpoint));
  }

  /** Repeats until the tenant has heard the state that holds. */
  async #tell(told: EndpointRow): Promise<void> {
    let tellAgainAt: number | null = null;
    try {
      const tenant = objectOf<TenantPeerApi>("Tenant", this.env.TENANT, told.tenantId);
      await soon(tenant.endpointStatus(told.endpointId, this.stateOf(told)), this.deadlineMs);
    } catch (fault) {
      this.#report("the tenant could not be told its endpoint's state", fault);
      tellAgainAt = this.clock() + TELL_RETRY_MS;
    }
    this.#telling = false;
    const endpoint = this.endpoint();
    if (endpoint === null) return;
    const changedMeanwhile = endpoint.revision !== told.revision;
    setTellAt(this.db, changedMeanwhile ? this.clock() : tellAgainAt);
    this.advance();
  }

  #advanceAfter(waitMs: number): void {
    if (this.#paceTimer !== null) return;
    this.#paceTimer = setTimeout(() => {
      this.#paceTimer = null;
      this.advance();
    }, waitMs);
  }

  /**
   * The one alarm stands no later than the earliest thing to do. One that fires early finds nothing due and
   * costs little, so an earlier one is left as it is: a burst of events writes it once.
   */
  #arm(): void {
    const endpoint = this.endpoint();
    if (endpoint === null) return;
    const now = this.clock();
    const heads = queue.readHeads(this.db, HEADS_LOOKED_AT);
    const wakeAt = nextWake(endpoint, heads, { subjects: this.inFlight, telling: this.#telling }, now, LEASE_MS);
    if (wakeAt === null) return;
    const armedFor = this.#armedFor;
    if (armedFor !== null && armedFor >= now - ALARM_OVERDUE_MS && armedFor <= wakeAt) return;
    this.#armedFor = wakeAt;
    this.ctx.waitUntil(this.storage.setAlarm(wakeAt));
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

  protected stateOf({ revision, status, disabledReason, statusAt, failingSince }: EndpointRow): EndpointState {
    const disabledAt = status === "disabled" ? statusAt : null;
    return { revision, status, disabledReason, disabledAt, failingSince, publicKey: publicKeyOf(this.db) };
  }

  protected endpoint(): EndpointRow | null {
    return this.isClosed ? null : readEndpoint(this.db);
  }

  /** An event for an endpoint that is not there must not vanish unnoticed: the caller hears of it. */
  protected configured(): EndpointRow {
    const endpoint = this.endpoint();
    if (endpoint === null) throw new Error("this webhook endpoint is not configured, or was deleted");
    return endpoint;
  }

  #report(what: string, fault: unknown): void {
    const error = fault instanceof Error ? fault.message : String(fault);
    console.error(JSON.stringify({ at: "webhook endpoint", object: String(this.ctx.id), what, error }));
  }
}
