/**
 * The operator's list: tenants' incidents as their objects tell them, and those of the service itself, which are opened
 * and closed here by what scanners and cron saw. Each opening and each closing is one call of the operator's webhook,
 * written in the commit that makes it true. May be told anything twice; what is closed stays closed.
 */

import { derivedId } from "../../core/ids.ts";
import { type Evidence, type Incident, judgeSight, runbookOf, THRESHOLDS } from "../../core/incident.ts";
import { type Outcome, refuse } from "../../core/refusal.ts";
import type { OperatorIncidentView, Page } from "../../core/views.ts";
import { decodeCursor, toPage } from "../../store/cursor.ts";
import {
  changeIncident,
  currentIncident,
  deleteIncident,
  incidentNamed,
  insertCall,
  insertIncident,
  listMonitored,
  type MonitoredIncident,
  nextSeq,
  quietIncidents,
} from "../../store/monitor/incident-store.ts";
import type { PageRequest } from "../api.ts";
import type { OperatorIncidentFilter, Sighting } from "../monitor-api.ts";
import type { MonitorContext } from "./context.ts";

const QUIET_AT_ONCE = 100;

/** Takes in tenants' incidents as they stand. Writes nothing for what it knows already. */
export function takeIncidents(m: MonitorContext, changed: readonly Incident[]): void {
  const news = changed.filter((incident) => isNews(m, incident));
  if (news.length === 0) return;
  m.storage.transactionSync(() => {
    for (const incident of news) takeIncident(m, incident);
  });
}

function isNews({ db }: MonitorContext, incident: Incident): boolean {
  const row = incidentNamed(db, incident.id);
  if (row === undefined) return true;
  // Late news of one that is over by now.
  if (row.closedAt !== null) return false;
  return (
    incident.closedAt !== null ||
    incident.summary !== row.summary ||
    JSON.stringify(incident.evidence) !== JSON.stringify(row.evidence)
  );
}

function takeIncident(m: MonitorContext, incident: Incident): void {
  const { id, kind, subject, tenantId, network, openedAt, closedAt, summary, evidence } = incident;
  const known = incidentNamed(m.db, id);
  const row: MonitoredIncident = {
    seq: known?.seq ?? nextSeq(m.db),
    ...{ id, kind, subject, tenantId, network, openedAt, closedAt, summary, evidence },
    firstSeenAt: openedAt,
    looks: 0,
    quietAt: null,
  };
  if (known === undefined) insertIncident(m.db, row);
  else changeIncident(m.db, row.seq, row);
  if (known === undefined) callOf(m, "incident.opened", { ...row, closedAt: null });
  if (closedAt !== null) callOf(m, "incident.closed", row);
}

/** Judges what was seen of the service itself. */
export function takeSightings(m: MonitorContext, sightings: readonly Sighting[]): void {
  closeQuiet(m);
  for (const sighting of sightings) {
    if (sighting.state === "well" && currentIncident(m.db, sighting.kind, sighting.subject) === undefined) continue;
    m.storage.transactionSync(() => takeSighting(m, sighting));
  }
}

/** Ends what nobody has seen again for long enough, and forgets suspicions that came to nothing. */
export function closeQuiet(m: MonitorContext): void {
  const quiet = quietIncidents(m.db, m.now(), QUIET_AT_ONCE);
  if (quiet.length === 0) return;
  m.storage.transactionSync(() => {
    for (const row of quiet) {
      const { closeAfterMs } = THRESHOLDS[row.kind];
      const since = (row.quietAt ?? m.now()) - closeAfterMs;
      judge(m, row, { kind: row.kind, subject: row.subject, state: "well", isCertain: false, since, shown: null });
    }
  });
}

function takeSighting(m: MonitorContext, sighting: Sighting): void {
  const { kind, subject, network, state, isCertain, summary, evidence } = sighting;
  const shown = state === "ill" ? { network, summary, evidence } : null;
  judge(m, currentIncident(m.db, kind, subject), { kind, subject, state, isCertain, since: null, shown });
}

