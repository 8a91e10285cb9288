/**
 * What leaves after an incident's commit: the operator's monitor hears of it, and cron is asked to look in where nothing
 * else would find that one is over. Told again until it was heard; what changes meanwhile is told after it.
 */

import { THRESHOLDS } from "../../../core/incident.ts";
import { listTenantWork } from "../../../store/d1/tenant-work.ts";
import { markIncidentTold, untoldIncidents } from "../../../store/tenant/incident-store.ts";
import { monitorOf } from "../../monitor-of.ts";
import { soon } from "../../soon.ts";
import type { TenantContext } from "../context.ts";
import { toIncident } from "./record.ts";

const INCIDENTS_PER_CALL = 100;
const MONITOR_DEADLINE_MS = 5_000;

export function hasIncidentsToTell(c: TenantContext): boolean {
  return untoldIncidents(c.db, 1).length > 0;
}

/** @returns whether everything was told */
export async function tellIncidents(c: TenantContext, tenantId: string): Promise<boolean> {
  const untold = untoldIncidents(c.db, INCIDENTS_PER_CALL);
  if (untold.length === 0) return true;
  const ends = untold.flatMap(({ kind, closedAt, wellSince }) =>
    closedAt === null && wellSince !== null ? [wellSince + THRESHOLDS[kind].closeAfterMs] : [],
  );
  if (ends.length > 0) await listTenantWork(c.env.DB, tenantId, Math.min(...ends));
  const monitor = monitorOf(c.env);
  if (monitor !== null) {
    await soon(monitor.incidents(untold.map((row) => toIncident(row, tenantId))), MONITOR_DEADLINE_MS);
  }
  for (const row of untold) markIncidentTold(c.db, row);
  return untold.length < INCIDENTS_PER_CALL;
}
