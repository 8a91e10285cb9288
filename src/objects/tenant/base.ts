/**
 * What every call of a tenant's object stands on: the context, who may call, and what follows a commit.
 *
 * One alarm serves everything that is still to be done; the rows say what that is. It is set in the turn of
 * the commit that makes it necessary, so it is as durable as the commit, and whoever sets it never sets it
 * later than something else that is due.
 */

import { DurableObject } from "cloudflare:workers";
import type { AuditedCall as CallName } from "../../core/audit-entry.ts";
import type { Scope } from "../../core/views.ts";
import { type Env, readSettings } from "../../env.ts";
import { log } from "../../log.ts";
import { migrateTenantDb, openTenantDb } from "../../store/tenant/database.ts";
import { lastSequence } from "../../store/tenant/event-store.ts";
import { type ApiKeyRow, tenantRow } from "../../store/tenant/key-store.ts";
import { nextWalletDue } from "../../store/tenant/wallet-store.ts";
import type { Answer, Caller, OverdueAlarm } from "../api.ts";
import { loggingAbout } from "../log-scope.ts";
import { Reporter } from "../reporter.ts";
import { SecretBox } from "../secret-box.ts";
import { steppedStorage } from "../stepped-storage.ts";
import { releaseDeleted } from "./addresses.ts";
import { type Audited, AuditedCall } from "./audited-call.ts";
import { answer, authorize, type Done, RequestRates, refusedAnswer } from "./authorize.ts";
import { handOverBackfills } from "./backfills.ts";
import type { TenantContext } from "./context.ts";
import { closeDeleted, tellTargets } from "./endpoints.ts";
import { EventWaits } from "./event-waits.ts";
import { type RepeatedRequests, tenantFigures } from "./figures.ts";
import { handOff, hasToHandOff } from "./hand-off.ts";
import { hasIncidentsToTell, tellIncidents } from "./incidents/tell.ts";
import { Turns } from "./turns.ts";
import { driveWithdrawals } from "./withdrawals/drive.ts";

/** How long after a commit the alarm looks whether its follow-up was done. */
const FOLLOW_UP_MS = 2_000;
const RETRY_MS = 15_000;
/** Refusals and replays of one key that the audit log takes in a minute: a key that is misused must not fill it. */
const UNCHANGING_PER_WINDOW = 60;
/** A look at a wallet that is due for so long was forgotten. */
const OVERDUE_MS = 60_000;

export abstract class TenantBase extends DurableObject<Env> {
  /** Set by tests; unix milliseconds. */
  clock: () => number = Date.now;
  protected readonly c: TenantContext;
  protected readonly eventWaits = new EventWaits();
  readonly #rates = new RequestRates();
  readonly #unchanging = new RequestRates(UNCHANGING_PER_WINDOW);
  protected readonly reporter: Reporter;
  readonly #repeated: RepeatedRequests = { replays: 0, conflicts: 0 };
  /** What the alarm is set to; null: it has fired, or nothing is known of it. */
  #armedFor: number | null = null;
  #followUp: Promise<boolean> | null = null;
  /** Runs of the whole work, at this moment. */
  #atWork = 0;
  #followAgain = false;
  /** Written once and never changed. */
  #tenantId: string | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const db = openTenantDb(ctx.storage);
    this.reporter = new Reporter({
      env,
      now: () => this.clock(),
      source: () => {
        const row = tenantRow(db);
        return row === undefined ? null : `tenant:${row.id}`;
      },
      figures: () => tenantFigures(this.c, this.#repeated),
    });
    const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
    this.c = {
      storage: steppedStorage("Tenant", ctx.storage, () => {
        this.eventWaits.wake(() => lastSequence(db));
        this.reporter.changed();
      }),
      db,
      env,
      // Read when needed: settings that are refused must not keep the alarm from re-arming.
      get settings() {
        return readSettings(env);
      },
      now: () => this.clock(),
      random,
      addressTurns: new Turns(),
      turns: new Turns(),
      payers: {
        nodes: new Map(),
        derived: new Map(),
        signers: new Map(),
        coinNodes: new Map(),
        coinSigners: new Map(),
        expiringChains: new Map(),
        expiringSigners: new Map(),
      },
      lookedAt: new Map(),
      secrets: new SecretBox(() => readSettings(env).rootKeys, random),
    };
    ctx.blockConcurrencyWhile(async () => {
      await migrateTenantDb(db);
      this.#armedFor = await this.c.storage.getAlarm();
    });
  }

