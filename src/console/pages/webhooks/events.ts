/** What each type of event tells, and where its subject can be looked at: pure. */

import type { EventType } from "../../../sdk/types.ts";

export const EVENTS: readonly { readonly value: EventType; readonly meaning: string }[] = [
  { value: "deposit.pending", meaning: "A payment is in a block or waits for one, and is not deep enough yet." },
  { value: "deposit.dropped", meaning: "A pending payment is gone. Nothing was credited." },
  { value: "deposit.confirmed", meaning: "A payment is deep enough and credited." },
  { value: "deposit.reverted", meaning: "Its block was replaced, the credit is taken back." },
  { value: "deposit.settled", meaning: "It is too deep to be reorganised. The last event of a deposit." },
  { value: "withdrawal.updated", meaning: "The state of a withdrawal changed." },
  { value: "account.debt_opened", meaning: "A deposit was taken back that had been paid out already." },
  { value: "account.debt_cleared", meaning: "The account owes nothing any more." },
  { value: "network.halted", meaning: "A reorganisation was too deep; a person has to look." },
  { value: "network.resumed", meaning: "The network goes on." },
  { value: "endpoint.disabled", meaning: "Nothing is sent to an endpoint any more." },
  { value: "incident.opened", meaning: "Something that a person should look at." },
  { value: "incident.closed", meaning: "It has been well for long enough." },
  { value: "webhook.test", meaning: "A test, which goes to its endpoint whatever is chosen here." },
];

export const DEFAULT_SET = "Every type but deposit.pending and deposit.dropped";

/** @returns where in the console; null: the subject has no page */
export function pageOfSubject(subject: string): string | null {
  if (subject.startsWith("dep_")) return `/deposits/${subject}`;
  if (subject.startsWith("wd_")) return `/withdrawals/${subject}`;
  if (subject.startsWith("account:")) return `/ledger?account=${encodeURIComponent(subject.slice("account:".length))}`;
  if (subject.startsWith("endpoint:")) return `/webhooks/${subject.slice("endpoint:".length)}`;
  return subject.startsWith("inc_") ? "/incidents" : null;
}

const OUTCOMES: Record<string, string> = {
  delivered: "Delivered",
  http_error: "Refused by the receiver",
  redirect: "Redirected, which is not followed",
  timeout: "No answer in time",
  connection_failed: "No connection",
  target_refused: "Not sent: the target is refused",
  unresolved: "Not sent: the name has no address",
  gone: "Gone: the endpoint is disabled by this answer",
};

export function outcomeInWords(outcome: string): string {
  return OUTCOMES[outcome] ?? outcome.replaceAll("_", " ");
}

const REASONS: Record<string, string> = {
  gone: "It answered 410.",
  failing: "For five days every attempt failed.",
  by_request: "You disabled it.",
};

/** Why an endpoint is disabled, in words. */
export function disabledInWords(reason: string | null): string {
  return reason === null ? "" : (REASONS[reason] ?? reason.replaceAll("_", " "));
}

/** JSON with line breaks, to be read; any other text as it came. */
export function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
