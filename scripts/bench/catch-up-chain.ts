/**
 * A chain made up for a benchmark, true in all that a reader can check: linked headers, blooms of their logs, roots of
 * their receipts. Each transaction is one Transfer of one token, and so many of them, evenly spread, pay watched addresses.
 * Answers are made as JSON text beforehand: what serves them costs little beside what reads them.
 */

import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import { bloomOf, EMPTY_BLOOM } from "../../src/chains/evm/bloom.ts";
import { receiptsRoot } from "../../src/chains/evm/receipts-root.ts";
import type { Log, Receipt } from "../../src/chains/evm/records.ts";
import { TRANSFER_TOPIC } from "../../src/core/transfer-log.ts";

export const CHAIN_ID = 31_337;
export const TOKEN = `0x${"70".repeat(20)}`;
/** Base units of every payment. */
export const UNITS = 1_000_000n;
/** Blocks without anything, below what is caught up: a service starts at a head. */
export const EMPTY_BLOCKS = 64;

export interface ChainShape {
  readonly blocks: number;
  readonly logsPerBlock: number;
  /** Transfers in all that pay a watched address. */
  readonly watchedLogs: number;
  readonly watchedAddresses: number;
}

export interface ServedBlock {
  readonly hash: string;
  /** As `eth_getBlockByNumber` gives it, with hashes of transactions alone. */
  readonly json: string;
  readonly logs: readonly ServedLog[];
  readonly receipts: readonly string[];
}

export interface ServedLog {
  readonly topics: readonly string[];
  readonly json: string;
}

export function watchedAddress(n: number): string {
  return `0x${hashOf(`watched ${n}`).slice(26)}`;
}

export function topicOf(address: string): string {
  return `0x${address.slice(2).padStart(64, "0")}`;
}

/** From height 0: the empty blocks, then those of the shape. */
export function makeChain({ blocks, logsPerBlock, watchedLogs, watchedAddresses }: ChainShape): ServedBlock[] {
  const watched = Array.from({ length: watchedAddresses }, (_, n) => topicOf(watchedAddress(n)));
  const strangers = Array.from({ length: 5_000 }, (_, n) => topicOf(`0x${hashOf(`stranger ${n}`).slice(26)}`));
  const total = blocks * logsPerBlock;
  const chain: ServedBlock[] = [];
  let parent = `0x${"0".repeat(64)}`;
  let paid = 0;
  for (let height = 0; height < EMPTY_BLOCKS + blocks; height++) {
    const hash = hashOf(`block ${height} on ${parent}`);
    const first = (height - EMPTY_BLOCKS) * logsPerBlock;
    const logs: Log[] = [];
    for (let n = first; n >= 0 && n < first + logsPerBlock; n++) {
      const isPaid = Math.floor(((n + 1) * watchedLogs) / total) > paid;
      const to = isPaid ? watched[paid++ % watched.length] : strangers[(n * 7) % strangers.length];
      const from = strangers[(n * 11 + 1) % strangers.length];
      const place = n - first;
      logs.push({
        address: TOKEN,
        topics: [TRANSFER_TOPIC, from ?? "", to ?? ""],
        data: `0x${UNITS.toString(16).padStart(64, "0")}`,
        blockHash: hash,
        height,
        txHash: hashOf(`transaction ${n}`),
        txIndex: place,
        logIndex: place,
      });
    }
    chain.push(served(height, hash, parent, logs));
    parent = hash;
  }
  return chain;
}

function served(height: number, hash: string, parent: string, logs: readonly Log[]): ServedBlock {
  const receipts = logs.map((log, n): Receipt => {
    const { txHash, txIndex } = log;
    const gas = { cumulativeGasUsed: 50_000 * (n + 1), bloom: bloomOf([log]) };
    const plain = { stateRoot: null, depositNonce: null, depositReceiptVersion: null };
    return { txHash, txIndex, blockHash: hash, type: 2, status: 1, ...gas, logs: [log], ...plain };
  });
  const header = {
    number: hex(height),
    hash,
    parentHash: parent,
    nonce: "0x0000000000000000",
    mixHash: hashOf(`mix ${height}`),
    sha3Uncles: "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
    logsBloom: logs.length === 0 ? EMPTY_BLOOM : bloomOf(logs),
    transactionsRoot: hashOf(`transactions ${height}`),
    stateRoot: hashOf(`state ${height}`),
    receiptsRoot: receiptsRoot(receipts),
    withdrawalsRoot: hashOf("withdrawals"),
    miner: `0x${"11".repeat(20)}`,
    difficulty: "0x0",
    totalDifficulty: "0x0",
    extraData: "0x",
    size: hex(1_000 + 200 * logs.length),
    gasLimit: "0x1c9c380",
    gasUsed: hex(50_000 * logs.length),
    timestamp: hex(1_700_000_000 + 12 * height),
    baseFeePerGas: "0x7",
    uncles: [],
    withdrawals: [],
    transactions: logs.map((log) => log.txHash),
  };
  return {
    hash,
    json: JSON.stringify(header),
    logs: logs.map((log) => ({ topics: log.topics, json: JSON.stringify(logJson(log, header.timestamp)) })),
    receipts: receipts.map((receipt) => JSON.stringify(receiptJson(receipt, height, header.timestamp))),
  };
}

function logJson(log: Log, blockTimestamp: string): object {
  const { address, topics, data, blockHash, txHash: transactionHash } = log;
  const place = { transactionIndex: hex(log.txIndex), logIndex: hex(log.logIndex) };
  const block = { blockHash, blockNumber: hex(log.height), blockTimestamp };
  return { address, topics, data, ...block, transactionHash, ...place, removed: false };
}

function receiptJson(receipt: Receipt, height: number, timestamp: string): object {
  return {
    type: "0x2",
    status: "0x1",
    cumulativeGasUsed: hex(receipt.cumulativeGasUsed),
    logsBloom: receipt.bloom,
    logs: receipt.logs.map((log) => logJson(log, timestamp)),
    transactionHash: receipt.txHash,
    transactionIndex: hex(receipt.txIndex),
    blockHash: receipt.blockHash,
    blockNumber: hex(height),
    gasUsed: hex(50_000),
    effectiveGasPrice: "0x7",
    from: `0x${"22".repeat(20)}`,
    to: TOKEN,
    contractAddress: null,
  };
}

function hashOf(text: string): string {
  return `0x${bytesToHex(keccak_256(utf8ToBytes(text)))}`;
}

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}
