/**
 * Hands the event log to the endpoints' objects, in sequence. The mark of an endpoint moves only after its
 * object took the events, and the object ignores what it met before: nothing is skipped, nothing doubled.
 */

import { renderBody } from "../../core/api-version.ts";
import { log } from "../../log.ts";
import { endpointById, endpointsBehind, markHanded } from "../../store/tenant/endpoint-store.ts";
import { type EventRow, eventsAfter, lastSequence } from "../../store/tenant/event-store.ts";
import type { QueuedEvent } from "../api.ts";
import { soon } from "../soon.ts";
import type { TenantContext } from "./context.ts";
import { ENDPOINT_DEADLINE_MS, endpointOf } from "./peers.ts";
import { isWanted } from "./wanted-events.ts";

const EVENTS_PER_CALL = 100;
/** Bounds one run; whatever is left goes with the next. */
const MAX_CALLS_PER_RUN = 200;

/** Whether any endpoint has not been handed the whole log yet. */
export function hasToHandOff(c: TenantContext): boolean {
  return endpointsBehind(c.db, lastSequence(c.db)).length > 0;
}

/** @returns whether every endpoint has been handed every event */
export async function handOff(c: TenantContext): Promise<boolean> {
  let complete = true;
  let calls = 0;
  await Promise.all(
    endpointsBehind(c.db, lastSequence(c.db)).map(async (row) => {
      // A broken endpoint object delays its own events only.
      try {
        for (let after = row.handedTo; ; calls++) {
          const batch = eventsAfter(c.db, { after, types: null }, EVENTS_PER_CALL);
          const last = batch.at(-1);
          if (last === undefined) return;
          if (calls >= MAX_CALLS_PER_RUN) {
            complete = false;
            return;
          }
          // As it stands now: while its object took the batch before, it may have been changed or deleted.
          const endpoint = endpointById(c.db, row.id);
          if (endpoint === undefined) return;
          const queued = batch
            .filter((event) => isWanted(endpoint, event))
            .map((event) => toQueued(event, endpoint.apiVersion));
          if (queued.length > 0) {
            await soon(endpointOf(c.env, row.id).enqueue(queued, { replay: false }), ENDPOINT_DEADLINE_MS);
          }
          markHanded(c.db, row.id, last.sequence);
          after = last.sequence;
        }
      } catch (error) {
        complete = false;
        log("warn", "hand_off_failed", { endpoint: row.id }, error);
      }
    }),
  );
  return complete;
}

/** @param version the one that the endpoint is pinned to */
export function toQueued(row: EventRow, version: string): QueuedEvent {
  return {
    id: row.id,
    type: row.type,
    sequence: row.sequence,
    subject: row.subject,
    subjectSequence: row.subjectSequence,
    body: renderBody(row.body, version),
  };
}
