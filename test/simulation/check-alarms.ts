/**
 * What is left to do has an alarm that stands for it, durably, in every moment: an object that dies now wakes and
 * goes on by itself. Cron repairs what the platform forgets, and is no way of going on.
 */

import { EVENT_LOG } from "../support/event-log.ts";
import type { Fail } from "./check-books.ts";
import { isEndpoint, isScanner, isTenant, type Service } from "./service.ts";
import type { SimObject } from "./world/objects.ts";

/** An attempt has ended or was lost after so long: 5 s for its name, 15 s, and 5 s more. */
const LEASE_MS = 25_000;

export function checkAlarms(service: Service, now: number, fail: Fail): void {
  for (const object of service.objects) {
    const { name, disk } = object;
    // The platform calls a handler again that did not come to its end; one that it gave up is cron's.
    if (disk.isRinging || object.isGivenUp) continue;
    const left = workOf(object);
    if (left === null) continue;
    const at = disk.durableAlarm;
    if (at === null) fail(`${name} has ${left.what} and no alarm: it is never done`);
    else if (left.by !== null && at > Math.max(left.by, now) + LEASE_MS)
      fail(`${name} has ${left.what} by ${left.by}, and its alarm stands at ${at}: it is never done in time`);
  }
}

/** What an object has to do, and when, if that is stated. */
function workOf(object: SimObject): { what: string; by: number | null } | null {
  if (isScanner(object)) return workOfScanner(object);
  if (isTenant(object)) return workOfTenant(object);
  return isEndpoint(object) ? workOfEndpoint(object) : null;
}

function workOfScanner({ disk }: SimObject) {
  const watched = disk.rows("SELECT 1 FROM addresses WHERE until_height IS NULL LIMIT 1").length > 0;
  return watched ? { what: "addresses to watch", by: null } : null;
}

const TENANTS_WORK = {
  "events to hand over": `SELECT 1 FROM endpoints WHERE deleted_at IS NULL AND handed_to < (SELECT max(sequence) FROM ${EVENT_LOG}) LIMIT 1`,
  "addresses to give back": "SELECT 1 FROM addresses WHERE release_pending = 1 LIMIT 1",
  "endpoints to close": "SELECT 1 FROM endpoints WHERE close_pending = 1 LIMIT 1",
  "endpoints to tell their target":
    "SELECT 1 FROM endpoints WHERE deleted_at IS NULL AND configure_pending = 1 LIMIT 1",
  "backfills to hand over": "SELECT 1 FROM backfills WHERE handed_over = 0 AND status = 'queued' LIMIT 1",
};

function workOfTenant({ disk }: SimObject) {
  for (const [what, sql] of Object.entries(TENANTS_WORK)) if (disk.rows(sql).length > 0) return { what, by: null };
  const due = disk.rows("SELECT min(due_at) AS at FROM wallets")[0]?.at ?? null;
  return due === null ? null : { what: "a wallet to look at", by: Number(due) };
}

function workOfEndpoint({ disk }: SimObject) {
  const [row] = disk.rows("SELECT status, tell_at FROM endpoint");
  if (row === undefined) return null;
  if (row.tell_at !== null) return { what: "its status to tell", by: Number(row.tell_at) };
  if (row.status !== "enabled") return null;
  const due = disk.rows("SELECT min(next_at) AS at FROM deliveries WHERE status = 'pending' AND blocked = 0")[0]?.at;
  return due == null ? null : { what: "deliveries to make", by: Number(due) };
}
