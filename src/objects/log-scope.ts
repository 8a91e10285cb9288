/** What an object works on, for the log: every line that is written meanwhile says it, however far down it is. */

import { AsyncLocalStorage } from "node:async_hooks";
import { type LogFacts, setLogScope } from "../log.ts";

const about = new AsyncLocalStorage<LogFacts>();
setLogScope(() => about.getStore() ?? {});

export function loggingAbout<T>(facts: LogFacts, work: () => T): T {
  return about.run({ ...about.getStore(), ...facts }, work);
}
