/** Which events an endpoint gets. */

import type { EventType } from "../../core/views.ts";
import type { EndpointRow } from "../../store/tenant/endpoint-store.ts";

/** An endpoint that names no events gets all but the two that may still be undone without trace. */
export function wantedTypes(row: Pick<EndpointRow, "events">): readonly EventType[] {
  return row.events ?? DEFAULT_TYPES;
}

const DEFAULT_TYPES: readonly EventType[] = [
  "deposit.confirmed",
  "deposit.reverted",
  "deposit.settled",
  "withdrawal.updated",
  "account.debt_opened",
  "account.debt_cleared",
  "network.halted",
  "network.resumed",
];
