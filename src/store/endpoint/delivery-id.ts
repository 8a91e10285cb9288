/**
 * What the API calls a delivery: derived from what it is of, with its position at the end, so that it is found without an
 * index of names. Rows from before have a name without a position, kept with them or derived each time.
 */

import { derivedId, numberedId, numberIn } from "../../core/ids.ts";
import type { deliveries } from "./schema.ts";

export type NamedRow = Pick<typeof deliveries.$inferSelect, "position" | "eventId" | "replay" | "id" | "isNumbered">;

export function deliveryId(endpointId: string, row: NamedRow): string {
  if (row.id !== null) return row.id;
  const { eventId, replay, position } = row;
  return row.isNumbered === null
    ? derivedId("del", endpointId, eventId, replay)
    : numberedId("del", position, endpointId, eventId, replay);
}

/** Where the delivery of this name would be, if it has its position in it. */
export function positionIn(id: string): number {
  return numberIn("del", id);
}
