/**
 * What a withdrawal is judged by, as it stands in one turn: each balance, debt and sum is read once, and from then on is what
 * was decided in this turn. Drop it with the turn: after an await other things hold.
 */

import type { Balance } from "../../../core/ledger.ts";
import { rulesAt, type WithdrawalRules } from "../../../core/withdrawal-policy.ts";
import { type BalanceKey, hasDebt, readBalance, writeBalances } from "../../../store/tenant/ledger-store.ts";
import { heldWithdrawalRules } from "../../../store/tenant/policy-store.ts";
import { askedSince } from "../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../context.ts";

const DAY_MS = 86_400_000;

export class Standing {
  readonly now: number;
  readonly #c: TenantContext;
  readonly #balances = new Map<string, { readonly key: BalanceKey; balance: Balance; isChanged: boolean }>();
  readonly #debts = new Map<string, boolean>();
  readonly #asked = new Map<string, bigint>();
  #rules: WithdrawalRules | null = null;

  constructor(c: TenantContext) {
    this.#c = c;
    this.now = c.now();
  }

  balance(key: BalanceKey): Balance {
    return this.#balanceAt(key).balance;
  }

  hasDebt(account: string): boolean {
    return remembered(this.#debts, account, () => hasDebt(this.#c.db, account));
  }

  rules(): WithdrawalRules {
    this.#rules ??= rulesAt(heldWithdrawalRules(this.#c.db), this.now);
    return this.#rules;
  }

  /** Base units of an asset that were asked for in the last 24 hours, by all accounts, and not refused or given back. */
  asked(network: string, asset: string): bigint {
    return remembered(this.#asked, nameOf(network, asset), () =>
      askedSince(this.#c.db, network, asset, this.now - DAY_MS),
    );
  }

  /** Takes down what a withdrawal that was recorded in this turn made of its balance. */
  reserved(key: BalanceKey, after: Balance, amountUnits: bigint): void {
    Object.assign(this.#balanceAt(key), { balance: after, isChanged: true });
    const name = nameOf(key.network, key.asset);
    const asked = this.#asked.get(name);
    if (asked !== undefined) this.#asked.set(name, asked + amountUnits);
  }

  /** Writes the balances that changed. In the caller's commit, which must have the entries that they are the fold of. */
  write(): void {
    writeBalances(
      this.#c.db,
      [...this.#balances.values()].filter(({ isChanged }) => isChanged),
    );
  }

  #balanceAt(key: BalanceKey) {
    return remembered(this.#balances, nameOf(key.account, key.network, key.asset), () => ({
      key,
      balance: readBalance(this.#c.db, key),
      isChanged: false,
    }));
  }
}

function nameOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

function remembered<T>(known: Map<string, T>, name: string, read: () => T): T {
  let value = known.get(name);
  if (value === undefined) {
    value = read();
    known.set(name, value);
  }
  return value;
}
