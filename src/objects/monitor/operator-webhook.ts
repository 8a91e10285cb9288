/**
 * Delivers the operator's webhook, signed as merchants' are, until it is acknowledged or visibly given up. A call that a
 * crash cut off is made again: the alarm stands before anything leaves.
 */

import { decideAfterAttempt } from "../../core/webhook-schedule.ts";
import { log } from "../../log.ts";
import { type CallRow, changeCall, dueCalls } from "../../store/monitor/incident-store.ts";
import { ATTEMPT_DEADLINE_MS, type AttemptResult, attemptDelivery } from "../../webhooks/delivery.ts";
import { LOOK_UP_DEADLINE_MS } from "../../webhooks/resolver.ts";
import { placePolicy } from "../../webhooks/target-place.ts";
import type { MonitorContext } from "./context.ts";

const CALLS_AT_ONCE = 5;
/** After this long every attempt of one run has ended, or was lost. */
export const LEASE_MS = LOOK_UP_DEADLINE_MS + ATTEMPT_DEADLINE_MS + 5_000;

export function hasDueCalls(m: MonitorContext): boolean {
  return m.settings.operatorWebhook !== null && dueCalls(m.db, m.now(), 1).length > 0;
}

/** What is due now, a few at a time. What is left has its time in its row. */
export async function deliverCalls(m: MonitorContext): Promise<void> {
  await Promise.all(dueCalls(m.db, m.now(), CALLS_AT_ONCE).map((call) => deliver(m, call)));
}

async function deliver(m: MonitorContext, call: CallRow): Promise<void> {
  const { operatorWebhook } = m.settings;
  if (operatorWebhook === null) return;
  const { url, secret } = operatorWebhook;
  const result = await attemptDelivery(
    { url, ...placePolicy(m.settings), eventId: call.id, body: call.body, keys: [{ scheme: "v1", secret }] },
    { fetch: (target, init) => fetch(target, init), clock: m.now, deadlineMs: ATTEMPT_DEADLINE_MS },
  );
  takeResult(m, call, result);
}

function takeResult(m: MonitorContext, { seq, id, failures }: CallRow, result: AttemptResult): void {
  // Nothing of the operator's is disabled by an answer: 410 is a failure as others are.
  const facts = { ...result, outcome: result.outcome === "gone" ? ("http_error" as const) : result.outcome };
  const next = decideAfterAttempt(failures, facts, m.now(), m.random());
  if (next.kind === "delivered") {
    changeCall(m.db, seq, { status: "delivered" });
    return;
  }
  log("warn", "operator_webhook_failed", { delivery: id, failures: failures + 1, reason: result.error });
  if (next.kind === "retry") {
    changeCall(m.db, seq, { failures: next.failures, nextAt: next.nextAt });
    return;
  }
  log("error", "operator_webhook_given_up", { delivery: id });
  changeCall(m.db, seq, { status: "given_up", failures: failures + 1 });
}
