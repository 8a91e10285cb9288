/**
 * The minute's watchdog. It wakes nobody who is idle: scanners of networks that are on, which know
 * themselves whether anyone needs them, endpoints whose long wait should be over, and tenants with
 * withdrawals under way.
 */

import { type Env, readSettings } from "./env.ts";
import { log } from "./log.ts";
import type { EndpointApi, ScannerApi, TenantPeerApi } from "./objects/api.ts";
import { objectOf } from "./steps.ts";
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
  const scanners = [...readSettings(env).networks.keys()].map((network) =>
    objectOf<ScannerApi>("ChainScanner", env.CHAIN_SCANNER, network).patrol(),
  );
  const results = await Promise.allSettled([...scanners, patrolEndpoints(env, now), patrolTenants(env, now)]);
  for (const result of results) {
    if (result.status === "rejected") log("error", "patrol_failed", {}, result.reason);
  }
}

async function patrolEndpoints(env: Env, now: number): Promise<void> {
  for (const { endpointId, dueAt } of await overdueEndpointWaits(env.DB, now, ENDPOINTS_PER_ROUND)) {
    try {
      await objectOf<EndpointApi>("WebhookEndpoint", env.WEBHOOK_ENDPOINT, endpointId).patrol();
      // Cleared after the look, and only this wait: one that was recorded meanwhile stays.
      await clearEndpointWait(env.DB, endpointId, dueAt);
    } catch (error) {
      // It stays listed, last: the next minute looks again.
      log("error", "patrol_failed", { endpoint: endpointId }, error);
      await recordEndpointWait(env.DB, endpointId, now);
    }
  }
}

async function patrolTenants(env: Env, now: number): Promise<void> {
  const overdue = await overdueTenantWork(env.DB, now, TENANTS_PER_ROUND);
  for (let at = 0; at < overdue.length; at += TENANTS_AT_ONCE) {
    await Promise.all(overdue.slice(at, at + TENANTS_AT_ONCE).map((seen) => patrolTenant(env, seen, now)));
  }
}

/** Nothing is thrown out of here: one tenant does not keep the others from being looked at. */
async function patrolTenant(env: Env, seen: TenantWork, now: number): Promise<void> {
  const { tenantId } = seen;
  try {
    const { isIdle, unresolved, mismatches } = await objectOf<TenantPeerApi>("Tenant", env.TENANT, tenantId).patrol();
    // The row as it was seen before the look: a withdrawal that was asked for since has touched it.
    if (isIdle && unresolved === 0 && mismatches === 0) return await clearTenantWork(env.DB, seen);
    const dueAt = now + (isIdle ? UNSETTLED_MS : TENANT_MS);
    await postponeTenantWork(env.DB, tenantId, { dueAt, unresolved, mismatches });
  } catch (error) {
    log("error", "patrol_failed", { tenant: tenantId }, error);
    await postponeTenantWork(env.DB, tenantId, { dueAt: now + TENANT_MS }).catch((cause: unknown) => {
      log("error", "patrol_failed", { tenant: tenantId }, cause);
    });
  }
}