  protected async serve<T>(
    caller: Caller,
    scope: Scope,
    work: (key: ApiKeyRow) => Done<T> | Promise<Done<T>>,
  ): Promise<Answer<T>> {
    const authorized = authorize(this.c, this.#rates, caller, scope);
    if (!authorized.ok) return refusedAnswer(authorized.refusal, authorized.rate);
    this.#mustBeOwn(caller);
    return answer(await loggingAbout(factsOf(caller), () => work(authorized.key)), authorized.rate);
  }

  /**
   * The same for a call that changes something: with its entry in the audit log. In the turn in which `work` ends
   * its last entry is written, if `work` has not said all of it before.
   * @param subject what the call names; null: it makes what it is about
   */
  protected async change<T>(
    caller: Caller,
    scope: Scope,
    [call, subject]: readonly [CallName, string | null],
    work: (key: ApiKeyRow, audit: Audited) => Done<T> | Promise<Done<T>>,
  ): Promise<Answer<T>> {
    const authorized = authorize(this.c, this.#rates, caller, scope);
    const end = (key: ApiKeyRow, audit: AuditedCall, done: Done<T>) =>
      audit.end(done, () => this.#unchanging.count(key.id, this.clock()).remaining >= 0);
    const auditOf = (key: ApiKeyRow) => new AuditedCall(this.c, caller, key.id, call, subject);
    if (!authorized.ok) {
      const { lacking, refusal, rate } = authorized;
      if (lacking !== null) end(lacking, auditOf(lacking), authorized);
      return refusedAnswer(refusal, rate);
    }
    this.#mustBeOwn(caller);
    const { key, rate } = authorized;
    const audit = auditOf(key);
    const done = await loggingAbout(factsOf(caller), () => work(key, audit));
    end(key, audit, done);
    this.#countRepeated(done);
    return answer(done, rate);
  }

  #mustBeOwn(caller: Caller): void {
    if (this.tenantId() !== caller.tenantId) throw new Error("a caller reached the object of another tenant");
  }

  #countRepeated(done: Done<unknown>): void {
    if (done.ok ? done.replayed !== true : done.refusal.code !== "idempotency_key_reused") return;
    this.#repeated[done.ok ? "replays" : "conflicts"]++;
    this.reporter.changed();
  }

  protected tenantId(): string {
    this.#tenantId ??= tenantRow(this.c.db)?.id ?? null;
    if (this.#tenantId === null) throw new Error("this tenant was never signed up");
    return this.#tenantId;
  }

  // ---- what follows a commit ------------------------------------------------------------------------

  /** Wakes when something may be left to do. Whatever fails is tried again; nothing is thrown out of here. */
  override async alarm(): Promise<void> {
    this.#armedFor = null;
    const facts = { object: "Tenant", tenant: tenantRow(this.c.db)?.id };
    await loggingAbout(facts, async () => {
      await this.#arm((await this.#workOff()) ? null : this.clock() + RETRY_MS);
    });
  }

  /** Does now what a commit left to do; the alarm stands behind it. */
  protected followUpSoon(): void {
    const { c } = this;
    if (!hasToHandOff(c) && !hasIncidentsToTell(c) && nextWalletDue(c.db) === null) return;
    this.followUpLater();
    this.ctx.waitUntil(this.#workOff().then((complete) => (complete ? this.#arm(null) : undefined)));
  }

  protected followUpLater(): void {
    void this.#arm(this.clock() + FOLLOW_UP_MS);
  }

  /** Whether a look at a wallet is long due, with nobody at it and no alarm that could still make it. */
  protected async overdueAlarm(): Promise<OverdueAlarm | null> {
    const dueAt = nextWalletDue(this.c.db);
    const overdueAt = this.clock() - OVERDUE_MS;
    if (dueAt === null || dueAt > overdueAt || this.#atWork > 0) return null;
    const at = await this.c.storage.getAlarm();
    return at !== null && at > overdueAt ? null : { dueAt, isMissing: at === null };
  }

  /**
   * Sets the alarm to the earlier of a moment and the next look at a wallet; a look that is due already is
   * being made, and has the moment behind it. An alarm that comes before stays.
   */
  #arm(at: number | null): Promise<void> {
    const wallet = nextWalletDue(this.c.db);
    const isBehind = at !== null && wallet !== null && wallet <= this.clock();
    const dues = [at, isBehind ? null : wallet].filter((due) => due !== null);
    const next = Math.min(...dues);
    const isSooner = this.#armedFor === null || this.#armedFor <= this.clock() || next < this.#armedFor;
    if (dues.length === 0 || !isSooner) return Promise.resolve();
    this.#armedFor = next;
    return this.c.storage.setAlarm(next);
  }

  /** Hands over and pays, side by side: a chain that answers slowly delays nobody's events. @returns whether all is done */
  async #workOff(): Promise<boolean> {
    const drive = async () => (await driveWithdrawals(this.c, this.tenantId())) === 0 || this.#follow();
    this.#atWork++;
    const parts = await Promise.allSettled([this.#follow(), drive()]);
    this.#atWork--;
    for (const part of parts) {
      if (part.status === "rejected") log("warn", "follow_up_failed", {}, part.reason);
    }
    return parts.every((part) => part.status === "fulfilled" && part.value);
  }

  /** One run at a time; whoever asks while it goes on makes it look once more at its end. */
  #follow(): Promise<boolean> {
    this.#followAgain = true;
    this.#followUp ??= this.#followAll();
    return this.#followUp;
  }

  async #followAll(): Promise<boolean> {
    let complete = false;
    while (this.#followAgain) {
      this.#followAgain = false;
      complete = await this.#followOnce();
    }
    // What was handed over is no commit, and undelivered no more.
    this.reporter.changed();
    // In the turn of the last look: nobody can ask in between and go unheard.
    this.#followUp = null;
    return complete;
  }

  /** Each step by itself: one that cannot be done now does not keep the others from being done. */
  async #followOnce(): Promise<boolean> {
    const { c } = this;
    const steps = [
      () => handOff(c),
      () => releaseDeleted(c, this.tenantId()),
      () => closeDeleted(c),
      () => tellTargets(c, this.tenantId()),
      () => handOverBackfills(c, this.tenantId()),
      () => tellIncidents(c, this.tenantId()),
    ];
    let complete = true;
    for (const step of steps) {
      try {
        if ((await step()) === false) complete = false;
      } catch (error) {
        complete = false;
        log("warn", "follow_up_failed", {}, error);
      }
    }
    return complete;
  }
}

/** So that a request can be followed from the edge into the work that it made here. */
function factsOf({ tenantId, requestId }: Caller) {
  return { tenant: tenantId, request_id: requestId };
}
