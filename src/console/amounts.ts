/**
 * Sums of amounts, exact to the last digit. Amounts come and go as the decimal strings that the service writes; in
 * between they are whole numbers with a scale, never floating-point ones.
 */

import type { Balance } from "../sdk/types.ts";

const GRAMMAR = /^(-?)(\d+)(?:\.(\d+))?$/;

/** A sum that grows. */
export class Sum {
  /** The sum, times ten to the power of `#scale`. */
  #units = 0n;
  #scale = 0;

  /** @throws TypeError when it is no decimal: a sum that leaves one out would be a wrong one */
  add(amount: string): this {
    return this.#move(amount, 1n);
  }

  take(amount: string): this {
    return this.#move(amount, -1n);
  }

  #move(amount: string, factor: 1n | -1n): this {
    const parts = GRAMMAR.exec(amount);
    if (parts === null) throw new TypeError(`expected a decimal amount, got ${JSON.stringify(amount)}`);
    const [, sign = "", whole = "", fraction = ""] = parts;
    const scale = Math.max(this.#scale, fraction.length);
    const units = BigInt(sign + whole + fraction.padEnd(scale, "0"));
    this.#units = this.#units * 10n ** BigInt(scale - this.#scale) + factor * units;
    this.#scale = scale;
    return this;
  }

  isZero(): boolean {
    return this.#units === 0n;
  }

  /** As the service writes amounts: no exponent, no zeros at the end. */
  toString(): string {
    const isBelow = this.#units < 0n;
    const digits = (isBelow ? -this.#units : this.#units).toString().padStart(this.#scale + 1, "0");
    const whole = digits.slice(0, digits.length - this.#scale);
    const fraction = digits.slice(digits.length - this.#scale).replace(/0+$/, "");
    return (isBelow ? "-" : "") + (fraction === "" ? whole : `${whole}.${fraction}`);
  }
}

/** What all accounts of yours hold of one asset together. */
export interface AssetTotal {
  readonly network: string;
  readonly asset: string;
  readonly accounts: number;
  readonly available: string;
  readonly reserved: string;
  readonly settled: string;
  readonly debt: string;
  /** What the network took for payouts: on an account of the service's own, and no part of `settled`. */
  readonly fees: string;
}

/** Accounts that begin so are the service's own. */
const OWN_ACCOUNTS = "sluice:";

/** By network and asset: the same symbol on two networks is two assets. In the order of their names. */
export function totalsOf(balances: readonly Balance[]): AssetTotal[] {
  const byAsset = Map.groupBy(balances, ({ network, asset }) => JSON.stringify([network, asset]));
  const totals = [...byAsset.values()].map((held): AssetTotal => {
    const [{ network, asset } = { network: "", asset: "" }] = held;
    const customers = held.filter(({ account }) => !account.startsWith(OWN_ACCOUNTS));
    const own = held.filter(({ account }) => account.startsWith(OWN_ACCOUNTS));
    const total = (of: readonly Balance[], what: "available" | "reserved" | "settled" | "debt") =>
      of.reduce((sum, balance) => sum.add(balance[what]), new Sum()).toString();
    return {
      network,
      asset,
      accounts: customers.length,
      available: total(customers, "available"),
      reserved: total(customers, "reserved"),
      settled: total(customers, "settled"),
      debt: total(customers, "debt"),
      fees: total(own, "settled"),
    };
  });
  return totals.sort((a, b) => compare(a.asset, b.asset) || compare(a.network, b.network));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
