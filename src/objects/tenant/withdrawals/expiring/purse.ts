/** What a wallet has on the chain and has not promised yet. Payments are independent of each other, its balance is not. */

import { smaller, unitsFromText } from "../../../../core/amount.ts";
import { NATIVE } from "../../../../core/transfer.ts";
import { quorumOf } from "../../../../core/wallet-look.ts";
import type { WithdrawalRow } from "../../../../store/tenant/withdrawal-store.ts";
import { type ExpiringPayer, heard, liveOf, openOf, withdrawalOf } from "./payer.ts";

export class Purse {
  readonly #units: Map<string, bigint>;

  constructor(units: ReadonlyMap<string, bigint>) {
    this.#units = new Map(units);
  }

  /** @param feeUnits most that it may cost, of the native coin */
  covers(row: WithdrawalRow, feeUnits: bigint): boolean {
    const amount = unitsFromText(row.amountUnits);
    if (row.asset === NATIVE) return this.#has(NATIVE) >= amount + feeUnits;
    return this.#has(row.asset) >= amount && this.#has(NATIVE) >= feeUnits;
  }

  promise(row: WithdrawalRow, feeUnits: bigint): void {
    this.#units.set(NATIVE, this.#has(NATIVE) - feeUnits);
    this.#units.set(row.asset, this.#has(row.asset) - unitsFromText(row.amountUnits));
  }

  #has(asset: string): bigint {
    return this.#units.get(asset) ?? 0n;
  }
}

/** The lowest of what providers say, less what may still land. @throws Error when too few answer */
export async function openPurse(payer: ExpiringPayer, contracts: readonly string[]): Promise<Purse> {
  const { nodes } = payer.chain;
  const known = heard(
    payer,
    "balances",
    await Promise.allSettled(nodes.map((node) => node.balances(payer.sender, contracts))),
  );
  if (known.length < quorumOf(nodes.length)) throw new Error("too few providers tell the wallet's balances");
  // A token that does not say what the wallet has is one of which it has nothing.
  const least = (at: number) => known.map((values) => values[at] ?? 0n).reduce(smaller);
  const purse = new Purse(
    new Map([[NATIVE as string, least(0)], ...contracts.map((one, i) => [one, least(i + 1)] as const)]),
  );
  for (const payment of openOf(payer)) {
    const row = withdrawalOf(payer, payment);
    for (const { feeMost } of liveOf(payer, payment)) purse.promise(row, unitsFromText(feeMost));
  }
  return purse;
}
