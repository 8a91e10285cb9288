/**
 * What the operator sees: the newest report of every object. It is fed, and asks nobody: an idle tenant is never
 * woken to be measured. Nothing that must hold depends on it.
 */

import { DurableObject } from "cloudflare:workers";
import type { Figure } from "../core/figures.ts";
import type { Incident } from "../core/incident.ts";
import type { Env } from "../env.ts";
import { type MonitorDb, migrateMonitorDb, openMonitorDb } from "../store/monitor/database.ts";
import type { MonitorApi, Report } from "./monitor-api.ts";

/** There is one. */
export const MONITOR_NAME = "monitor";

export class Monitor extends DurableObject<Env> implements MonitorApi {
  readonly #db: MonitorDb;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#db = openMonitorDb(ctx.storage);
    ctx.blockConcurrencyWhile(() => migrateMonitorDb(this.#db));
  }

  async report(_reports: readonly Report[]): Promise<void> {}

  async figures(): Promise<readonly Figure[]> {
    return [];
  }

  async incidents(_changed: readonly Incident[]): Promise<void> {}
}
