/**
 * What a long run must have met at least once: each step of a withdrawal, each thing that is told of a deposit, each
 * meaning of an answer to a send, each story of people that came to its end, and each trouble while a withdrawal was in each state in which it may strike.
 */

const STEPS = [
  "nothing>request_received requested",
  "request_received>funds_reserved reserved",
  "funds_reserved>pending_approval above_approval_limit",
  "pending_approval>funds_reserved approved",
  "pending_approval>rejected rejected",
  "pending_approval>cancelled cancelled_by_merchant",
  "funds_reserved>cancelled cancelled_by_merchant",
  "funds_reserved>failed would_revert",
  "funds_reserved>broadcast_pending nonce_assigned",
  "broadcast_pending>confirmation_tracking accepted",
  "broadcast_pending>confirmation_tracking already_known",
  "broadcast_pending>confirmation_tracking seen_in_block",
  "broadcast_pending>manual_review deadline",
  "confirmation_tracking>manual_review deadline",
  "confirmation_tracking>manual_review transfer_log_missing",
  "confirmation_tracking>confirmed confirmed_on_chain",
  "confirmation_tracking>failed reverted_on_chain",
  "confirmation_tracking>failed nonce_burnt",
  "confirmed>confirmation_tracking reorganised",
  "manual_review>confirmation_tracking burning_nonce",
  "manual_review>confirmation_tracking seen_in_block",
  "manual_review>failed resolved_by_person",
];
const EVENTS = [
  "deposit.pending",
  "deposit.confirmed",
  "deposit.reverted",
  "deposit.dropped",
  "deposit.settled",
  "account.debt_opened",
  "account.debt_cleared",
  "withdrawal.updated",
  "endpoint.disabled",
];
const OUTCOMES = ["accepted", "already_known", "nonce_consumed", "unknown", "replacement_underpriced", "pool_full"];
const ATTEMPTS = ["payment that replaces another", "burn that replaces another"];

/** Troubles that may come while a withdrawal is in any of its states. */
const TROUBLES = [
  "callLost",
  "callAnswerLost",
  "calleeCrash",
  "callerCrash",
  "alarmLate",
  "alarmTwice",
  "alarmLost",
  "d1Failed",
  "d1AnswerLost",
  "d1Silent",
  "cronSkipped",
  "nodeFault",
  "nodeLag",
  "reorg",
  "eviction",
  "feeSpike",
  "ownFork",
  "webhookFault",
  "clientAnswerLost",
  "deploy",
  "clockJump",
];
/** What people do that takes several steps, each of which may fail. */
const PEOPLE = [
  "address taken again by the same",
  "address taken again by another",
  "payment taken back after it was spent",
  "own key replaced",
  "lent key replaced",
  "lent key revoked",
  "secret replaced",
  "receiver repaired",
  "events asked for again",
];
const STATES = [
  "pending_approval",
  "funds_reserved",
  "broadcast_pending",
  "confirmation_tracking",
  "manual_review",
  "confirmed",
];

export const mustBeReached: readonly string[] = [
  ...STEPS.map((step) => `step ${step}`),
  ...EVENTS.map((type) => `event ${type}`),
  ...OUTCOMES.map((outcome) => `outcome ${outcome}`),
  ...ATTEMPTS.map((attempt) => `attempt ${attempt}`),
  ...PEOPLE.map((what) => `people ${what}`),
  ...TROUBLES.flatMap((trouble) => STATES.map((state) => `cell ${trouble} at ${state}`)),
];

/** @param reach counts of a whole run, by name */
export function neverReached(reach: Readonly<Record<string, number>>): string[] {
  return mustBeReached.filter((name) => (reach[name] ?? 0) === 0);
}
