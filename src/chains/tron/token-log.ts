/**
 * What a TRC-20 Transfer log says. It is the one of EIP-20, with addresses of 20 bytes, without the 41. Only the
 * standard form is a payment: both addresses indexed, one word of value.
 */

import { TRANSFER_TOPIC } from "../../core/transfer-log.ts";
import { tronAddress } from "../../core/tron-address.ts";
import type { TronLog } from "./info.ts";

export interface TokenMove {
  /** Canonical. */
  readonly from: string;
  readonly to: string;
  readonly amountUnits: bigint;
}

const TOPIC = TRANSFER_TOPIC.slice(2);
/** The twelve upper bytes of an address in a topic. */
const CLEAN = "0".repeat(24);
const WORD_CHARS = 64;

export function isTransfer(log: TronLog): boolean {
  return log.topics[0] === TOPIC;
}

/**
 * `void`: standard form, but nobody's balance grows. `irregular`: an NFT, addresses in the data, odd data.
 */
export function moveIn({ topics, data }: TronLog): TokenMove | "void" | "irregular" {
  const [, from, to] = topics;
  if (topics.length !== 3 || from === undefined || to === undefined || data.length !== WORD_CHARS) return "irregular";
  if (![from, to].every((topic) => topic.length === WORD_CHARS && topic.startsWith(CLEAN))) return "irregular";
  const amountUnits = BigInt(`0x${data}`);
  if (amountUnits === 0n || from === to) return "void";
  return { from: tronAddress(from.slice(24)), to: tronAddress(to.slice(24)), amountUnits };
}
