/**
 * What the operator sees: the newest report of every object. It is fed, and asks nobody: an idle tenant is never
 * woken to be measured. Nothing that must hold depends on it.
 */

import { DurableObject } from "cloudflare:workers";
import type { Figure } from "../core/figures.ts";
import type { Incident } from "../core/incident.ts";
import { type Env, readSettings } from "../env.ts";
import { type MonitorDb, migrateMonitorDb, openMonitorDb } from "../store/monitor/database.ts";
import { Reports } from "./monitor/reports.ts";
import type { MonitorApi, Report } from "./monitor-api.ts";
import { steppedStorage } from "./stepped-storage.ts";

export class Monitor extends DurableObject<Env> implements MonitorApi {
  /** Set by tests; unix milliseconds. */
  clock: () => number = Date.now;
  readonly #db: MonitorDb;
  readonly #reports: Reports;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#db = openMonitorDb(ctx.storage);
    this.#reports = new Reports(steppedStorage("Monitor", ctx.storage), this.#db);
    ctx.blockConcurrencyWhile(async () => {
      await migrateMonitorDb(this.#db);
      this.#reports.load();
    });
  }

  async report(reports: readonly Report[]): Promise<void> {
    this.#reports.take(reports);
    this.#reports.tidy(this.clock());
  }

  async figures(): Promise<readonly Figure[]> {
    return this.#reports.figures([...readSettings(this.env).networks.keys()], this.clock());
  }

  async incidents(_changed: readonly Incident[]): Promise<void> {}
}
