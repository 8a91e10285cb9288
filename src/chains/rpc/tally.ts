/** What one provider was asked, and how that went. Counted while the instance lives. */

import type { FailureKind } from "./rpc-failure.ts";

export interface ProviderTally {
  requests: number;
  /** Of all requests together. */
  totalMs: number;
  /** Of one request, smoothed; null before the first. */
  latencyMs: number | null;
  readonly failures: Map<FailureKind, number>;
}

/** Weight of the newest request in the smoothed latency. */
const LATENCY_WEIGHT = 0.2;

export function newTally(): ProviderTally {
  return { requests: 0, totalMs: 0, latencyMs: null, failures: new Map() };
}

/** @param failure null: it was answered */
export function countRequest(tally: ProviderTally, tookMs: number, failure: FailureKind | null): void {
  const { latencyMs: before } = tally;
  tally.requests++;
  tally.totalMs += tookMs;
  tally.latencyMs = before === null ? tookMs : before + LATENCY_WEIGHT * (tookMs - before);
  if (failure !== null) tally.failures.set(failure, (tally.failures.get(failure) ?? 0) + 1);
}
