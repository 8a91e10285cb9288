/** Owns the question when an endpoint's one alarm must stand at the latest. */

import type { EndpointRow } from "../../store/endpoint/config.ts";
import type { Head } from "../../store/endpoint/queue.ts";

export interface UnderWay {
  readonly subjects: ReadonlyMap<string, number>;
  readonly telling: boolean;
}

/**
 * Unix ms, or null when there is nothing left to do.
 *
 * What is under way has its lease: past it, only a crash can have kept it from ending. What is due but
 * not under way waits for a place; whoever holds the place goes on with it, so it has a lease too.
 *
 * @param heads the earliest ones, more than can be under way
 */
export function nextWake(
  endpoint: EndpointRow,
  heads: readonly Head[],
  underWay: UnderWay,
  now: number,
  leaseMs: number,
): number | null {
  const times: number[] = [];
  if (underWay.subjects.size > 0 || underWay.telling) times.push(now + leaseMs);
  if (endpoint.tellAt !== null && !underWay.telling) times.push(endpoint.tellAt);
  if (endpoint.status === "enabled") {
    const waiting = heads.find((head) => !underWay.subjects.has(head.subject));
    if (waiting !== undefined) times.push(waiting.nextAt > now ? waiting.nextAt : now + leaseMs);
  }
  return times.length === 0 ? null : Math.min(...times);
}
