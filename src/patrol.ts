/**
 * The minute's watchdog. It wakes nobody who is idle: scanners of networks that are on, which know
 * themselves whether anyone needs them, endpoints whose long wait should be over, and tenants with
 * withdrawals under way.
 */

import { type Env, readSettings } from "./env.ts";
import type { EndpointApi, OverdueAlarm, ScannerApi, TenantPeerApi } from "./objects/api.ts";
import { MONITOR_NAME, type MonitorApi, type Sighting } from "./objects/monitor-api.ts";
import { objectIfAny, objectOf } from "./steps.ts";
import { clearTenantWork, overdueTenantWork, postponeTenantWork, type TenantWork } from "./store/d1/tenant-work.ts";
import { clearEndpointWait, overdueEndpointWaits, recordEndpointWait } from "./store/d1/waits.ts";

const ENDPOINTS_PER_ROUND = 100;
const TENANTS_PER_ROUND = 100;
/** A tenant may wait for slow chains: a few of them are looked at side by side. */
const TENANTS_AT_ONCE = 5;
/** Until the next look at a tenant with withdrawals under way. */
const TENANT_MS = 5 * 60_000;
/** Until the next look at one where only something is left that a person has to settle. */
const UNSETTLED_MS = 60 * 60_000;

/** One object that fails does not keep the others from being looked at. */
export async function patrol(env: Env, now: number): Promise<void> {
  const overdue: Sighting[] = [];
  const scanners = [...readSettings(env).networks.keys()].map(async (network) => {
    const alarm = await objectOf<ScannerApi>("ChainScanner", env.CHAIN_SCANNER, network).patrol();
    overdue.push(...sightingOf(`network:${network}`, network, alarm));
  });
  const work = [...scanners, patrolEndpoints(env, now, overdue), patrolTenants(env, now, overdue)];
  const results = await Promise.allSettled(work);
  if (overdue.length > 0) results.push(...(await Promise.allSettled([tellMonitor(env, overdue)])));
  for (const result of results) {
    if (result.status === "rejected") console.error(JSON.stringify({ at: "patrol", error: String(result.reason) }));
  }
}

async function tellMonitor(env: Env, overdue: readonly Sighting[]): Promise<void> {
  for (const { subject, evidence } of overdue)
    console.error(JSON.stringify({ at: "patrol", overdue: subject, ...evidence }));
  await objectIfAny<MonitorApi>("Monitor", env.MONITOR, MONITOR_NAME)?.saw(overdue);
}

/** One that is late may come yet, after a time in which the whole machine was away; one that is missing never does. */
function sightingOf(subject: string, network: string | null, alarm: OverdueAlarm | null): Sighting[] {
  if (alarm === null) return [];
  const { dueAt, isMissing } = alarm;
  return [
    {
      kind: "alarm_overdue",
      subject,
      network,
      state: "ill",
      isCertain: isMissing,
      summary: `Nothing had woken ${subject} when cron looked in; cron has.`,
      evidence: {
        alarm: isMissing ? "missing" : "late",
        due_at: dueAt === null ? null : new Date(dueAt).toISOString(),
      },
    },
  ];
}

async function patrolEndpoints(env: Env, now: number, overdue: Sighting[]): Promise<void> {
  for (const { endpointId, dueAt } of await overdueEndpointWaits(env.DB, now, ENDPOINTS_PER_ROUND)) {
    try {
      const alarm = await objectOf<EndpointApi>("WebhookEndpoint", env.WEBHOOK_ENDPOINT, endpointId).patrol();
      overdue.push(...sightingOf(`endpoint:${endpointId}`, null, alarm));
      // Cleared after the look, and only this wait: one that was recorded meanwhile stays.
      await clearEndpointWait(env.DB, endpointId, dueAt);
    } catch (error) {
      // It stays listed, last: the next minute looks again.
      console.error(JSON.stringify({ at: "patrol", endpoint: endpointId, error: String(error) }));
      await recordEndpointWait(env.DB, endpointId, now);
    }
  }
}

async function patrolTenants(env: Env, now: number, overdue: Sighting[]): Promise<void> {
  const due = await overdueTenantWork(env.DB, now, TENANTS_PER_ROUND);
  for (let at = 0; at < due.length; at += TENANTS_AT_ONCE) {
    await Promise.all(due.slice(at, at + TENANTS_AT_ONCE).map((seen) => patrolTenant(env, seen, now, overdue)));
  }
}

/** Nothing is thrown out of here: one tenant does not keep the others from being looked at. */
async function patrolTenant(env: Env, seen: TenantWork, now: number, overdue: Sighting[]): Promise<void> {
  const { tenantId } = seen;
  try {
    const looked = await objectOf<TenantPeerApi>("Tenant", env.TENANT, tenantId).patrol();
    const { isIdle, unresolved, mismatches } = looked;
    overdue.push(...sightingOf(`tenant:${tenantId}`, null, looked.alarm));
    // The row as it was seen before the look: a withdrawal that was asked for since has touched it.
    if (isIdle && unresolved === 0 && mismatches === 0) return await clearTenantWork(env.DB, seen);
    const dueAt = now + (isIdle ? UNSETTLED_MS : TENANT_MS);
    await postponeTenantWork(env.DB, tenantId, { dueAt, unresolved, mismatches });
  } catch (error) {
    console.error(JSON.stringify({ at: "patrol", tenant: tenantId, error: String(error) }));
    await postponeTenantWork(env.DB, tenantId, { dueAt: now + TENANT_MS }).catch((cause: unknown) => {
      console.error(JSON.stringify({ at: "patrol", tenant: tenantId, error: String(cause) }));
    });
  }
}
