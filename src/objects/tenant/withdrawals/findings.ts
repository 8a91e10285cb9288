/** What one reconciliation has compared, found, and could not ask. */

import type { DifferenceView } from "../../../core/views.ts";

export class Findings {
  readonly differences: DifferenceView[] = [];
  readonly counts: Record<string, number> = {};
  readonly unreachable = new Set<string>();

  /** One thing was compared. */
  compared(what: string, found: readonly DifferenceView[]): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
    this.differences.push(...found);
  }

  /** So many were looked at; 0 counts as well, so that it is seen that there were none. */
  count(what: string, number: number): void {
    this.counts[what] = (this.counts[what] ?? 0) + number;
  }

  found(differences: readonly DifferenceView[]): void {
    this.differences.push(...differences);
  }
}
