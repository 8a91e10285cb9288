/** Asking a contract without a transaction (`triggerconstantcontract`). */

import { tronHex } from "../../core/tron-address.ts";
import { MalformedAnswer, parseObject } from "../rpc/malformed.ts";
import { parseCount, parseHex, parseItems, readable } from "./answers.ts";
import type { TronApi } from "./api.ts";

export interface ConstantCall {
  /** Canonical. */
  readonly owner: string;
  readonly contract: string;
  /** Hex without `0x`. */
  readonly data: string;
}

export type ConstantAnswer =
  | { readonly ok: true; readonly result: string; readonly energy: number }
  /** There is no such contract, or it reverted. `detail`: the node's words, fit for a message. */
  | { readonly ok: false; readonly detail: string };

/** @param api the newest block's state, or the newest solid one's @throws ChainFault, MalformedAnswer */
export async function callConstant(
  api: TronApi,
  state: "wallet" | "walletsolidity",
  { owner, contract, data }: ConstantCall,
): Promise<ConstantAnswer> {
  const body = { owner_address: `41${tronHex(owner)}`, contract_address: `41${tronHex(contract)}`, data };
  const answer = parseObject(await api.ask(`${state}/triggerconstantcontract`, body), "answer of a call");
  const { result, code, message } = parseObject(answer.result, "result of a call");
  const words = api.clean(readable(message));
  // `result` is true of a call that reverted as well: it says that there was an execution.
  if (result !== true) return { ok: false, detail: words || String(code) };
  const [ret] = parseItems(parseObject(answer.transaction ?? {}, "transaction of a call").ret, "ret of a call");
  const isFailed = ret !== undefined && parseObject(ret, "ret of a call").ret === "FAILED";
  if (words !== "" || isFailed) return { ok: false, detail: words || "the call failed" };
  const [returned] = parseItems(answer.constant_result, "constant_result");
  if (returned === undefined) throw new MalformedAnswer("constant_result", "what the contract returned", answer);
  const energy = parseCount(answer.energy_used, "energy_used");
  return { ok: true, result: parseHex(returned, null, "constant_result"), energy };
}
