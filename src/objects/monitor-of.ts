/** The operator's monitor as other objects reach it. What they tell it is late or lost when it is away, never in their way. */

import type { Env } from "../env.ts";
import { objectIfAny } from "../steps.ts";
import { MONITOR_NAME, type MonitorApi } from "./monitor-api.ts";

/** Null where there is none. */
export function monitorOf(env: Pick<Env, "MONITOR">): MonitorApi | null {
  return objectIfAny("Monitor", env.MONITOR, MONITOR_NAME);
}
