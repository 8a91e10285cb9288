/** What a TRC-20 contract says about itself, read as text that a stranger wrote. */

import type { TokenFacts } from "../../core/network.ts";
import { readDecimals, readSymbol } from "../evm/token.ts";
import { bothOf } from "../rpc/parallel.ts";
import type { TronApi } from "./api.ts";
import { callConstant } from "./constant-call.ts";

/** symbol() and decimals() */
const SYMBOL = "95d89b41";
const DECIMALS = "313ce567";

/** Null when there is no such token: no contract, a revert, or answers that are none. @throws ChainFault, MalformedAnswer */
export async function readToken(api: TronApi, contract: string): Promise<TokenFacts | null> {
  // Whoever asks does not matter; the contract itself is an account that exists.
  const call = (data: string) => callConstant(api, "walletsolidity", { owner: contract, contract, data });
  const [symbolAnswer, decimalsAnswer] = await bothOf(call(SYMBOL), call(DECIMALS));
  if (!symbolAnswer.ok || !decimalsAnswer.ok) return null;
  const symbol = readSymbol(symbolAnswer.result);
  const decimals = readDecimals(decimalsAnswer.result);
  return symbol === null || decimals === null ? null : { symbol, contract, decimals };
}
