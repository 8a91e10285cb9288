/**
 * Writes down what looks make of a tenant's incidents: the row and its event in one commit. While all is well there is
 * nothing to write; while one is open, what shows it is refreshed now and then, without an event.
 */

import { derivedId } from "../../../core/ids.ts";
import {
  type Evidence,
  type Incident,
  judgeSight,
  runbookOf,
  type Sight,
  type TenantIncidentKind,
  THRESHOLDS,
} from "../../../core/incident.ts";
import type { IncidentView } from "../../../core/views.ts";
import { EventAppender } from "../../../store/tenant/event-store.ts";
import {
  changeIncident,
  currentIncident,
  deleteIncident,
  type IncidentRow,
  insertIncident,
  nextIncidentSeq,
} from "../../../store/tenant/incident-store.ts";
import type { TenantContext } from "../context.ts";
import { iso } from "../deposit-view.ts";

/** What shows an open one is written anew at most so often. */
const REFRESH_MS = 15 * 60_000;

export interface TenantSight extends Sight {
  readonly kind: TenantIncidentKind;
  readonly subject: string;
  /** Null when it is well: what was written stays. */
  readonly shown: { readonly network: string | null; readonly summary: string; readonly evidence: Evidence } | null;
}

/** @returns how many events were written */
export function recordSights(c: TenantContext, tenantId: string, sights: readonly TenantSight[]): number {
  const news = sights.filter((sight) => isNews(c, sight));
  if (news.length === 0) return 0;
  return c.storage.transactionSync(() => {
    const events = new EventAppender(c.db, tenantId, c.now());
    return news.reduce((written, sight) => written + recordSight(c, events, tenantId, sight), 0);
  });
}

function isNews(c: TenantContext, sight: TenantSight): boolean {
  const row = currentIncident(c.db, sight.kind, sight.subject);
  return verdictOn(c, row, sight).kind !== "nothing" || isStale(c, row, sight);
}

function verdictOn(c: TenantContext, row: IncidentRow | undefined, sight: TenantSight) {
  return judgeSight(row ?? null, sight, c.now(), THRESHOLDS[sight.kind]);
}

function isStale(c: TenantContext, row: IncidentRow | undefined, { shown }: TenantSight): boolean {
  if (row === undefined || row.openedAt === null || shown === null || c.now() - row.shownAt < REFRESH_MS) return false;
  return shown.summary !== row.summary || JSON.stringify(shown.evidence) !== JSON.stringify(row.evidence);
}

/** In the caller's commit. @returns how many events were written */
export function recordSight(c: TenantContext, events: EventAppender, tenantId: string, sight: TenantSight): number {
  const { db } = c;
  const now = c.now();
  const row = currentIncident(db, sight.kind, sight.subject);
  const verdict = verdictOn(c, row, sight);
  const shown = sight.shown === null ? {} : { ...sight.shown, shownAt: now };
  switch (verdict.kind) {
    case "nothing":
      if (row !== undefined && isStale(c, row, sight))
        changeIncident(db, row.seq, { ...shown, ...anotherRevision(row) });
      return 0;
    case "forgotten":
      if (row !== undefined) deleteIncident(db, row.seq);
      return 0;
    case "suspected":
      put(c, tenantId, sight, row, verdict.next);
      return 0;
    case "kept":
      if (row !== undefined) changeIncident(db, row.seq, { ...shown, ...verdict.next, ...anotherRevision(row) });
      return 0;
    case "opened":
      return tell(events, "incident.opened", put(c, tenantId, sight, row, verdict.next));
    case "closed": {
      if (row === undefined) return 0;
      const closed = { ...row, closedAt: now, ...anotherRevision(row) };
      changeIncident(db, row.seq, closed);
      return tell(events, "incident.closed", closed);
    }
  }
}

type Next = Pick<IncidentRow, "firstSeenAt" | "looks" | "openedAt" | "wellSince">;

function put(
  { db, now }: TenantContext,
  tenantId: string,
  { kind, subject, shown }: TenantSight,
  before: IncidentRow | undefined,
  next: Next,
): IncidentRow {
  if (shown === null) throw new Error(`an incident ${kind} of ${subject} begins with nothing that shows it`);
  const seq = before?.seq ?? nextIncidentSeq(db);
  // With its place in it: the clock may stand while one closes and the next one opens.
  const id = before?.id ?? derivedId("inc", tenantId, kind, subject, next.firstSeenAt, seq);
  const row: IncidentRow = {
    seq,
    id,
    kind,
    subject,
    ...next,
    ...shown,
    closedAt: null,
    shownAt: now(),
    toldRevision: 0,
    revision: next.openedAt === null || !isToldOn(kind) ? 0 : 1,
  };
  if (before === undefined) insertIncident(db, row);
  else changeIncident(db, seq, row);
  return row;
}

/** Of a network the scanner tells, once for all tenants and in its own words. */
function isToldOn(kind: TenantIncidentKind): boolean {
  return kind !== "network_halted";
}

function anotherRevision({ kind, revision }: IncidentRow): Pick<IncidentRow, "revision"> {
  return { revision: isToldOn(kind) ? revision + 1 : revision };
}

function tell(events: EventAppender, type: "incident.opened" | "incident.closed", row: IncidentRow): number {
  // It has events of its own: network.halted and network.resumed.
  if (row.kind === "network_halted") return 0;
  events.append(type, row.id, toIncidentView(row));
  return 1;
}

/** @param row one that was opened */
export function toIncidentView(row: IncidentRow): IncidentView {
  const { id, kind, subject, network, closedAt, summary, evidence } = row;
  return {
    id,
    kind,
    subject,
    network,
    status: closedAt === null ? "open" : "closed",
    opened_at: iso(openedAtOf(row)),
    closed_at: closedAt === null ? null : iso(closedAt),
    summary,
    evidence,
    runbook: runbookOf(kind),
  };
}

/** As the operator's monitor is told of it. */
export function toIncident(row: IncidentRow, tenantId: string): Incident {
  const { id, kind, subject, network, closedAt, summary, evidence } = row;
  return { id, kind, subject, tenantId, network, openedAt: openedAtOf(row), closedAt, summary, evidence };
}

function openedAtOf({ id, openedAt }: IncidentRow): number {
  if (openedAt === null) throw new Error(`incident ${id} was never opened`);
  return openedAt;
}
