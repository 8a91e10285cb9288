/**
 * What a Transfer log of a listed contract says. Only the standard ERC-20 form (EIP-20: both addresses indexed,
 * one word of value) is a payment; a log of any other form is counted and never stops a reading.
 */

import { TRANSFER_TOPIC } from "../../core/transfer-log.ts";
import type { Log } from "./records.ts";

/**
 * `void`: standard form, but nobody's balance grows, since nothing moved or it moved in a circle.
 * `irregular`: an NFT (4 topics), addresses in the data, odd data, dirty upper bytes.
 */
export type TransferForm = "payment" | "void" | "irregular";

/** `0x` and the twelve upper bytes of an address in a topic. */
const CLEAN_TOPIC = `0x${"0".repeat(24)}`;
const ZERO_WORD = `0x${"0".repeat(64)}`;
const WORD_CHARS = 66;

export function isListedTransfer(log: Log, contracts: ReadonlySet<string>): boolean {
  return log.topics[0] === TRANSFER_TOPIC && contracts.has(log.address);
}

/** Sender of a payment, canonical. */
export function senderOf(log: Log): string {
  return addressIn(log.topics[1]);
}

/** Receiver of a payment, canonical. */
export function receiverOf(log: Log): string {
  return addressIn(log.topics[2]);
}

function addressIn(topic: string | undefined): string {
  if (topic === undefined) throw new Error("a payment names its sender and receiver in the second and third topic");
  return `0x${topic.slice(CLEAN_TOPIC.length)}`;
}

/** Base units that a payment moved. */
export function amountOf(log: Log): bigint {
  return BigInt(log.data);
}

export function formOf(log: Log): TransferForm {
  const [, from, to] = log.topics;
  if (log.topics.length !== 3 || from === undefined || to === undefined) return "irregular";
  if (log.data.length !== WORD_CHARS) return "irregular";
  if (!from.startsWith(CLEAN_TOPIC) || !to.startsWith(CLEAN_TOPIC)) return "irregular";
  return log.data === ZERO_WORD || from === to ? "void" : "payment";
}
