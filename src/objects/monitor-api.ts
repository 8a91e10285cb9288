/** What objects tell the operator's monitor, and what it answers. */

import type { Figure } from "../core/figures.ts";
import type { Incident } from "../core/incident.ts";

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

export interface MonitorApi {
  /** Keeps each source's newest report. */
  report(reports: readonly Report[]): Promise<void>;
  /** All figures, merged over their sources. */
  figures(): Promise<readonly Figure[]>;
  /** Keeps incidents as they stand now, for the operator's list and webhook. May be repeated; a closed one stays closed. */
  incidents(changed: readonly Incident[]): Promise<void>;
}
