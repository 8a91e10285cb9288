/**
 * What the operator sees: the newest report of every object, and every incident. It is fed, and asks nobody: an idle
 * tenant is never woken to be measured. Nothing that must hold depends on it.
 */

import { DurableObject } from "cloudflare:workers";
import type { Figure } from "../core/figures.ts";
import type { Incident } from "../core/incident.ts";
import { type Env, readSettings } from "../env.ts";
import { log } from "../log.ts";
import { migrateMonitorDb, openMonitorDb } from "../store/monitor/database.ts";
import { nextCallAt, nextQuietAt, pruneMonitored } from "../store/monitor/incident-store.ts";
import type { PageRequest } from "./api.ts";
import type { MonitorContext } from "./monitor/context.ts";
import { closeQuiet, pageOfIncidents, takeIncidents, takeSightings } from "./monitor/incidents.ts";
import { deliverCalls, hasDueCalls, LEASE_MS } from "./monitor/operator-webhook.ts";
import { Reports } from "./monitor/reports.ts";
import type { MonitorApi, OperatorIncidentFilter, Report, Sighting } from "./monitor-api.ts";
import { steppedStorage } from "./stepped-storage.ts";

const DAY_MS = 86_400_000;
/** Of what is over. */
const CALLS_KEPT_MS = 30 * DAY_MS;
const INCIDENTS_KEPT_MS = 365 * DAY_MS;

export class Monitor extends DurableObject<Env> implements MonitorApi {
  // The world, replaceable in tests.
  clock = () => Date.now();
  random = () => Math.random();
  protected readonly m: MonitorContext;
  readonly #reports: Reports;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const db = openMonitorDb(ctx.storage);
    this.m = {
      storage: steppedStorage("Monitor", ctx.storage),
      db,
      get settings() {
        return readSettings(env);
      },
      now: () => this.clock(),
      random: () => this.random(),
    };
    this.#reports = new Reports(this.m.storage, db);
    ctx.blockConcurrencyWhile(async () => {
      await migrateMonitorDb(db);
      this.#reports.load();
      // The alarm may have died on settings that were refused, or a start came between a commit and it.
      await this.#arm().catch((error: unknown) => log("warn", "alarm_not_set", { object: "Monitor" }, error));
    });
  }

  async report(reports: readonly Report[]): Promise<void> {
    this.#reports.take(reports);
    this.#reports.tidy(this.clock());
  }

  async figures(): Promise<readonly Figure[]> {
    return this.#reports.figures([...readSettings(this.env).networks.keys()], this.clock());
  }

  async incidents(changed: readonly Incident[]): Promise<void> {
    takeIncidents(this.m, changed);
    await this.#arm();
  }

  async saw(sightings: readonly Sighting[]): Promise<void> {
    takeSightings(this.m, sightings);
    await this.#arm();
  }

  async listIncidents(filter: OperatorIncidentFilter, page: PageRequest) {
    return pageOfIncidents(this.m, filter, page);
  }

  /** Ends what has become quiet and calls the operator. What it does depends on the rows' times alone. */
  override async alarm(): Promise<void> {
    const { m } = this;
    const now = m.now();
    closeQuiet(m);
    pruneMonitored(m.db, { calls: now - CALLS_KEPT_MS, incidents: now - INCIDENTS_KEPT_MS });
    if (hasDueCalls(m)) {
      // Should this instance end while a call is on its way, it is made again.
      await m.storage.setAlarm(now + LEASE_MS);
      await deliverCalls(m);
    }
    await this.#arm();
  }

  /** The one alarm stands no later than the earliest thing to do; one that comes early finds nothing due. */
  async #arm(): Promise<void> {
    const { m } = this;
    const callAt = m.settings.operatorWebhook === null ? null : nextCallAt(m.db);
    const dues = [callAt, nextQuietAt(m.db)].filter((at) => at !== null);
    if (dues.length === 0) return;
    const next = Math.max(Math.min(...dues), m.now());
    const at = await m.storage.getAlarm();
    if (at === null || at > next) await m.storage.setAlarm(next);
  }
}
