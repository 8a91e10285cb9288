/**
 * What the service says about a withdrawal in one word, as a sentence for the person who looks at it. A word that is not
 * known here, as a newer service may send, is shown as it is.
 */

import type { WithdrawalAttempt, WithdrawalState } from "../../../sdk/types.ts";

export const STATES: readonly WithdrawalState[] = [
  "request_received",
  "funds_reserved",
  "pending_approval",
  "broadcast_pending",
  "confirmation_tracking",
  "manual_review",
  "confirmed",
  "failed",
  "cancelled",
  "rejected",
];

/** Nothing leads out of these; `confirmed` is left when its block is replaced. */
export const ENDED: readonly WithdrawalState[] = ["failed", "cancelled", "rejected"];

const REASONS: Record<string, string> = {
  requested: "Asked for",
  reserved: "The amount is reserved in the account",
  above_approval_limit: "Above the approval limit: another key must approve it",
  approved: "Approved with another key",
  rejected: "Rejected by an approver",
  cancelled_by_merchant: "Called off before anything was signed",
  would_revert: "The chain would refuse it. Nothing was signed",
  too_much_gas: "It would take more gas than is allowed. Nothing was signed",
  amount_too_small: "The amount is below what nodes pass on. Nothing was signed",
  nonce_assigned: "A nonce of the wallet is its own now",
  coins_chosen: "Coins of the wallet are chosen for it",
  transaction_signed: "Its transaction is signed and stored",
  accepted: "A node took the transaction",
  already_known: "A node had the transaction already",
  seen_in_block: "The transaction is in a block",
  confirmed_on_chain: "Deep enough in the chain: paid",
  reverted_on_chain: "Mined, and reverted: not paid",
  nonce_burnt: "Its nonce was used up by a transaction that pays nothing: not paid",
  input_spent_without_it: "Its coin was spent by a transaction that does not pay it: not paid",
  input_never_made: "The coin that it was to spend will never be there: not paid",
  expired: "All that was signed for it has expired: not paid",
  deadline: "Not settled before its deadline",
  nonce_held_by_another: "Another transaction of the same nonce is in the pool",
  nonce_spent_by_another: "A transaction that is not ours used its nonce",
  nonce_spent_by_unknown: "Its nonce is used up, and nobody can say by what",
  input_held_by_another: "Another transaction spends its coin",
  input_spent_by_another: "A transaction that is not ours spent its coin",
  transfer_log_missing: "Mined and final, but the chain shows no transfer of this amount",
  resolved_by_person: "Decided by a person",
  burning_nonce: "A person called it not paid. Its nonce is being used up first",
  spending_without_it: "A person called it not paid. Its coin is being spent without it first",
  awaiting_expiry: "A person called it not paid. What was signed has to expire first",
  reorganised: "Its block was replaced. What was signed goes out again",
};

export function reasonInWords(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}

const WAITING: Record<string, readonly [title: string, what: string]> = {
  approval: [
    "It waits for an approval",
    "A key with withdrawals:approve that is not the key that asked for it has to approve it.",
  ],
  wallet_top_up: [
    "The hot wallet holds too little",
    "Top up the network's hot wallet, with the asset or with the coin for fees. It goes on by itself.",
  ],
  lower_fee: [
    "The network's fee is too high",
    "It would take more than the highest fee allowed on this network. It goes on by itself when the fee falls.",
  ],
  signer: ["The remote signer is out of reach", "It goes on by itself as soon as the signer answers."],
  person: ["It waits for a person", "Look at what shows its state, then decide. It is followed all the while."],
  policy: [
    "What holds now would refuse it",
    "A debt of the account, the allow-list or the limit for one withdrawal. It goes on when they allow it.",
  ],
};

export function waitingInWords(waitingFor: string): readonly [title: string, what: string] {
  return WAITING[waitingFor] ?? [`It waits for ${waitingFor.replaceAll("_", " ")}`, ""];
}

/** What became of one transaction, and what may still become of it. */
export function fateOf({ kind, status }: WithdrawalAttempt): string {
  const pays = kind === "payment";
  if (status === "mined") return pays ? "In a block: it pays this withdrawal" : "In a block: it pays nothing of this";
  if (status === "void") return "Can never be mined any more";
  if (status === "signed") return "Signed and stored, not sent yet";
  return pays ? "Sent: it may still be mined and pay" : "Sent: once it is final, this withdrawal can never be paid";
}
