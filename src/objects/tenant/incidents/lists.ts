/** A tenant's incidents as it reads them. Nothing here writes. */

import type { IncidentView, Page } from "../../../core/views.ts";
import { decodeCursor, toPage } from "../../../store/cursor.ts";
import { incidentById, listIncidents } from "../../../store/tenant/incident-store.ts";
import type { IncidentFilter, PageRequest } from "../../api.ts";
import { BAD_CURSOR, type Done, notFound } from "../authorize.ts";
import type { TenantContext } from "../context.ts";
import { toIncidentView } from "./record.ts";

export function pageOfIncidents(c: TenantContext, filter: IncidentFilter, page: PageRequest): Done<Page<IncidentView>> {
  const before = page.cursor === null ? null : decodeCursor(page.cursor);
  if (page.cursor !== null && before === null) return BAD_CURSOR;
  const rows = listIncidents(c.db, filter, before, page.limit + 1);
  return { ok: true, value: toPage(rows, page.limit, (row) => row.seq, toIncidentView) };
}

export function oneIncident(c: TenantContext, id: string): Done<IncidentView> {
  const row = incidentById(c.db, id);
  return row === undefined ? notFound("incident") : { ok: true, value: toIncidentView(row) };
}
