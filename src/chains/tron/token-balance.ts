/** What an owner has of a TRC-20 token, as its contract says. */

import { tronHex } from "../../core/tron-address.ts";
import type { TronApi } from "./api.ts";
import { callConstant } from "./constant-call.ts";

/** balanceOf(address) */
const BALANCE_OF = "70a08231";
const WORD = 64;

/** Base units; null when the contract does not say. @throws ChainFault, MalformedAnswer */
export async function balanceOf(
  api: TronApi,
  state: "wallet" | "walletsolidity",
  owner: string,
  contract: string,
): Promise<bigint | null> {
  const data = BALANCE_OF + tronHex(owner).padStart(WORD, "0");
  const answer = await callConstant(api, state, { owner, contract, data });
  return answer.ok && answer.result.length >= WORD ? BigInt(`0x${answer.result.slice(0, WORD)}`) : null;
}
