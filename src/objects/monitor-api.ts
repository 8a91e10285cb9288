/** What objects tell the operator's monitor, and what it answers. */

import type { Figure } from "../core/figures.ts";
import type { Evidence, Incident, IncidentKind, TenantIncidentKind } from "../core/incident.ts";
import type { Outcome } from "../core/refusal.ts";
import type { OperatorIncidentView, Page, PageRequest } from "../core/views.ts";

/** There is one. */
export const MONITOR_NAME = "monitor";

/**
 * One object's own state as it stands. It may arrive twice, late or never: an older one is ignored, and the next one
 * makes a lost one good.
 */
export interface Report {
  /** `network:<id>`, `tenant:<id>`, `endpoint:<id>` or `cron`. */
  readonly source: string;
  /** Unix ms, by the source's own clock. */
  readonly at: number;
  /** None: the object is gone. What it counted stays counted. */
  readonly figures: readonly Figure[];
}

/** What is of no tenant: told by whoever meets it, opened and closed by the monitor. */
export type ServiceIncidentKind = Exclude<IncidentKind, TenantIncidentKind> | "network_halted";

/**
 * What one object or cron has just seen of the service itself. Of what is not told again for long enough the monitor
 * takes it that it is over.
 */
export interface Sighting {
  readonly kind: ServiceIncidentKind;
  readonly subject: string;
  readonly network: string | null;
  /** `well`: it is over for good. */
  readonly state: "ill" | "well";
  /** Shown beyond doubt: it opens at once. */
  readonly isCertain: boolean;
  readonly summary: string;
  readonly evidence: Evidence;
}

export interface OperatorIncidentFilter {
  readonly status?: "open" | "closed";
  readonly kind?: IncidentKind;
  readonly tenant_id?: string;
  readonly network?: string;
}

export interface MonitorApi {
  /** Keeps each source's newest report. */
  report(reports: readonly Report[]): Promise<void>;
  /** All figures, merged over their sources. */
  figures(): Promise<readonly Figure[]>;
  /** Keeps incidents as they stand now, for the operator's list and webhook. May be repeated; a closed one stays closed. */
  incidents(changed: readonly Incident[]): Promise<void>;
  /** Judges what was seen of the service itself. May be repeated. */
  saw(sightings: readonly Sighting[]): Promise<void>;
  /** Newest first. Refuses `invalid_cursor`. */
  listIncidents(filter: OperatorIncidentFilter, page: PageRequest): Promise<Outcome<Page<OperatorIncidentView>>>;
}
