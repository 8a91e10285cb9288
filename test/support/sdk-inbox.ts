/** A merchant who credits what an inbox hands over, and books that show each thing done twice. */

import type { EventData, EventOf, SluiceEvent } from "../../src/sdk/index.ts";

let made = 0;

/** A deposit's event. `epoch` is the number of the confirmation it belongs to. */
export function depositEvent(
  type: "deposit.pending" | "deposit.dropped" | "deposit.confirmed" | "deposit.reverted" | "deposit.settled",
  subjectSequence: number,
  epoch = 1,
  subject = "dep_1",
): SluiceEvent {
  const data = { id: subject, account: "customer", amount_units: "100", epoch } as EventData[typeof type];
  return eventOf(type, subject, subjectSequence, data);
}

export function withdrawalEvent(subjectSequence: number, subject = "wd_1"): SluiceEvent {
  return eventOf("withdrawal.updated", subject, subjectSequence, { id: subject } as EventData["withdrawal.updated"]);
}

export function eventOf<Type extends SluiceEvent["type"]>(
  type: Type,
  subject: string,
  subjectSequence: number,
  data: EventData[Type],
): SluiceEvent {
  const event: EventOf<Type> = {
    id: `evt_${subject}_${subjectSequence}`,
    type,
    api_version: "2026-11-01",
    sequence: ++made,
    subject,
    subject_sequence: subjectSequence,
    created_at: "2026-06-01T00:00:00.000Z",
    data,
  };
  return event as unknown as SluiceEvent;
}

/** The events as the log would number them. */
export function inOrder(...events: readonly SluiceEvent[]): SluiceEvent[] {
  return events.map((event, index) => ({ ...event, sequence: index + 1 }));
}

/** What an event adds to the customer's balance. */
export function amountOf(event: SluiceEvent): number {
  switch (event.type) {
    case "deposit.confirmed":
      return Number(event.data.amount_units);
    case "deposit.reverted":
      return -Number(event.data.amount_units);
    default:
      return 0;
  }
}

/** One line for each event that was applied, in order. Nothing here keeps one from being written twice. */
export const BOOKS =
  "CREATE TABLE books (line INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT NOT NULL, amount INTEGER NOT NULL)";