type Seen = Pick<Sighting, "state" | "isCertain" | "subject"> & {
  readonly kind: MonitoredIncident["kind"];
  readonly since: number | null;
  readonly shown: { readonly network: string | null; readonly summary: string; readonly evidence: Evidence } | null;
};

/** In the caller's commit. */
function judge(m: MonitorContext, row: MonitoredIncident | undefined, seen: Seen): void {
  const { db } = m;
  const now = m.now();
  const { kind, subject, shown } = seen;
  const threshold = THRESHOLDS[kind];
  const verdict = judgeSight(row === undefined ? null : { ...row, wellSince: null }, seen, now, threshold);
  // Where somebody says that it is over, silence says nothing.
  const quietAt = threshold.closeAfterMs === 0 ? null : now + threshold.closeAfterMs;
  switch (verdict.kind) {
    case "forgotten":
      if (row !== undefined) deleteIncident(db, row.seq);
      return;
    case "closed": {
      if (row === undefined) return;
      const closed = { ...row, closedAt: now, quietAt: null };
      changeIncident(db, row.seq, closed);
      callOf(m, "incident.closed", closed);
      return;
    }
    case "suspected":
    case "opened": {
      if (shown === null) throw new Error(`an incident ${kind} of ${subject} begins with nothing that shows it`);
      const { firstSeenAt, looks, openedAt } = verdict.next;
      const seq = row?.seq ?? nextSeq(db);
      const id = row?.id ?? derivedId("inc", kind, subject, firstSeenAt, seq);
      const next = { seq, id, kind, subject, tenantId: null, firstSeenAt, looks, openedAt, closedAt: null, quietAt };
      if (row === undefined) insertIncident(db, { ...next, ...shown });
      else changeIncident(db, seq, { ...next, ...shown });
      if (verdict.kind === "opened") callOf(m, "incident.opened", { ...next, ...shown });
      return;
    }
    case "kept":
    case "nothing":
      // Seen once more: it lasts, as it stands now.
      if (row !== undefined && seen.state === "ill" && quietAt !== null)
        changeIncident(db, row.seq, { quietAt, ...(shown ?? {}) });
  }
}

/** One webhook call, where the operator wants any. In the commit of what it tells. */
function callOf(m: MonitorContext, type: "incident.opened" | "incident.closed", row: MonitoredIncident): void {
  if (m.settings.operatorWebhook === null) return;
  const now = m.now();
  const id = derivedId("evt", "operator", type, row.id);
  const body = JSON.stringify({ id, type, created_at: iso(now), data: toOperatorIncidentView(row) });
  const { id: incidentId } = row;
  insertCall(m.db, { id, incidentId, body, status: "pending", failures: 0, nextAt: now, createdAt: now });
}

export function pageOfIncidents(
  m: MonitorContext,
  { tenant_id: tenantId, ...filter }: OperatorIncidentFilter,
  page: PageRequest,
): Outcome<Page<OperatorIncidentView>> {
  const before = page.cursor === null ? null : decodeCursor(page.cursor);
  if (page.cursor !== null && before === null) {
    return refuse("invalid_cursor", "Pass a next_cursor of this list as it came.");
  }
  const query = { ...filter, ...(tenantId === undefined ? {} : { tenantId }) };
  const rows = listMonitored(m.db, query, before, page.limit + 1);
  return { ok: true, value: toPage(rows, page.limit, (row) => row.seq, toOperatorIncidentView) };
}

function toOperatorIncidentView(row: MonitoredIncident): OperatorIncidentView {
  const { id, kind, subject, tenantId, network, openedAt, closedAt, summary, evidence } = row;
  if (openedAt === null) throw new Error(`incident ${id} was never opened`);
  return {
    id,
    kind,
    subject,
    tenant_id: tenantId,
    network,
    status: closedAt === null ? "open" : "closed",
    opened_at: iso(openedAt),
    closed_at: closedAt === null ? null : iso(closedAt),
    summary,
    evidence,
    runbook: runbookOf(kind),
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
