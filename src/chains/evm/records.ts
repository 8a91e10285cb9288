/**
 * Blocks, logs and receipts as JSON-RPC gives them (execution-apis), reduced to what a reading needs.
 */

import type { BlockRef } from "../port.ts";
import {
  MalformedAnswer,
  parseAddressHex,
  parseAmountHex,
  parseBloom,
  parseData,
  parseHash,
  parseList,
  parseObject,
  parseQuantity,
} from "./parse.ts";

/** A header and what belongs to it. */
export interface Block {
  readonly ref: BlockRef;
  readonly bloom: string;
  readonly receiptsRoot: string;
  /** Hashes of its transactions, in order. */
  readonly txHashes: readonly string[];
  /** Transactions that carry value to somebody else. Empty when the block was asked for with hashes alone. */
  readonly payments: readonly NativePayment[];
}

export interface NativePayment {
  readonly txHash: string;
  readonly to: string;
  /** Hex, above zero. */
  readonly value: string;
}

export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly blockHash: string;
  readonly height: number;
  readonly txHash: string;
  readonly txIndex: number;
  /** Counts inside the block. Never part of an identity. */
  readonly logIndex: number;
}

export interface Receipt {
  readonly txHash: string;
  readonly txIndex: number;
  readonly blockHash: string;
  /** EIP-2718 type; 0 for legacy. */
  readonly type: number;
  /** 1 or 0 (EIP-658); null before Byzantium, where a state root stands in its place. */
  readonly status: 0 | 1 | null;
  readonly stateRoot: string | null;
  readonly cumulativeGasUsed: number;
  readonly bloom: string | null;
  /** By log index. The position in this list is the log's ordinal. */
  readonly logs: readonly Log[];
  /** OP Stack deposits only. */
  readonly depositNonce: number | null;
  readonly depositReceiptVersion: number | null;
}

/** @param full whether the block was asked for with whole transactions. */
export function parseBlock(value: unknown, full: boolean): Block {
  const block = parseObject(value, "block");
  const ref = parseRef(block);
  const what = `block ${ref.height}`;
  const listed = parseList(block.transactions, `${what} transactions`);
  const payments: NativePayment[] = [];
  const txHashes = listed.map((entry) => {
    if (!full) return parseHash(entry, `${what} transaction`);
    return parseTransaction(parseObject(entry, `${what} transaction`), payments);
  });
  return {
    ref,
    bloom: parseBloom(block.logsBloom, `${what} logsBloom`),
    receiptsRoot: parseHash(block.receiptsRoot, `${what} receiptsRoot`),
    txHashes,
    payments,
  };
}

/** The header's own facts alone. */
export function parseRef(block: Record<string, unknown>): BlockRef {
  const height = parseQuantity(block.number, "block number");
  return {
    height,
    hash: parseHash(block.hash, `block ${height} hash`),
    parentHash: parseHash(block.parentHash, `block ${height} parentHash`),
    timestamp: parseQuantity(block.timestamp, `block ${height} timestamp`),
  };
}

function parseTransaction(tx: Record<string, unknown>, payments: NativePayment[]): string {
  const txHash = parseHash(tx.hash, "transaction hash");
  const value = tx.value === "0x0" ? tx.value : parseAmountHex(tx.value, `transaction ${txHash} value`);
  // A creation has no receiver: its endowment goes to a contract that did not exist before.
  if (tx.to === null || tx.to === undefined || isZero(value)) return txHash;
  const from = parseAddressHex(tx.from, `transaction ${txHash} from`);
  const to = parseAddressHex(tx.to, `transaction ${txHash} to`);
  // What one sends to oneself is no deposit: the balance does not grow.
  if (from !== to) payments.push({ txHash, to, value });
  return txHash;
}

export function parseLog(value: unknown): Log {
  const log = parseObject(value, "log");
  const topics = parseList(log.topics, "log topics");
  if (topics.length > 4) throw new MalformedAnswer("log topics", "at most 4", topics);
  return {
    address: parseAddressHex(log.address, "log address"),
    topics: topics.map((topic) => parseHash(topic, "log topic")),
    data: parseData(log.data, "log data"),
    blockHash: parseHash(log.blockHash, "log blockHash"),
    height: parseQuantity(log.blockNumber, "log blockNumber"),
    txHash: parseHash(log.transactionHash, "log transactionHash"),
    txIndex: parseQuantity(log.transactionIndex, "log transactionIndex"),
    logIndex: parseQuantity(log.logIndex, "log logIndex"),
  };
}

export function parseReceipt(value: unknown): Receipt {
  const receipt = parseObject(value, "receipt");
  const txHash = parseHash(receipt.transactionHash, "receipt transactionHash");
  const what = `receipt ${txHash}`;
  const blockHash = parseHash(receipt.blockHash, `${what} blockHash`);
  const txIndex = parseQuantity(receipt.transactionIndex, `${what} transactionIndex`);
  return {
    txHash,
    txIndex,
    blockHash,
    type: optional(receipt.type, `${what} type`) ?? 0,
    ...parseStatus(receipt, what),
    cumulativeGasUsed: parseQuantity(receipt.cumulativeGasUsed, `${what} cumulativeGasUsed`),
    bloom: isAbsent(receipt.logsBloom) ? null : parseBloom(receipt.logsBloom, `${what} logsBloom`),
    logs: parseReceiptLogs(receipt.logs, { txHash, blockHash, what }),
    depositNonce: optional(receipt.depositNonce, `${what} depositNonce`),
    depositReceiptVersion: optional(receipt.depositReceiptVersion, `${what} depositReceiptVersion`),
  };
}

function parseStatus(receipt: Record<string, unknown>, what: string): Pick<Receipt, "status" | "stateRoot"> {
  if (isAbsent(receipt.status)) return { status: null, stateRoot: parseHash(receipt.root, `${what} root`) };
  const status = parseQuantity(receipt.status, `${what} status`);
  if (status !== 0 && status !== 1) throw new MalformedAnswer(`${what} status`, "0x0 or 0x1", receipt.status);
  return { status, stateRoot: null };
}

function parseReceiptLogs(value: unknown, owner: { txHash: string; blockHash: string; what: string }): Log[] {
  const logs = parseList(value, `${owner.what} logs`).map(parseLog);
  for (const log of logs) {
    if (log.txHash !== owner.txHash) throw new MalformedAnswer(`${owner.what} log`, "its own hash", log.txHash);
    if (log.blockHash !== owner.blockHash)
      throw new MalformedAnswer(`${owner.what} log`, "its own block", log.blockHash);
  }
  return logs.sort((a, b) => a.logIndex - b.logIndex);
}

function optional(value: unknown, what: string): number | null {
  return isAbsent(value) ? null : parseQuantity(value, what);
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined;
}

/** Whether hex digits say nothing but zero. */
export function isZero(hex: string): boolean {
  return /^0x0*$/.test(hex);
}
