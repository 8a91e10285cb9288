/**
 * One endpoint's queue as an engine: has what is due sent (sending.ts), arms the alarm for all that is left, and tells the
 * tenant what it must know. The calls from outside are in webhook-endpoint.ts.
 *
 * What is still to do has a due time in the database, and the alarm is armed for it. Memory holds only what may be
 * lost: after a crash in mid-send the same event goes out again, with the same id and bytes, and the lost attempt
 * counts against nothing.
 */

import { DurableObject } from "cloudflare:workers";
import { hasFailedLong } from "../../core/webhook-schedule.ts";
import { type Env, readSettings } from "../../env.ts";
import { log } from "../../log.ts";
import { objectOf } from "../../steps.ts";
import { recordEndpointWait } from "../../store/d1/waits.ts";
import { type EndpointRow, noteNews, readEndpoint, setTellAt } from "../../store/endpoint/config.ts";
import { migrateEndpointDb, openEndpointDb } from "../../store/endpoint/database.ts";
import { pruneSettled } from "../../store/endpoint/history.ts";
import { publicKeyOf } from "../../store/endpoint/key-store.ts";
import { readHeads } from "../../store/endpoint/queue.ts";
import { ATTEMPT_DEADLINE_MS } from "../../webhooks/delivery.ts";
import { LOOK_UP_DEADLINE_MS } from "../../webhooks/resolver.ts";
import { placePolicy } from "../../webhooks/target-place.ts";
import type { EndpointState, OverdueAlarm, Patrolled, TenantPeerApi } from "../api.ts";
import { Reporter } from "../reporter.ts";
import { SecretBox } from "../secret-box.ts";
import { soon } from "../soon.ts";
import { steppedStorage } from "../stepped-storage.ts";
import { type Counted, countUp, endpointFigures } from "./figures.ts";
import { EndpointKeys } from "./keys.ts";
import { nextWake } from "./next-wake.ts";
import { Sending } from "./sending.ts";

/** After this long an attempt has ended or was lost in a crash. */
const LEASE_MS = LOOK_UP_DEADLINE_MS + ATTEMPT_DEADLINE_MS + 5_000;
/** An alarm this late was lost. */
const ALARM_OVERDUE_MS = 30_000;
/** A longer wait than this is listed for cron, which wakes the object if its alarm does not. */
const LONG_WAIT_MS = 60_000;
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
  protected readonly sending: Sending;
  protected isClosed = false;
  protected readonly reporter: Reporter;
  /** Attempts by outcome and deliveries by end, since this instance began. */
  readonly #counted: Counted = { attempts: new Map(), ended: new Map() };
  #armedFor: number | null = null;
  #telling = false;
  #toldFailingAt: number | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.storage = steppedStorage("WebhookEndpoint", ctx.storage, () => this.reporter.changed());
    this.db = openEndpointDb(ctx.storage);
    const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
    this.reporter = new Reporter({
      env,
      now: () => this.clock(),
      source: () => {
        const endpoint = this.endpoint();
        return endpoint === null ? null : `endpoint:${endpoint.endpointId}`;
      },
      figures: () => endpointFigures(this.db, this.#counted),
    });
    this.keys = new EndpointKeys(new SecretBox(() => readSettings(env).rootKeys, random), random);
    this.sending = new Sending({
      ...{ db: this.db, storage: this.storage, keys: this.keys },
      policy: () => placePolicy(readSettings(env)),
      fetch: (url, init) => fetch(url, init),
      clock: () => this.clock(),
      random: () => this.random(),
      deadlineMs: () => this.deadlineMs,
      endpoint: () => this.endpoint(),
      waitUntil: (work) => ctx.waitUntil(work),
      goOn: () => this.#goOn(),
      failed: () => this.#noteFailing(),
      counted: (outcome, ended) => {
        countUp(this.#counted.attempts, outcome);
        if (ended !== null) countUp(this.#counted.ended, ended);
      },
      report: (what, fault) => this.#report(what, fault),
    });
    ctx.blockConcurrencyWhile(async () => {
      await migrateEndpointDb(this.db);
      if ((readEndpoint(this.db)?.failingSince ?? null) !== null) this.sending.pace.beginSlowly();
      this.#armedFor = await this.storage.getAlarm();
    });
  }

  async close(): Promise<void> {
    const endpointId = this.endpoint()?.endpointId ?? null;
    this.isClosed = true;
    this.#armedFor = null;
    this.sending.stop();
    this.reporter.stop();
    await this.storage.clear();
    if (endpointId !== null) this.ctx.waitUntil(this.reporter.end(`endpoint:${endpointId}`));
  }

  async patrol(): Promise<Patrolled> {
    this.#armedFor = await this.storage.getAlarm();
    const overdueMs = Math.max(0, this.clock() - (this.#armedFor ?? this.clock()));
    const alarm = this.#overdueAlarm();
    this.advance();
    return { overdueMs, alarm, report: this.reporter.report() };
  }

  /** Whether something is long due, is not under way, and has no alarm that could still begin it. */
  #overdueAlarm(): OverdueAlarm | null {
    const endpoint = this.endpoint();
    if (endpoint === null || this.sending.inFlight.size > 0 || this.#telling) return null;
    const overdueAt = this.clock() - ALARM_OVERDUE_MS;
    const heads = endpoint.status === "enabled" ? readHeads(this.db, 1) : [];
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

  /** After a change of the database: looks anew, starts what is due and may start, and arms the alarm for all that is left. */
  protected advance(): void {
    this.sending.lookAnew();
    this.#goOn();
  }

  #goOn(): void {
    try {
      this.sending.goOn();
      const { endpoint } = this.sending.look() ?? {};
      if (endpoint !== undefined && (endpoint.tellAt ?? Infinity) <= this.clock()) this.#startTelling(endpoint);
    } catch (fault) {
      this.#report("could not start what is due", fault);
    }
    this.#arm();
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

  /**
   * The one alarm stands no later than the earliest thing to do. One that fires early finds nothing due and
   * costs little, so an earlier one is left as it is: a burst of events writes it once.
   */
  #arm(): void {
    const look = this.sending.look();
    if (look === null) return;
    const { endpoint, heads } = look;
    const now = this.clock();
    const underWay = { subjects: this.sending.inFlight, telling: this.#telling };
    const wakeAt = nextWake(endpoint, heads, underWay, now, LEASE_MS);
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
    const facts = { object: `WebhookEndpoint/${this.ctx.id}`, endpoint: this.endpoint()?.id, what };
    log("error", "endpoint_failed", facts, fault);
  }
}
