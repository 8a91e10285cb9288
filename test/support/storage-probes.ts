/**
 * What a Durable Object's storage does, as small programs and what must be found after them. The same list is run
 * on workerd and on the simulation's storage, so that what holds in simulated worlds holds on the real platform.
 *
 * Every probe has a fresh object with the empty table `probe_x (id INTEGER PRIMARY KEY, v)`.
 */

import { AGAIN, ALARMS, DELETE_ALL, RINGING } from "./storage-probes/alarms.ts";
import type { Probe } from "./storage-probes/probe.ts";
import { STATEMENTS } from "./storage-probes/statements.ts";
import { FAILURES, TRANSACTIONS, TURNS } from "./storage-probes/turns.ts";
import { CURSORS, VALUES } from "./storage-probes/values.ts";

export {
  FAR,
  type Found,
  type Probe,
  type ProbeRequest,
  type ProbeStep,
  type ProbeStorage,
  plain,
} from "./storage-probes/probe.ts";

export const PROBES: Readonly<Record<string, readonly Probe[]>> = {
  turns: TURNS,
  transactions: TRANSACTIONS,
  "statements that fail": FAILURES,
  alarms: ALARMS,
  "alarms that ring": RINGING,
  "alarms that fail": AGAIN,
  "deleteAll()": DELETE_ALL,
  values: VALUES,
  cursors: CURSORS,
  statements: STATEMENTS,
};
