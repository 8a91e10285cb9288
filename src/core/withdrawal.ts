/**
 * The states of a withdrawal and the steps between them. Whoever moves one asks here; a step that is not
 * listed does not exist, and `failed`, `cancelled` and `rejected` are never left.
 */

export const WITHDRAWAL_STATES = [
  "request_received",
  "funds_reserved",
  "pending_approval",
  "broadcast_pending",
  "confirmation_tracking",
  "confirmed",
  "failed",
  "cancelled",
  "rejected",
  "manual_review",
] as const;
export type WithdrawalState = (typeof WITHDRAWAL_STATES)[number];

/**
 * - `funds_reserved` has neither nonce nor bytes: it may still be called off, and what the chain would
 *   refuse fails here, where a release needs no proof but the absence of a signature.
 * - From `broadcast_pending` on a nonce is its own. What ends it from there is a final transaction of that nonce.
 * - `confirmed` goes back to tracking when its block is replaced.
 * - `manual_review` is left by a person, or by the chain when it shows the payment after all.
 */
const STEPS: Readonly<Record<WithdrawalState, readonly WithdrawalState[]>> = {
  request_received: ["funds_reserved"],
  funds_reserved: ["pending_approval", "broadcast_pending", "failed", "cancelled"],
  pending_approval: ["funds_reserved", "rejected", "cancelled"],
  broadcast_pending: ["confirmation_tracking", "manual_review"],
  confirmation_tracking: ["confirmed", "failed", "manual_review"],
  confirmed: ["confirmation_tracking"],
  manual_review: ["confirmation_tracking", "confirmed", "failed"],
  failed: [],
  cancelled: [],
  rejected: [],
};

export function mayBecome(from: WithdrawalState, to: WithdrawalState): boolean {
  return STEPS[from].includes(to);
}

/** Its amount is reserved as long as it is open. */
export function isOpen(state: WithdrawalState): boolean {
  return OPEN_STATES.includes(state);
}

export const OPEN_STATES: readonly WithdrawalState[] = [
  "request_received",
  "funds_reserved",
  "pending_approval",
  "broadcast_pending",
  "confirmation_tracking",
  "manual_review",
];
