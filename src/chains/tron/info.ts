/**
 * What a transaction did (`TransactionInfo`): its logs, its fee, what contracts sent on. A node's word alone: nothing
 * in a block commits to it.
 */

import { parseObject } from "../rpc/malformed.ts";
import { ContradictedAnswer, parseCount, parseHex, parseItems, parseText } from "./answers.ts";

export interface TronLog {
  /** 20 bytes, hex, as logs have them. */
  readonly contract: string;
  readonly topics: readonly string[];
  readonly data: string;
}

export interface InternalTransfer {
  /** Place among the transaction's internal transactions of the kinds that move TRX, whatever became of those. */
  readonly place: number;
  /** 21 bytes, hex. */
  readonly from: string;
  readonly to: string;
  /** TRX, sun. */
  readonly amountUnits: bigint;
  /** Whether a TRC-10 token went along. */
  readonly hasTrc10: boolean;
}

export interface TronInfo {
  readonly txId: string;
  readonly height: number;
  /** Fees of every kind that the sender paid, sun. */
  readonly feeUnits: bigint;
  readonly isFailed: boolean;
  /** How a contract's execution ended; empty where none was called. */
  readonly execution: string;
  readonly logs: readonly TronLog[];
  /** Those that moved something, of frames that did not fail. */
  readonly internal: readonly InternalTransfer[];
  /** Whether the node shows internal transactions of this one at all. */
  readonly showsInternal: boolean;
}

/**
 * Names in java-tron's `Program`, hex: what moves TRX from one account to another. The others lock it, hand out
 * resources or pay rewards, and name a receiver all the same (`freezeForEnergy`, `delegateResourceOfEnergy`, ...). What
 * `withdrawExpireUnfreezeWhileSuiciding` moves is in the value of its `suicide`. Nodes that do not save those others
 * (`vm.saveFeaturedInternalTx`) leave them out, so a payment's place is not counted by them.
 */
const MOVES: ReadonlySet<string> = new Set(["call", "create", "suicide"].map(hexOf));

/** Null for `{}`: not there. @throws MalformedAnswer, ContradictedAnswer */
export function readInfo(answer: unknown): TronInfo | null {
  const info = parseObject(answer, "transaction info");
  if (Object.keys(info).length === 0) return null;
  const internal = parseItems(info.internal_transactions, "internal_transactions").map((item) =>
    parseObject(item, "internal transaction"),
  );
  return {
    txId: parseHex(info.id, 32, "info's id"),
    height: parseCount(info.blockNumber, "info's block"),
    feeUnits: BigInt(parseCount(info.fee, "fee")),
    isFailed: parseText(info.result, "info's result") === "FAILED",
    execution: parseText(parseObject(info.receipt ?? {}, "receipt").result, "receipt's result"),
    logs: parseItems(info.log, "logs").map(readLog),
    internal: internal.filter(isMove).flatMap(readInternal),
    showsInternal: internal.length > 0,
  };
}

/**
 * The infos of a block, by transaction; null while the node does not have all of them.
 * @throws MalformedAnswer, ContradictedAnswer
 */
export function readInfos(
  answer: unknown,
  height: number,
  txIds: readonly string[],
): ReadonlyMap<string, TronInfo> | null {
  const infos = new Map<string, TronInfo>();
  for (const item of parseItems(answer, "transaction infos")) {
    const info = readInfo(item);
    if (info === null || info.height !== height)
      throw new ContradictedAnswer(`block ${height}: an info of block ${info?.height ?? "none"} came`);
    if (infos.has(info.txId)) throw new ContradictedAnswer(`block ${height}: two infos of ${info.txId} came`);
    infos.set(info.txId, info);
  }
  const missing = txIds.filter((txId) => !infos.has(txId));
  if (missing.length > 0) return null;
  if (infos.size !== txIds.length)
    throw new ContradictedAnswer(`block ${height}: ${infos.size} infos came for ${txIds.length} transactions`);
  return infos;
}

function readLog(item: unknown): TronLog {
  const log = parseObject(item, "log");
  return {
    contract: parseLogAddress(log.address),
    topics: parseItems(log.topics, "topics").map((topic) => parseHex(topic, null, "topic")),
    data: parseHex(log.data ?? "", null, "log's data"),
  };
}

/** Nodes give 20 bytes. With the 41 it is the same contract, and passing it over would lose its payments. */
function parseLogAddress(value: unknown): string {
  const hex = parseHex(value, null, "log's address");
  return hex.length === 42 && hex.startsWith("41") ? hex.slice(2) : parseHex(hex, 20, "log's address");
}

function isMove({ note }: Record<string, unknown>): boolean {
  return MOVES.has(parseText(note, "note"));
}

function readInternal(fields: Record<string, unknown>, place: number): InternalTransfer[] {
  if (fields.rejected === true) return [];
  let amountUnits = 0n;
  let hasTrc10 = false;
  for (const value of parseItems(fields.callValueInfo, "callValueInfo")) {
    const { tokenId, callValue } = parseObject(value, "callValueInfo");
    if (parseText(tokenId, "tokenId") !== "") hasTrc10 = true;
    else amountUnits += BigInt(parseCount(callValue, "callValue"));
  }
  if (amountUnits === 0n && !hasTrc10) return [];
  const from = parseHex(fields.caller_address ?? "", null, "caller_address");
  const to = parseHex(fields.transferTo_address ?? "", null, "transferTo_address");
  return from === to ? [] : [{ place, from, to, amountUnits, hasTrc10 }];
}

function hexOf(text: string): string {
  return [...text].map((char) => char.charCodeAt(0).toString(16)).join("");
}
