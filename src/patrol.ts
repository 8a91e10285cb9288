/**
 * The minute's watchdog. It wakes nobody who is idle: scanners of networks that are on, which know
 * themselves whether anyone needs them, and endpoints whose long wait should be over.
 */

import { type Env, readSettings } from "./env.ts";
import { clearEndpointWait, overdueEndpointWaits, recordEndpointWait } from "./store/d1/waits.ts";

const ENDPOINTS_PER_ROUND = 100;

/** One object that fails does not keep the others from being looked at. */
export async function patrol(env: Env, now: number): Promise<void> {
  const scanners = [...readSettings(env).networks.keys()].map((network) =>
    env.CHAIN_SCANNER.get(env.CHAIN_SCANNER.idFromName(network)).patrol(),
  );
  const results = await Promise.allSettled([...scanners, patrolEndpoints(env, now)]);
  for (const result of results) {
    if (result.status === "rejected") console.error(JSON.stringify({ at: "patrol", error: String(result.reason) }));
  }
}

async function patrolEndpoints(env: Env, now: number): Promise<void> {
  for (const { endpointId, dueAt } of await overdueEndpointWaits(env.DB, now, ENDPOINTS_PER_ROUND)) {
    try {
      await env.WEBHOOK_ENDPOINT.get(env.WEBHOOK_ENDPOINT.idFromName(endpointId)).patrol();
      // Cleared after the look, and only this wait: one that was recorded meanwhile stays.
      await clearEndpointWait(env.DB, endpointId, dueAt);
    } catch (error) {
      // It stays listed, last: the next minute looks again.
      console.error(JSON.stringify({ at: "patrol", endpoint: endpointId, error: String(error) }));
      await recordEndpointWait(env.DB, endpointId, now);
    }
  }
}
