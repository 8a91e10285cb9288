/** The calls about withdrawals, wallets, their rules and their reconciliation. */

import type { PoliciesView, WithdrawalRulesView } from "../../core/policy-view.ts";
import { allConfirmationRules } from "../../store/tenant/policy-store.ts";
import { nextWalletDue } from "../../store/tenant/wallet-store.ts";
import type {
  Answer,
  Caller,
  Idempotency,
  NewWithdrawal,
  PageRequest,
  SignerChoice,
  WithdrawalFilter,
} from "../api.ts";
import { TenantBase } from "./base.ts";
import { isAnyRecovering, lookAgain } from "./incidents/look.ts";
import { Rounds } from "./rounds.ts";
import * as byHand from "./withdrawals/by-hand.ts";
import { createWithdrawal, type Desk } from "./withdrawals/create.ts";
import { estimateWithdrawal } from "./withdrawals/estimate.ts";
import { oneWithdrawal, pageOfWithdrawals } from "./withdrawals/lists.ts";
import { latestReport, patrolWithdrawals, reconcileOnRequest } from "./withdrawals/reconcile.ts";
import { putWithdrawalRules, withdrawalPolicies } from "./withdrawals/rules.ts";
import { chooseSigner, listWallets, resumeWallet } from "./withdrawals/wallets.ts";

export abstract class TenantWithdrawals extends TenantBase {
  readonly #desk: Desk = { rounds: new Rounds(), onReserved: () => this.followUpSoon() };

  async createWithdrawal(caller: Caller, input: NewWithdrawal, key: string) {
    const answer = await this.change(caller, "withdrawals:write", ["createWithdrawal", null], (by, audit) =>
      createWithdrawal(this.c, caller.tenantId, input, key, by.id, audit, this.#desk),
    );
    // What is new was begun by its round, once for all that were in it; what came before may have been left by a crash.
    if (answer.ok && answer.replayed) this.followUpSoon();
    return answer;
  }

  async listWithdrawals(caller: Caller, filter: WithdrawalFilter, page: PageRequest) {
    return this.serve(caller, "read", () => pageOfWithdrawals(this.c, filter, page));
  }

  async getWithdrawal(caller: Caller, id: string) {
    return this.serve(caller, "read", () => oneWithdrawal(this.c, id));
  }

  async cancelWithdrawal(caller: Caller, id: string, idempotency: Idempotency) {
    return this.#write(caller, "withdrawals:write", ["cancelWithdrawal", id], (_, audit) =>
      byHand.cancelWithdrawal(this.c, caller.tenantId, id, idempotency, audit),
    );
  }

  async approveWithdrawal(caller: Caller, id: string, idempotency: Idempotency) {
    return this.#write(caller, "withdrawals:approve", ["approveWithdrawal", id], (by, audit) =>
      byHand.approveWithdrawal(this.c, caller.tenantId, id, by.id, idempotency, audit),
    );
  }

  async rejectWithdrawal(caller: Caller, id: string, reason: string | null, idempotency: Idempotency) {
    return this.#write(caller, "withdrawals:approve", ["rejectWithdrawal", id], (by, audit) =>
      byHand.rejectWithdrawal(this.c, caller.tenantId, id, by.id, reason, idempotency, audit),
    );
  }

  async speedUpWithdrawal(caller: Caller, id: string, idempotency: Idempotency) {
    return this.#write(caller, "withdrawals:write", ["speedUpWithdrawal", id], (_, audit) =>
      byHand.speedUpWithdrawal(this.c, caller.tenantId, id, idempotency, audit),
    );
  }

  async resolveWithdrawal(
    caller: Caller,
    id: string,
    decision: { readonly outcome: "confirmed" | "failed"; readonly evidence: string },
    idempotency: Idempotency,
  ) {
    return this.#write(caller, "withdrawals:approve", ["resolveWithdrawal", id], (_, audit) =>
      byHand.resolveWithdrawal(this.c, caller.tenantId, id, decision, idempotency, audit),
    );
  }

  async estimateWithdrawal(caller: Caller, input: NewWithdrawal) {
    return this.serve(caller, "read", () => estimateWithdrawal(this.c, caller.tenantId, input));
  }

  async listWallets(caller: Caller) {
    return this.serve(caller, "read", () => listWallets(this.c, caller.tenantId));
  }

  async chooseSigner(caller: Caller, network: string, signer: SignerChoice) {
    const onDue = () => this.followUpSoon();
    return this.#write(caller, "admin", ["chooseSigner", network], (_, audit) =>
      chooseSigner(this.c, caller.tenantId, network, signer, audit, onDue),
    );
  }

  async resumeWallet(caller: Caller, network: string, idempotency: Idempotency) {
    const onDue = () => this.followUpSoon();
    return this.#write(caller, "admin", ["resumeWallet", network], (_, audit) =>
      resumeWallet(this.c, caller.tenantId, network, idempotency, audit, onDue),
    );
  }

  async putWithdrawalRules(caller: Caller, rules: WithdrawalRulesView): Promise<Answer<PoliciesView>> {
    return this.change(caller, "admin", ["putWithdrawalRules", null], () => {
      const put = putWithdrawalRules(this.c, rules);
      return put.ok ? { ok: true, value: this.policies() } : put;
    });
  }

  async getReconciliation(caller: Caller) {
    return this.serve(caller, "read", () => latestReport(this.c));
  }

  async runReconciliation(caller: Caller, idempotency: Idempotency) {
    return this.change(caller, "withdrawals:write", ["runReconciliation", null], () =>
      reconcileOnRequest(this.c, caller.tenantId, idempotency),
    );
  }

  async patrol() {
    const due = nextWalletDue(this.c.db);
    const overdueMs = due === null ? 0 : Math.max(0, this.c.now() - due);
    const alarm = await this.overdueAlarm();
    const looked = await patrolWithdrawals(this.c, this.tenantId());
    const written = lookAgain(this.c, this.tenantId());
    if (!looked.isIdle || written > 0) this.followUpSoon();
    const isIdle = looked.isIdle && !isAnyRecovering(this.c);
    return { ...looked, isIdle, overdueMs, alarm, report: this.reporter.report() };
  }

  protected policies(): PoliciesView {
    return { confirmations: allConfirmationRules(this.c.db), withdrawals: withdrawalPolicies(this.c) };
  }

  /** A call that leaves something to be driven: it is begun at once, and the alarm stands behind it. */
  async #write<T>(...[caller, scope, what, work]: Parameters<typeof this.change<T>>): Promise<Answer<T>> {
    const answer = await this.change<T>(caller, scope, what, work);
    if (answer.ok) this.followUpSoon();
    return answer;
  }
}
