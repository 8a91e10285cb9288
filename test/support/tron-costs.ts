/**
 * What a transaction costs on the TRON chain in memory, and whose money it moves. Bandwidth and energy are modelled by
 * their prices alone: 600 free bytes for each account, once; staked energy as given.
 */

import {
  type Account,
  type Execution,
  type Fee,
  type MinedTx,
  newAccount,
  ownerOf,
  type SignedTx,
} from "./tron-block.ts";

const FREE_BYTES = 600;
/** What a result may add to a transaction's size. */
const RESULT_BYTES = 64;

/** Names and values as `getchainparameters` gives them on the main chain. */
export const PARAMETERS: Readonly<Record<string, number>> = {
  getMaintenanceTimeInterval: 21_600_000,
  getCreateAccountFee: 100_000,
  getTransactionFee: 1_000,
  getCreateNewAccountFeeInSystemContract: 1_000_000,
  getEnergyFee: 100,
  getMaxFeeLimit: 15_000_000_000,
  getMemoFee: 1_000_000,
  getForbidTransferToContract: 1,
};

type Prices = Readonly<Record<string, number>>;

export function bandwidthOf(
  tx: SignedTx,
  account: Account,
  accounts: ReadonlyMap<string, Account>,
  prices: Prices,
): Omit<Fee, "energyUsage" | "energyFee"> {
  const { contract } = tx.data;
  const size = tx.bytes.length / 2 + RESULT_BYTES;
  const price = (name: string) => BigInt(prices[name] ?? 0);
  if (contract.kind === "transfer" && !accounts.has(contract.to.slice(2)))
    return {
      netUsage: 0,
      netFee: price("getCreateAccountFee"),
      createFee: price("getCreateNewAccountFeeInSystemContract"),
    };
  if (account.freeBytesUsed + size <= FREE_BYTES) return { netUsage: size, netFee: 0n, createFee: 0n };
  return { netUsage: 0, netFee: BigInt(size) * price("getTransactionFee"), createFee: 0n };
}

/** Changes the accounts. @param execution of the contract that it calls */
export function settle(
  tx: SignedTx,
  accounts: Map<string, Account>,
  execution: Execution | null,
  prices: Prices,
): MinedTx {
  const { contract } = tx.data;
  const owner = accounts.get(ownerOf(tx.data)) ?? newAccount(0n);
  const net = bandwidthOf(tx, owner, accounts, prices);
  owner.balance -= net.netFee + net.createFee;
  owner.freeBytesUsed += net.netUsage;
  if (contract.kind === "transfer") {
    owner.balance -= contract.amountUnits;
    credit(accounts, contract.to.slice(2), contract.amountUnits);
  }
  if (contract.kind !== "trigger")
    return { ...tx, outcome: "SUCCESS", fee: { ...net, energyUsage: 0, energyFee: 0n }, execution: null };
  if (execution === null) throw new Error(`nobody has executed ${tx.txId}`);
  const energyUsage = Math.min(execution.energy, owner.energy - owner.energyUsed);
  const energyFee = BigInt(Math.ceil(execution.energy - energyUsage)) * BigInt(prices.getEnergyFee ?? 0);
  owner.energyUsed += energyUsage;
  owner.balance -= energyFee;
  if (execution.outcome === "SUCCESS" && contract.callValueUnits > 0n) {
    owner.balance -= contract.callValueUnits;
    credit(accounts, contract.contract.slice(2), contract.callValueUnits);
  }
  return { ...tx, outcome: execution.outcome, fee: { ...net, energyUsage, energyFee }, execution };
}

function credit(accounts: Map<string, Account>, hex: string, units: bigint): void {
  const account = accounts.get(hex) ?? newAccount(0n);
  account.balance += units;
  accounts.set(hex, account);
}
