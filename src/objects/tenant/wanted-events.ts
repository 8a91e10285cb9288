/** Which events an endpoint gets. */

import { EVENT_TYPES, type EventType } from "../../core/views.ts";
import type { EndpointRow } from "../../store/tenant/endpoint-store.ts";
import type { EventRow } from "../../store/tenant/event-store.ts";

/** What may still be undone without a trace is for those who ask. */
const BY_NAME_ONLY: readonly EventType[] = ["deposit.pending", "deposit.dropped", "webhook.test"];
const DEFAULT_TYPES = EVENT_TYPES.filter((type) => !BY_NAME_ONLY.includes(type));

/** The types that it asks for. */
export function wantedTypes(row: Pick<EndpointRow, "events">): readonly EventType[] {
  return row.events ?? DEFAULT_TYPES;
}

/** A test event goes to the endpoint that it tests and to no other, whatever they ask for. */
export function isWanted(row: Pick<EndpointRow, "id" | "events">, event: Pick<EventRow, "type" | "subject">): boolean {
  if (event.type === "webhook.test") return event.subject === endpointSubject(row.id);
  return wantedTypes(row).includes(event.type);
}

/** The subject of the events about an endpoint itself. */
export function endpointSubject(id: string): string {
  return `endpoint:${id}`;
}
