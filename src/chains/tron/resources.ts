/** What transactions cost on TRON now, and what an account has to pay with. All of it by one node's newest block. */

import { tronHex } from "../../core/tron-address.ts";
import { MalformedAnswer, parseObject } from "../rpc/malformed.ts";
import { parseCount, parseItems, parseText } from "./answers.ts";
import type { TronApi } from "./api.ts";

/** Sun, as voted by the witnesses. */
export interface TronPrices {
  readonly energyUnits: bigint;
  /** Of a byte of bandwidth. */
  readonly byteUnits: bigint;
  /** What a transfer to an account that does not exist costs, in place of its bytes, and beside that. */
  readonly newAccountUnits: bigint;
  readonly newAccountExtraUnits: bigint;
  /** The highest `fee_limit` that is taken. */
  readonly maxFeeLimitUnits: bigint;
  /** Whether a transfer of TRX may have a contract for its receiver. */
  readonly paysContracts: boolean;
}

export interface TronAccount {
  readonly exists: boolean;
  readonly isContract: boolean;
  /** Sun. */
  readonly balanceUnits: bigint;
}

export interface TronResources {
  /** Bytes that cost nothing: bandwidth of stake, and the daily free ones. A transaction uses one of them, or pays for all. */
  readonly stakedBytes: number;
  readonly freeBytes: number;
  readonly energy: number;
}

/** What a fee limit is divided by where energy costs nothing (`SUN_PER_ENERGY`). */
const LEAST_ENERGY_UNITS = 100n;

/** @throws ChainFault, MalformedAnswer */
export async function readPrices(api: TronApi): Promise<TronPrices> {
  const answer = parseObject(await api.ask("wallet/getchainparameters", {}), "chain's parameters");
  const values = new Map<string, unknown>();
  for (const item of parseItems(answer.chainParameter, "chain's parameters")) {
    const { key, value } = parseObject(item, "chain's parameter");
    values.set(parseText(key, "parameter's name"), value);
  }
  // One that is 0 is named without its value. One that is not named is not known to be 0.
  const price = (name: string) => {
    if (!values.has(name)) throw new MalformedAnswer("chain's parameters", name, "none");
    return BigInt(parseCount(values.get(name), name));
  };
  return {
    energyUnits: price("getEnergyFee") || LEAST_ENERGY_UNITS,
    byteUnits: price("getTransactionFee"),
    newAccountUnits: price("getCreateAccountFee"),
    newAccountExtraUnits: price("getCreateNewAccountFeeInSystemContract"),
    maxFeeLimitUnits: price("getMaxFeeLimit"),
    paysContracts: values.get("getForbidTransferToContract") !== 1,
  };
}

/** @param state the newest block's, or the newest solid one's @throws ChainFault, MalformedAnswer */
export async function readAccount(
  api: TronApi,
  state: "wallet" | "walletsolidity",
  address: string,
): Promise<TronAccount> {
  const answer = parseObject(await api.ask(`${state}/getaccount`, { address: `41${tronHex(address)}` }), "account");
  const exists = Object.keys(answer).length > 0;
  return {
    exists,
    isContract: answer.type === "Contract",
    balanceUnits: BigInt(parseCount(answer.balance, "account's balance")),
  };
}

/** @throws ChainFault, MalformedAnswer */
export async function readResources(api: TronApi, address: string): Promise<TronResources> {
  const asked = await api.ask("wallet/getaccountresource", { address: `41${tronHex(address)}` });
  const answer = parseObject(asked, "account's resources");
  const left = (limit: string, used: string) =>
    Math.max(0, parseCount(answer[limit], limit) - parseCount(answer[used], used));
  return {
    stakedBytes: left("NetLimit", "NetUsed"),
    freeBytes: left("freeNetLimit", "freeNetUsed"),
    energy: left("EnergyLimit", "EnergyUsed"),
  };
}
