/**
 * Something that a person should look at: what it is, what it is about, what shows it. Opened and closed by code alone.
 * An incident is one per kind and subject as long as it is open; when it comes back it is another one.
 */

import { FAILING_LONG_MS } from "./webhook-schedule.ts";

export const INCIDENT_KINDS = [
  /** A network was replaced from deeper than its window: a person decides. */
  "network_halted",
  /** Payments are met again far more often than they are new: a stuck checkpoint, or a source that replays. */
  "duplicate_spike",
  /** Providers of one network tell different things. */
  "provider_disagreement",
  /** A withdrawal has had no outcome for longer than it should, or waits for a person. */
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

/** What a tenant sees of its own. The others are of the service as a whole, and the operator's alone. */
export const TENANT_INCIDENT_KINDS = [
  "network_halted",
  "withdrawal_stuck",
  "wallet_short",
  "foreign_spend",
  "endpoint_dead",
] as const satisfies readonly IncidentKind[];

export type TenantIncidentKind = (typeof TENANT_INCIDENT_KINDS)[number];

/** Numbers and names, no secrets. */
export type Evidence = Readonly<Record<string, string | number | null>>;

export interface Incident {
  /** `inc_...`, derived from whose it is, kind, subject and when it was first seen. */
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
  /** What shows it, as it stood when it was last looked at. */
  readonly evidence: Evidence;
}

/** The page that says what to do about a kind, in this project's folder. */
export function runbookOf(kind: IncidentKind): string {
  return `docs/runbook/${kind}.md`;
}

// ---- when one opens and when it closes --------------------------------------------------------

export interface Threshold {
  /** Milliseconds for which it must have held before it opens; 0: at once. */
  readonly openAfterMs: number;
  /** Looks that must have met it before it opens; 1: the first one. */
  readonly openAfterLooks: number;
  /** Milliseconds for which it must have been well before it closes; 0: at once. */
  readonly closeAfterMs: number;
}

const S = 1_000;
const MIN = 60 * S;

/**
 * What is certain opens and closes at once whatever stands here: a person's word, a final state, an answer of 410. How
 * many looks and how long it takes before that is certain is said where it is looked for.
 */
export const THRESHOLDS: Readonly<Record<IncidentKind, Threshold>> = {
  // The scanner saw the fork in three polls; a person ends it.
  network_halted: { openAfterMs: 0, openAfterLooks: 1, closeAfterMs: 0 },
  // Each look is over the last ten minutes, and there is one a minute at most.
  duplicate_spike: { openAfterMs: MIN, openAfterLooks: 2, closeAfterMs: 15 * MIN },
  // Nodes differ for a moment whenever a block comes: one is told of a minute at most.
  provider_disagreement: { openAfterMs: 2 * MIN, openAfterLooks: 3, closeAfterMs: 15 * MIN },
  // Its deadline is its own time; a person who has decided may have decided wrongly.
  withdrawal_stuck: { openAfterMs: 0, openAfterLooks: 1, closeAfterMs: 10 * MIN },
  wallet_short: { openAfterMs: 2 * MIN, openAfterLooks: 2, closeAfterMs: 2 * MIN },
  foreign_spend: { openAfterMs: 0, openAfterLooks: 1, closeAfterMs: 0 },
  // From the first failure after which nothing was taken.
  endpoint_dead: { openAfterMs: FAILING_LONG_MS, openAfterLooks: 1, closeAfterMs: 10 * MIN },
  // Cron looks once a minute, and has woken it each time it saw this.
  alarm_overdue: { openAfterMs: 0, openAfterLooks: 2, closeAfterMs: 10 * MIN },
};

/** How one kind of trouble of one subject went so far. */
export interface Course {
  /** Unix ms. */
  readonly firstSeenAt: number;
  /** Looks that met it, up to as many as it takes to open. */
  readonly looks: number;
  /** null: suspected. */
  readonly openedAt: number | null;
  /** Since when it is well again; null: it is not. */
  readonly wellSince: number | null;
}

/** `since`: when it began to be so, where that is known; null: with this look. */
export interface Sight {
  readonly state: "ill" | "well";
  readonly isCertain: boolean;
  readonly since: number | null;
}

export type Verdict =
  /** There is nothing to write down. */
  | { readonly kind: "nothing" }
  | { readonly kind: "suspected" | "opened" | "kept"; readonly next: Course }
  /** It was suspected, and was nothing. */
  | { readonly kind: "forgotten" }
  | { readonly kind: "closed" };

const NOTHING = { kind: "nothing" } as const;

/**
 * What one look makes of it. A condition that comes and goes below the thresholds never opens; one that is open stays
 * so through short times in which it is well.
 *
 * @param before null: nothing is known of it
 * @param now unix ms
 */
export function judgeSight(before: Course | null, sight: Sight, now: number, threshold: Threshold): Verdict {
  return sight.state === "ill" ? judgeIll(before, sight, now, threshold) : judgeWell(before, sight, now, threshold);
}

function judgeIll(before: Course | null, { isCertain, since }: Sight, now: number, threshold: Threshold): Verdict {
  if (before !== null && before.openedAt !== null) {
    return before.wellSince === null ? NOTHING : { kind: "kept", next: { ...before, wellSince: null } };
  }
  const firstSeenAt = Math.min(before?.firstSeenAt ?? now, since ?? now);
  const looks = Math.min((before?.looks ?? 0) + 1, threshold.openAfterLooks);
  const hasHeld = looks >= threshold.openAfterLooks && now - firstSeenAt >= threshold.openAfterMs;
  if (isCertain || hasHeld) return { kind: "opened", next: { firstSeenAt, looks, openedAt: now, wellSince: null } };
  if (before !== null && before.looks === looks && before.firstSeenAt === firstSeenAt) return NOTHING;
  return { kind: "suspected", next: { firstSeenAt, looks, openedAt: null, wellSince: null } };
}

function judgeWell(before: Course | null, { isCertain, since }: Sight, now: number, threshold: Threshold): Verdict {
  if (before === null) return NOTHING;
  if (before.openedAt === null) return { kind: "forgotten" };
  const wellSince = before.wellSince ?? Math.min(since ?? now, now);
  if (isCertain || now - wellSince >= threshold.closeAfterMs) return { kind: "closed" };
  return before.wellSince === null ? { kind: "kept", next: { ...before, wellSince } } : NOTHING;
}
