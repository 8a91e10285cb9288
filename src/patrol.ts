/**
 * The minute's watchdog. It wakes nobody who is idle: scanners of networks that are on, which know
 * themselves whether anyone needs them, endpoints whose long wait should be over, and tenants with
 * withdrawals under way. How it found them all goes to the operator's monitor at its end.
 */

import { type Figure, figure } from "./core/figures.ts";
import { type Env, readSettings } from "./env.ts";
import { log } from "./log.ts";
import type { EndpointApi, OverdueAlarm, Patrolled, ScannerApi, TenantPeerApi } from "./objects/api.ts";
import { MONITOR_NAME, type MonitorApi, type Report, type Sighting } from "./objects/monitor-api.ts";
import { soon } from "./objects/soon.ts";
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
/** One object that hangs must not keep the others from being looked at, nor the operator from hearing how they stand. */
const LOOK_DEADLINE_MS = 20_000;
const MONITOR_DEADLINE_MS = 5_000;

type Kind = "network" | "endpoint" | "tenant";

/** One object that fails does not keep the others from being looked at. */
export async function patrol(env: Env, now: number): Promise<void> {
  const round = new Round();
  const scanners = [...readSettings(env).networks.keys()].map((network) =>
    round.look("network", network, () => objectOf<ScannerApi>("ChainScanner", env.CHAIN_SCANNER, network).patrol()),
  );
  const results = await Promise.allSettled([
    ...scanners,
    patrolEndpoints(env, now, round),
    patrolTenants(env, now, round),
  ]);
  for (const result of results) {
    if (result.status === "rejected") log("error", "patrol_failed", {}, result.reason);
  }
  await tellMonitor(env, round, now);
}

/** What one round found. */
class Round {
  readonly reports: Report[] = [];
  readonly sightings: Sighting[] = [];
  readonly #overdueMs: Record<Kind, number> = { network: 0, endpoint: 0, tenant: 0 };
  readonly #failures: Record<Kind, number> = { network: 0, endpoint: 0, tenant: 0 };

  async look<P extends Patrolled>(kind: Kind, id: string, patrolOne: () => Promise<P>): Promise<P> {
    try {
      const found = await soon(patrolOne(), LOOK_DEADLINE_MS);
      // One that still runs the version before says nothing of itself.
      const { overdueMs = 0, alarm = null, report = null }: Partial<Patrolled> = found ?? {};
      this.#overdueMs[kind] = Math.max(this.#overdueMs[kind], overdueMs);
      if (report !== null) this.reports.push(report);
      if (alarm !== null) this.sightings.push(sightingOf(`${kind}:${id}`, kind === "network" ? id : null, alarm));
      return found;
    } catch (error) {
      this.#failures[kind]++;
      throw error;
    }
  }

  figures(now: number): Figure[] {
    const called = (kind: string) => (kind === "network" ? "scanner" : kind);
    return [
      figure("sluice_cron_last_run_timestamp_seconds", now / 1_000),
      ...Object.entries(this.#overdueMs).map(([kind, ms]) =>
        figure("sluice_alarm_overdue_seconds", ms / 1_000, { object: called(kind) }),
      ),
      ...Object.entries(this.#failures).map(([kind, n]) =>
        figure("sluice_patrol_failures", n, { object: called(kind) }),
      ),
    ];
  }
}

/** The next minute makes good what is lost here. */
async function tellMonitor(env: Env, round: Round, now: number): Promise<void> {
  for (const { subject, evidence } of round.sightings) log("error", "alarm_overdue", { object: subject, ...evidence });
  const monitor = () => objectIfAny<MonitorApi>("Monitor", env.MONITOR, MONITOR_NAME);
  const reports = [...round.reports, { source: "cron", at: now, figures: round.figures(now) }];
  const told = await Promise.allSettled([
    soon(Promise.resolve(monitor()?.report(reports)), MONITOR_DEADLINE_MS),
    round.sightings.length === 0
      ? undefined
      : soon(Promise.resolve(monitor()?.saw(round.sightings)), MONITOR_DEADLINE_MS),
  ]);
  for (const one of told) {
    if (one.status === "rejected") log("warn", "report_failed", { source: "cron" }, one.reason);
  }
}

/** One that is late may come yet, after a time in which the whole machine was away; one that is missing never does. */
function sightingOf(subject: string, network: string | null, { dueAt, isMissing }: OverdueAlarm): Sighting {
  return {
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
  };
}

async function patrolEndpoints(env: Env, now: number, round: Round): Promise<void> {
  for (const { endpointId, dueAt } of await overdueEndpointWaits(env.DB, now, ENDPOINTS_PER_ROUND)) {
    try {
      await round.look("endpoint", endpointId, () =>
        objectOf<EndpointApi>("WebhookEndpoint", env.WEBHOOK_ENDPOINT, endpointId).patrol(),
      );
      // Cleared after the look, and only this wait: one that was recorded meanwhile stays.
      await clearEndpointWait(env.DB, endpointId, dueAt);
    } catch (error) {
      // It stays listed, last: the next minute looks again.
      log("error", "patrol_failed", { endpoint: endpointId }, error);
      await recordEndpointWait(env.DB, endpointId, now);
    }
  }
}

async function patrolTenants(env: Env, now: number, round: Round): Promise<void> {
  const overdue = await overdueTenantWork(env.DB, now, TENANTS_PER_ROUND);
  for (let at = 0; at < overdue.length; at += TENANTS_AT_ONCE) {
    await Promise.all(overdue.slice(at, at + TENANTS_AT_ONCE).map((seen) => patrolTenant(env, seen, now, round)));
  }
}

/** Nothing is thrown out of here: one tenant does not keep the others from being looked at. */
async function patrolTenant(env: Env, seen: TenantWork, now: number, round: Round): Promise<void> {
  const { tenantId } = seen;
  try {
    const { isIdle, unresolved, mismatches } = await round.look("tenant", tenantId, () =>
      objectOf<TenantPeerApi>("Tenant", env.TENANT, tenantId).patrol(),
    );
    // The row as it was seen before the look: a withdrawal that was asked for since has touched it.
    if (isIdle && unresolved === 0 && mismatches === 0) return await clearTenantWork(env.DB, seen);
    await postponeTenantWork(env.DB, tenantId, now + (isIdle ? UNSETTLED_MS : TENANT_MS));
  } catch (error) {
    log("error", "patrol_failed", { tenant: tenantId }, error);
    await postponeTenantWork(env.DB, tenantId, now + TENANT_MS).catch((cause: unknown) => {
      log("error", "patrol_failed", { tenant: tenantId }, cause);
    });
  }
}
