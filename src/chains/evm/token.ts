/** What a token contract says about itself (EIP-20), read as text that a stranger wrote. */

import type { TokenFacts } from "../../core/network.ts";
import type { RpcAnswer, RpcClient } from "../rpc/client.ts";
import { isExecutionFailure } from "../rpc/rpc-failure.ts";
import { parseData } from "./parse.ts";

/** symbol() and decimals() */
const SYMBOL = "0x95d89b41";
const DECIMALS = "0x313ce567";
/** 10^77 is the last power of ten below 2^256. */
const MAX_DECIMALS = 77;
const WORD = 64;

/** Null when there is no such token: no code, a revert, or answers that are none. @throws ChainFault */
export async function readToken(rpc: RpcClient, contract: string): Promise<TokenFacts | null> {
  const call = (data: string) => ({ method: "eth_call", params: [{ to: contract, data }, "latest"] });
  const { answers } = await rpc.batch([call(SYMBOL), call(DECIMALS)]);
  const [symbolData, decimalsData] = answers.map((answer) => returnData(rpc, answer));
  if (symbolData === undefined || decimalsData === undefined) throw new Error("two calls have two answers");
  if (symbolData === null || decimalsData === null) return null;
  const symbol = readSymbol(symbolData);
  const decimals = readDecimals(decimalsData);
  return symbol === null || decimals === null ? null : { symbol, contract, decimals };
}

/** Hex without `0x`; null when the contract did not answer. */
function returnData(rpc: RpcClient, answer: RpcAnswer): string | null {
  if (answer.ok) return parseData(answer.result, "result of a call").slice(2);
  if (isExecutionFailure(answer.failure)) return null;
  throw rpc.fault("token call", answer.failure);
}

/** Hex without `0x`; null when it is no number of decimals. */
export function readDecimals(hex: string): number | null {
  if (hex.length < WORD) return null;
  const value = BigInt(`0x${hex.slice(0, WORD)}`);
  return value <= BigInt(MAX_DECIMALS) ? Number(value) : null;
}

/** An ABI string, or bytes32 as early tokens have it. 1 to 20 printable ASCII characters, no spaces. */
export function readSymbol(hex: string): string | null {
  const bytes = hex.length === WORD ? hex : abiString(hex);
  if (bytes === null) return null;
  const text = asciiOf(bytes.replace(/(00)+$/, ""));
  return text !== null && text.length >= 1 && text.length <= 20 ? text : null;
}

/** The bytes of a dynamic string: offset, length, content. */
function abiString(hex: string): string | null {
  const offset = smallWord(hex, 0);
  if (offset === null) return null;
  const length = smallWord(hex, offset * 2);
  if (length === null) return null;
  const start = offset * 2 + WORD;
  const content = hex.slice(start, start + length * 2);
  return content.length === length * 2 ? content : null;
}

function smallWord(hex: string, at: number): number | null {
  const word = hex.slice(at, at + WORD);
  if (word.length !== WORD || !/^0{56}/.test(word)) return null;
  return Number.parseInt(word, 16);
}

/** Null when a byte is not printable ASCII above the space. */
function asciiOf(hex: string): string | null {
  if (hex.length % 2 !== 0) return null;
  let text = "";
  for (let i = 0; i < hex.length; i += 2) {
    const code = Number.parseInt(hex.slice(i, i + 2), 16);
    if (code < 0x21 || code > 0x7e) return null;
    text += String.fromCharCode(code);
  }
  return text;
}
