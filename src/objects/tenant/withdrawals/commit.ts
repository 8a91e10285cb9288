/**
 * Moves withdrawals from state to state, once they are recorded: the conditional update, the row of the step, the ledger's posting and
 * the event, all in the synchronous transaction that the caller has opened. A step that the table of states
 * does not have is a bug, and a row that is no longer where it was believed to be undoes the whole commit.
 */

import { unitsFromText } from "../../../core/amount.ts";
import { derivedId } from "../../../core/ids.ts";
import {
  type Balance,
  FEE_ACCOUNT,
  networkFeePaid,
  type Posting,
  post,
  withdrawalConfirmed,
  withdrawalReleased,
  withdrawalReopened,
} from "../../../core/ledger.ts";
import { NATIVE } from "../../../core/transfer.ts";
import type { WithdrawalView } from "../../../core/views.ts";
import { isOpen, mayBecome, type WithdrawalState } from "../../../core/withdrawal.ts";
import { EventAppender } from "../../../store/tenant/event-store.ts";
import { appendEntries, type BalanceKey, readBalance, writeBalances } from "../../../store/tenant/ledger-store.ts";
import { tallyWithdrawal } from "../../../store/tenant/network-store.ts";
import {
  appendStep,
  type Changes,
  changeState,
  stepsOf,
  type WithdrawalRow,
} from "../../../store/tenant/withdrawal-store.ts";
import { toBalanceView } from "../balance-view.ts";
import { mustFindAsset, type TenantContext } from "../context.ts";
import { toWithdrawalView } from "./view.ts";

/** The reason of a step that a person decided. */
export const RESOLVED = "resolved_by_person";

/** An event is below 20 KB, its own fields included. */
const MAX_VIEW_BYTES = 18_000;

/** What was paid for, once for ever: a nonce, the number of a spend, or the id of a transaction that has neither. */
export interface PaidWith {
  readonly network: string;
  readonly sender: string;
  readonly nonce: number | string;
}

export interface Move {
  readonly to: WithdrawalState;
  readonly reason: string;
  readonly evidence?: string | null;
  readonly changes?: Changes;
}

/** One commit's worth of steps. Drop it when the transaction ends. */
export class WithdrawalCommit {
  readonly #c: TenantContext;
  readonly #now: number;
  readonly #events: EventAppender;
  #written = 0;

  constructor(c: TenantContext, tenantId: string) {
    this.#c = c;
    this.#now = c.now();
    this.#events = new EventAppender(c.db, tenantId, this.#now);
  }

  /** How many events were written. */
  get written(): number {
    return this.#written;
  }

  /** @returns the row as it stands after the step */
  move(row: WithdrawalRow, { to, reason, evidence = null, changes = {} }: Move): WithdrawalRow {
    const from = row.state;
    if (!mayBecome(from, to)) throw new Error(`withdrawal ${row.id} cannot go from ${from} to ${to} (${reason})`);
    const step = { from, to, reason, evidence, at: this.#now };
    if (!changeState(this.#c.db, row.id, step, changes))
      throw new Error(`withdrawal ${row.id} is no longer ${from}, so it does not become ${to}`);
    appendStep(this.#c.db, row.id, step);
    tallyWithdrawal(this.#c.db, row.network, from, to);
    const moved: WithdrawalRow = { ...row, ...changes, state: to, updatedAt: this.#now };
    const eventId = this.#tell(moved);
    this.#postStep(moved, from, eventId);
    return moved;
  }

  /** Books what the network took for a payment, once it is final. */
  bookFee({ network, sender, nonce }: PaidWith, withdrawalId: string | null, feeUnits: bigint): void {
    if (feeUnits === 0n) return;
    const key: BalanceKey = { account: FEE_ACCOUNT, network, asset: NATIVE };
    const cause = withdrawalId ?? `${network}/${sender}/${nonce}`;
    const id = derivedId("jrn", "network-fee", network, sender, nonce);
    this.#append(key, { id, causeType: "withdrawal.network_fee", causeId: cause, eventId: null }, () =>
      networkFeePaid(feeUnits),
    );
  }

  #tell(row: Omit<WithdrawalRow, "seq">): string {
    this.#written++;
    const view = shortened(toWithdrawalView(this.#c, row));
    return this.#events.append("withdrawal.updated", row.id, view).id;
  }

  #postStep(row: WithdrawalRow, from: WithdrawalState, eventId: string): void {
    const units = unitsFromText(row.amountUnits);
    if (isOpen(from) && row.state === "confirmed") {
      this.#post(row, "confirmed", () => withdrawalConfirmed(units), eventId);
    } else if (from === "confirmed" && isOpen(row.state)) {
      this.#post(row, "reopened", () => withdrawalReopened(units), eventId);
    } else if (isOpen(from) && !isOpen(row.state)) {
      this.#post(row, "released", (balance) => withdrawalReleased(balance, units), eventId);
    }
  }

  #post(
    row: Omit<WithdrawalRow, "seq">,
    what: "confirmed" | "reopened" | "released",
    postings: (balance: Balance) => readonly Posting[],
    eventId: string,
  ): void {
    // A reorganisation may confirm one withdrawal several times: the number of its steps tells them apart.
    const id = derivedId("jrn", row.id, what, stepsOf(this.#c.db, row.id).length);
    const key = { account: row.account, network: row.network, asset: row.asset };
    this.#append(key, { id, causeType: `withdrawal.${what}`, causeId: row.id, eventId }, postings);
  }

  #append(
    key: BalanceKey,
    journal: { id: string; causeType: string; causeId: string; eventId: string | null },
    postings: (balance: Balance) => readonly Posting[],
  ): void {
    const { db } = this.#c;
    const before = readBalance(db, key);
    const lines = postings(before);
    const after = post(before, lines);
    appendEntries(db, [{ journal: { ...key, ...journal, at: this.#now }, postings: lines }]);
    writeBalances(db, [{ key, balance: after }]);
    if (before.debt > 0n && after.debt === 0n) {
      const asset = mustFindAsset(this.#c, key.network, key.asset);
      this.#events.append("account.debt_cleared", `account:${key.account}`, toBalanceView(key.account, asset, after));
      this.#written++;
    }
  }
}

/**
 * As it is told in an event. A chain that keeps changing its mind, and people who explain at length: the latest steps tell
 * the state, and the latest of what was signed may still be carried out.
 */
export function shortened(view: WithdrawalView): WithdrawalView {
  let { transitions, attempts } = view;
  const isTooLong = () => bytesOf({ ...view, transitions, attempts }) > MAX_VIEW_BYTES;
  while (transitions.length > 2 && isTooLong()) transitions = transitions.slice(1);
  while (attempts.length > 2 && isTooLong()) attempts = attempts.slice(1);
  return { ...view, transitions, attempts };
}

function bytesOf(view: object): number {
  return new TextEncoder().encode(JSON.stringify(view)).length;
}
