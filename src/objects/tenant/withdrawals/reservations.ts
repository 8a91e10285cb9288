/**
 * New withdrawals, several in one commit: record, steps, ledger entry, event and audit entry of each, and at the end the balances once. Each
 * is written as a whole or not at all; one that fails leaves the others as they are.
 */

import { unitsFromText } from "../../../core/amount.ts";
import { derivedId } from "../../../core/ids.ts";
import { post, withdrawalReserved } from "../../../core/ledger.ts";
import type { WithdrawalView } from "../../../core/views.ts";
import { EventAppender } from "../../../store/tenant/event-store.ts";
import { appendEntries } from "../../../store/tenant/ledger-store.ts";
import { insertStep, insertWithdrawal, type Step, type WithdrawalRow } from "../../../store/tenant/withdrawal-store.ts";
import type { Audited } from "../audited-call.ts";
import type { TenantContext } from "../context.ts";
import { shortened } from "./commit.ts";
import type { Standing } from "./standing.ts";
import { toWithdrawalView } from "./view.ts";

export type NewRow = Omit<WithdrawalRow, "seq" | "state" | "createdAt" | "updatedAt" | "turnAt">;

/** Of a record that is being written. */
const NO_EVENTS = 0;

/** One commit's worth. Drop it when the transaction ends. */
export class Reservations {
  readonly #c: TenantContext;
  readonly #tenantId: string;
  readonly #standing: Standing;
  #events: EventAppender;

  constructor(c: TenantContext, tenantId: string, standing: Standing) {
    this.#c = c;
    this.#tenantId = tenantId;
    this.#standing = standing;
    this.#events = this.#appender();
  }

  /** Reserves the funds of a new record. @returns it as it stands then @throws with nothing of it written */
  add(row: NewRow, needsApproval: boolean, audit: Audited): WithdrawalView {
    try {
      return this.#c.storage.savepoint(() => this.#add(row, needsApproval, audit));
    } catch (error) {
      // The sequence that its event had is free again.
      this.#events = this.#appender();
      throw error;
    }
  }

  /** The last thing of the commit: the balances that the entries fold to. */
  finish(): void {
    this.#standing.write();
  }

  #add(row: NewRow, needsApproval: boolean, audit: Audited): WithdrawalView {
    const { db } = this.#c;
    const at = this.#standing.now;
    const steps: Step[] = [
      { from: null, to: "request_received", reason: "requested", evidence: null, at },
      { from: "request_received", to: "funds_reserved", reason: "reserved", evidence: null, at },
    ];
    if (needsApproval) {
      const reason = "above_approval_limit";
      steps.push({ from: "funds_reserved", to: "pending_approval", reason, evidence: null, at });
    }
    const state = needsApproval ? ("pending_approval" as const) : ("funds_reserved" as const);
    const whole = { ...row, state, createdAt: at, updatedAt: at, turnAt: null };
    insertWithdrawal(db, whole);
    for (const [i, step] of steps.entries()) insertStep(db, row.id, i + 1, step);

    const view = toWithdrawalView(this.#c, whole, steps);
    // One event tells of it as it stands in the end.
    const event = this.#events.append("withdrawal.updated", row.id, shortened(view), NO_EVENTS);

    const key = { account: row.account, network: row.network, asset: row.asset };
    const units = unitsFromText(row.amountUnits);
    const lines = withdrawalReserved(units);
    const after = post(this.#standing.balance(key), lines);
    const id = derivedId("jrn", row.id, "reserved", steps.length);
    const cause = { causeType: "withdrawal.reserved", causeId: row.id, eventId: event.id };
    appendEntries(db, [{ journal: { ...key, id, ...cause, at }, postings: lines }]);
    audit.done(row.id);
    // Last: what fails above leaves the balance as it was.
    this.#standing.reserved(key, after, units);
    return view;
  }

  #appender(): EventAppender {
    return new EventAppender(this.#c.db, this.#tenantId, this.#standing.now);
  }
}
