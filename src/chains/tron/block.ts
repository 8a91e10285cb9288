/**
 * A block as a node shows it. Its id holds its height and the hash of its header, and the header names its parent, so a
 * header proves itself. A transaction's id is the hash of its bytes.
 *
 * That a block holds these transactions and no others is shown by the header's root, except where somebody has made it
 * impossible to compute (`transactions-root.ts`). Whether there are any at all is always told by it.
 */

import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import type { BlockRef } from "../port.ts";
import { MalformedAnswer, parseObject } from "../rpc/malformed.ts";
import { ContradictedAnswer, parseCount, parseHex, parseItems, parseText } from "./answers.ts";
import { ProtobufWriter } from "./protobuf.ts";
import { txIdOf } from "./raw-data.ts";
import { leafOf, rootOf } from "./transactions-root.ts";

export interface TronHeader {
  readonly ref: BlockRef;
  /** Of the block's slot, milliseconds: `ref` has whole seconds. */
  readonly timeMs: number;
  /** Over its transactions. */
  readonly root: string;
  readonly isEmpty: boolean;
}

export interface TronTransaction {
  readonly txId: string;
  /** What was signed, hex. */
  readonly raw: string;
  /** How its contract ended, as the block has it: `SUCCESS`, `REVERT`, `OUT_OF_ENERGY`, ... Empty: not said. */
  readonly outcome: string;
}

export interface TronBlock extends TronHeader {
  /** Genesis has some that nobody sent, which hand out the first coins. They are left out. */
  readonly transactions: readonly TronTransaction[];
  /** Whether the header's root comes out of them. */
  readonly isProven: boolean;
}

const NO_ROOT = "0".repeat(64);
const ID_BYTES = 32;

/** Null for `{}`: the node does not have it. @throws MalformedAnswer, ContradictedAnswer */
export function readHeader(answer: unknown): TronHeader | null {
  const block = parseObject(answer, "block");
  if (Object.keys(block).length === 0) return null;
  const hash = parseHex(block.blockID, ID_BYTES, "block's id");
  const raw = parseObject(parseObject(block.block_header, "block's header").raw_data, "header's raw_data");
  const height = parseCount(raw.number, "block's number");
  const timeMs = parseCount(raw.timestamp, "block's time");
  const parentHash = parseHex(raw.parentHash, ID_BYTES, "parent's id");
  const root = parseHex(raw.txTrieRoot, ID_BYTES, "root of transactions");
  const proven = idOf(height, headerBytes(raw, { height, timeMs, parentHash, root }));
  if (proven !== hash) throw new ContradictedAnswer(`block ${height}: its header has the id ${proven}, not ${hash}`);
  const timestamp = Math.floor(timeMs / 1000);
  return { ref: { height, hash, parentHash, timestamp }, timeMs, root, isEmpty: root === NO_ROOT };
}

/** Null for `{}`: the node does not have it. @throws MalformedAnswer, ContradictedAnswer */
export function readBlock(answer: unknown): TronBlock | null {
  const header = readHeader(answer);
  if (header === null) return null;
  const { height } = header.ref;
  const items = parseItems(parseObject(answer, "block").transactions, "transactions");
  if ((items.length === 0) !== header.isEmpty)
    throw new ContradictedAnswer(`block ${height}: its header and ${items.length} transactions contradict each other`);
  const transactions = height === 0 ? [] : items.map((item) => readTransaction(item, height));
  const leaves = height === 0 ? [] : items.map((item) => leafOf(parseObject(item, "transaction")));
  return { ...header, transactions, isProven: leaves.length === 0 || rootOf(leaves) === header.root };
}

function readTransaction(item: unknown, height: number): TronTransaction {
  const fields = parseObject(item, "transaction");
  const raw = parseHex(fields.raw_data_hex, null, "raw_data_hex");
  const txId = txIdOf(raw);
  if (fields.txID !== txId)
    throw new ContradictedAnswer(`block ${height}: transaction ${String(fields.txID)} has the bytes of ${txId}`);
  const [ret] = parseItems(fields.ret, "ret");
  const outcome = ret === undefined ? "" : parseText(parseObject(ret, "ret").contractRet, "contractRet");
  return { txId, raw, outcome };
}

/** The height in the place of the hash's first eight bytes. */
function idOf(height: number, header: string): string {
  const hash = bytesToHex(sha256(hexToBytes(header)));
  return height.toString(16).padStart(16, "0") + hash.slice(16);
}

/** `BlockHeader.raw` in TRON's protocol. */
function headerBytes(
  raw: Record<string, unknown>,
  read: { readonly height: number; readonly timeMs: number; readonly parentHash: string; readonly root: string },
): string {
  return new ProtobufWriter()
    .number(1, read.timeMs)
    .bytes(2, read.root)
    .bytes(3, read.parentHash)
    .number(7, read.height)
    .number(8, parseCount(raw.witness_id, "witness_id"))
    .bytes(9, parseHex(raw.witness_address ?? "", null, "witness_address"))
    .number(10, parseCount(raw.version, "block's version"))
    .bytes(11, parseHex(raw.accountStateRoot ?? "", null, "accountStateRoot"))
    .hex();
}

/** @throws MalformedAnswer when the node has none */
export function present<T>(found: T | null, what: string): T {
  if (found === null) throw new MalformedAnswer(what, "a block", "none");
  return found;
}
