/** The calls about withdrawals, wallets, their rules and their reconciliation. */

import type { PoliciesView, WithdrawalRulesView } from "../../core/policy-view.ts";
import { allConfirmationRules } from "../../store/tenant/policy-store.ts";
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
import * as byHand from "./withdrawals/by-hand.ts";
import { createWithdrawal } from "./withdrawals/create.ts";
import { estimateWithdrawal } from "./withdrawals/estimate.ts";
import { oneWithdrawal, pageOfWithdrawals } from "./withdrawals/lists.ts";
import { latestReport, patrolWithdrawals, reconcileOnRequest } from "./withdrawals/reconcile.ts";
import { putWithdrawalRules, withdrawalPolicies } from "./withdrawals/rules.ts";
import { chooseSigner, listWallets, resumeWallet } from "./withdrawals/wallets.ts";

export abstract class TenantWithdrawals extends TenantBase {
  async createWithdrawal(caller: Caller, input: NewWithdrawal, key: string) {
    return this.#write(caller, "withdrawals:write", (by) =>
      createWithdrawal(this.c, caller.tenantId, input, key, by.id),
    );
  }

  async listWithdrawals(caller: Caller, filter: WithdrawalFilter, page: PageRequest) {
    return this.serve(caller, "read", () => pageOfWithdrawals(this.c, filter, page));
  }

  async getWithdrawal(caller: Caller, id: string) {
    return this.serve(caller, "read", () => oneWithdrawal(this.c, id));
  }

  async cancelWithdrawal(caller: Caller, id: string, idempotency: Idempotency) {
    return this.#write(caller, "withdrawals:write", () =>
      byHand.cancelWithdrawal(this.c, caller.tenantId, id, idempotency),
    );
  }

  async approveWithdrawal(caller: Caller, id: string, idempotency: Idempotency) {
    return this.#write(caller, "withdrawals:approve", (by) =>
      byHand.approveWithdrawal(this.c, caller.tenantId, id, by.id, idempotency),
    );
  }

  async rejectWithdrawal(caller: Caller, id: string, reason: string | null, idempotency: Idempotency) {
    return this.#write(caller, "withdrawals:approve", (by) =>
      byHand.rejectWithdrawal(this.c, caller.tenantId, id, by.id, reason, idempotency),
    );
  }

  async speedUpWithdrawal(caller: Caller, id: string, idempotency: Idempotency) {
    return this.#write(caller, "withdrawals:write", () =>
      byHand.speedUpWithdrawal(this.c, caller.tenantId, id, idempotency),
    );
  }

  async resolveWithdrawal(
    caller: Caller,
    id: string,
    decision: { readonly outcome: "confirmed" | "failed"; readonly evidence: string },
    idempotency: Idempotency,
  ) {
    return this.#write(caller, "withdrawals:approve", () =>
      byHand.resolveWithdrawal(this.c, caller.tenantId, id, decision, idempotency),
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
    return this.#write(caller, "admin", () => chooseSigner(this.c, caller.tenantId, network, signer, onDue));
  }

  async resumeWallet(caller: Caller, network: string, idempotency: Idempotency) {
    const onDue = () => this.followUpSoon();
    return this.#write(caller, "admin", () => resumeWallet(this.c, caller.tenantId, network, idempotency, onDue));
  }

  async putWithdrawalRules(caller: Caller, rules: WithdrawalRulesView): Promise<Answer<PoliciesView>> {
    return this.serve(caller, "admin", () => {
      const put = putWithdrawalRules(this.c, rules);
      return put.ok ? { ok: true, value: this.policies() } : put;
    });
  }

  async getReconciliation(caller: Caller) {
    return this.serve(caller, "read", () => latestReport(this.c));
  }

  async runReconciliation(caller: Caller, idempotency: Idempotency) {
    return this.serve(caller, "withdrawals:write", () => reconcileOnRequest(this.c, caller.tenantId, idempotency));
  }

  async patrol() {
    const alarm = await this.overdueAlarm();
    const looked = await patrolWithdrawals(this.c, this.tenantId());
    const written = lookAgain(this.c, this.tenantId());
    if (!looked.isIdle || written > 0) this.followUpSoon();
    return { ...looked, isIdle: looked.isIdle && !isAnyRecovering(this.c), alarm };
  }

  protected policies(): PoliciesView {
    return { confirmations: allConfirmationRules(this.c.db), withdrawals: withdrawalPolicies(this.c) };
  }

  /** A call that leaves something to be driven: it is begun at once, and the alarm stands behind it. */
  async #write<T>(...[caller, scope, work]: Parameters<typeof this.serve<T>>): Promise<Answer<T>> {
    return this.serve<T>(caller, scope, async (key) => {
      const done = await work(key);
      if (done.ok) this.followUpSoon();
      return done;
    });
  }
}
