/** Who needs a network. */

import { earliestJobDue, pendingNotices } from "../../store/scanner/job-store.ts";
import { anyoneWaits, hasWatches } from "../../store/scanner/watch-store.ts";
import { type ScannerContext, stateOf } from "./context.ts";

/** Whether anybody needs this network read. One that nobody watches is not polled. */
export function isActive(s: ScannerContext): boolean {
  const { scannedTo } = stateOf(s);
  if (scannedTo === null) return false;
  return (
    hasWatches(s.db, scannedTo + 1) ||
    anyoneWaits(s.db) ||
    earliestJobDue(s.db) !== null ||
    pendingNotices(s.db, 1).length > 0
  );
}
