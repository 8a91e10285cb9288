/** Reads from where events are to be sent again: pure. */

import type { Replay } from "../../../sdk/types.ts";
import { readWhole } from "../whole.ts";

/**
 * @param kind `sequence` or `time`
 * @param text a whole number, or a local time as the browser's field has it
 * @returns null: it is neither
 */
export function replayFrom(kind: string, text: string): Replay | null {
  if (kind === "time") {
    const ms = Date.parse(text);
    return Number.isNaN(ms) ? null : { since: new Date(ms).toISOString() };
  }
  const sequence = readWhole(text) ?? null;
  return sequence === null ? null : { after_sequence: sequence };
}
