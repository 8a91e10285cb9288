/** What the parts of the monitor work with. */

import type { Settings } from "../../env.ts";
import type { MonitorDb } from "../../store/monitor/database.ts";
import type { SteppedStorage } from "../stepped-storage.ts";

export interface MonitorContext {
  readonly storage: SteppedStorage;
  readonly db: MonitorDb;
  readonly settings: Settings;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** In [0, 1). */
  readonly random: () => number;
}
