/** What a run met, read from the rows that it left. */

import { EVENT_LOG } from "../support/event-log.ts";
import type { Reach } from "./fates.ts";
import { isTenant, type Service } from "./service.ts";

/** States of withdrawals that may still change. */
export function statesOf(service: Service): readonly string[] {
  const states = new Set<string>();
  for (const { disk } of service.objects.filter(isTenant)) {
    const open = `SELECT DISTINCT state FROM withdrawals WHERE state NOT IN ('failed', 'cancelled', 'rejected', 'confirmed')
      UNION SELECT 'confirmed' FROM withdrawals AS w JOIN slots AS s ON s.withdrawal_id = w.id
        WHERE w.state = 'confirmed' AND s.status = 'open'`;
    for (const { state } of disk.rows(open)) states.add(String(state));
  }
  return [...states].sort();
}

/** What became of everything, counted at the end of a run. */
export function countReached(service: Service, reach: Reach): void {
  for (const { disk } of service.objects.filter(isTenant)) {
    for (const row of disk.rows("SELECT from_state, to_state, reason FROM withdrawal_transitions"))
      reach.count(`step ${row.from_state ?? "nothing"}>${row.to_state} ${row.reason}`);
    for (const { type } of disk.rows(`SELECT type FROM ${EVENT_LOG}`)) reach.count(`event ${type}`);
    for (const { outcome } of disk.rows("SELECT outcome FROM attempts")) reach.count(`outcome ${outcome ?? "none"}`);
    const replaced = "SELECT kind, number FROM attempts WHERE number > 1";
    for (const { kind } of disk.rows(replaced)) reach.count(`attempt ${kind} that replaces another`);
  }
}
