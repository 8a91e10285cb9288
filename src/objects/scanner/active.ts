/** Who needs a network. */

import { earliestJobDue, pendingNotices } from "../../store/scanner/job-store.ts";
import { hasUnmined } from "../../store/scanner/transfer-store.ts";
import { anyoneWaits, hasWatches } from "../../store/scanner/watch-store.ts";
import { type ScannerContext, stateOf } from "./context.ts";

/** Whether anybody needs this network read. One that nobody watches is not polled. */
export function isActive(s: ScannerContext): boolean {
  const { scannedTo } = stateOf(s);
  if (scannedTo === null) return false;
  return (
    hasWatches(s.db, scannedTo + 1) ||
    // Whoever was told that something waits hears how it ended.
    hasUnmined(s.db) ||
    anyoneWaits(s.db) ||
    earliestJobDue(s.db) !== null ||
    pendingNotices(s.db, 1).length > 0
  );
}
