/** What a webhook endpoint tells the operator's monitor of itself, without its name. */

import { type Figure, figure, unlessZero } from "../../core/figures.ts";
import type { DeliveryOutcome } from "../../core/webhook-schedule.ts";
import { readEndpoint } from "../../store/endpoint/config.ts";
import type { EndpointDb } from "../../store/endpoint/database.ts";
import { waiting } from "../../store/endpoint/queue.ts";

/** Lost with the instance, and carried on by whoever heard of it. */
export interface Counted {
  readonly attempts: Map<DeliveryOutcome, number>;
  readonly ended: Map<"delivered" | "given_up", number>;
}

const MOST_COUNTED = 10_000;

export function endpointFigures(db: EndpointDb, { attempts, ended }: Counted): readonly Figure[] {
  const endpoint = readEndpoint(db);
  if (endpoint === null) return [];
  const { pending, oldest } = waiting(db, MOST_COUNTED);
  const isEnabled = endpoint.status === "enabled";
  const state = isEnabled ? (endpoint.failingSince === null ? "working" : "failing") : "disabled";
  return [
    figure("sluice_webhook_endpoints", 1, { state }),
    ...unlessZero("sluice_webhook_deliveries_pending", pending),
    // What waits for a person to enable its endpoint would hide what is late.
    ...(oldest === null || !isEnabled
      ? []
      : [figure("sluice_event_oldest_undelivered_timestamp_seconds", oldest / 1_000)]),
    ...[...attempts].map(([outcome, n]) => figure("sluice_webhook_attempts_total", n, { outcome })),
    ...[...ended].map(([outcome, n]) => figure("sluice_webhook_deliveries_total", n, { outcome })),
  ];
}

export function countUp<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
