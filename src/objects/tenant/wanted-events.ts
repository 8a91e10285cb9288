/** Which events an endpoint gets. */

import { EVENT_TYPES, type EventType } from "../../core/views.ts";
import type { EndpointRow } from "../../store/tenant/endpoint-store.ts";

/** What may still be undone without a trace is for those who ask; a test event goes to the endpoint it tests. */
const BY_NAME_ONLY: readonly EventType[] = ["deposit.pending", "deposit.dropped", "webhook.test"];
const DEFAULT_TYPES = EVENT_TYPES.filter((type) => !BY_NAME_ONLY.includes(type));

export function wantedTypes(row: Pick<EndpointRow, "events">): readonly EventType[] {
  return row.events ?? DEFAULT_TYPES;
}
