/**
 * Something that a person should look at: what it is, what it is about, what shows it. Opened and closed by code alone.
 * An incident is one per kind and subject as long as it is open; when it comes back it is another one.
 */

export const INCIDENT_KINDS = [
  /** A network was replaced from deeper than its window: a person decides. */
  "network_halted",
  /** Payments are met again far more often than they are new: a stuck checkpoint, or a source that replays. */
  "duplicate_spike",
  /** Providers of one network tell different things. */
  "provider_disagreement",
  /** A withdrawal has had no outcome for longer than it should. */
  "withdrawal_stuck",
  /** A hot wallet holds less than what waits for it. */
  "wallet_short",
  /** A hot wallet's key signed something that is not ours. */
  "foreign_spend",
  /** A webhook endpoint is disabled, or has taken nothing for long. */
  "endpoint_dead",
  /** An object had something to do, and nothing woke it. */
  "alarm_overdue",
] as const;

export type IncidentKind = (typeof INCIDENT_KINDS)[number];

export interface Incident {
  /** `inc_...`, derived from kind, subject and when it opened. */
  readonly id: string;
  readonly kind: IncidentKind;
  /** What it is about: a network's, a withdrawal's, an endpoint's id, `<network>/<sender>` of a wallet. */
  readonly subject: string;
  /** Whose it is; null: the operator's alone. */
  readonly tenantId: string | null;
  readonly network: string | null;
  /** Unix ms. */
  readonly openedAt: number;
  /** Unix ms; null: open. */
  readonly closedAt: number | null;
  /** One sentence. */
  readonly summary: string;
  /** What shows it, as it stood when it was last looked at: numbers and names, no secrets. */
  readonly evidence: Readonly<Record<string, string | number | null>>;
}
