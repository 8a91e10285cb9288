/**
 * The root that a header commits its receipts to: a Merkle Patricia trie (yellow paper, appendix D) from
 * rlp(index) to the receipt's consensus bytes (EIP-2718). Which chain it is does not matter: a wrong guess about
 * an encoding gives another root, never a match.
 */

import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { bloomOf } from "./bloom.ts";
import type { Log, Receipt } from "./records.ts";
import { encodeBytes, encodeList, encodeNumber, joinBytes } from "./rlp.ts";

/** OP Stack deposit transaction. */
const OP_DEPOSIT = 0x7e;

/** The root over receipts in the block's order. */
export function receiptsRoot(receipts: readonly Receipt[]): string {
  const leaves = receipts.map((receipt, index) => ({
    path: nibbles(encodeNumber(index)),
    value: encodeReceipt(receipt),
  }));
  return trieRoot(leaves);
}

/** The consensus bytes: `type || rlp([status or state root, cumulative gas, bloom, logs, ...])`, no type byte for legacy. */
export function encodeReceipt(receipt: Receipt): Uint8Array {
  const fields = [
    receipt.stateRoot === null ? encodeNumber(receipt.status ?? 0) : encodeHex(receipt.stateRoot),
    encodeNumber(receipt.cumulativeGasUsed),
    encodeHex(receipt.bloom ?? bloomOf(receipt.logs)),
    encodeList(receipt.logs.map(encodeLog)),
  ];
  // From Canyon on the receipt carries a version and the nonce counts; before, the nonce is stored but left
  // out of the root (op-geth, Receipts.EncodeIndex).
  if (receipt.type === OP_DEPOSIT && receipt.depositReceiptVersion !== null) {
    fields.push(encodeNumber(receipt.depositNonce ?? 0), encodeNumber(receipt.depositReceiptVersion));
  }
  const body = encodeList(fields);
  return receipt.type === 0 ? body : joinBytes([Uint8Array.of(receipt.type), body]);
}

function encodeLog(log: Log): Uint8Array {
  return encodeList([encodeHex(log.address), encodeList(log.topics.map(encodeHex)), encodeHex(log.data)]);
}

function encodeHex(hex: string): Uint8Array {
  return encodeBytes(hexToBytes(hex.slice(2)));
}

interface Leaf {
  readonly path: Uint8Array;
  readonly value: Uint8Array;
}

function trieRoot(leaves: readonly Leaf[]): string {
  const root = leaves.length === 0 ? encodeBytes(new Uint8Array(0)) : encodeNode(leaves, 0);
  return `0x${bytesToHex(keccak_256(root))}`;
}

/**
 * The node over leaves that share their path's first `depth` nibbles. No path here is a prefix of another
 * (rlp is prefix-free), so a branch never has a value of its own.
 */
function encodeNode(leaves: readonly Leaf[], depth: number): Uint8Array {
  const [first] = leaves;
  if (first === undefined) throw new Error("a trie node has at least one leaf");
  if (leaves.length === 1) return encodeList([compactPath(first.path.subarray(depth), true), encodeBytes(first.value)]);
  const shared = sharedDepth(leaves, first, depth);
  if (shared > depth) {
    return encodeList([compactPath(first.path.subarray(depth, shared), false), reference(encodeNode(leaves, shared))]);
  }
  const children: Leaf[][] = Array.from({ length: 16 }, () => []);
  for (const leaf of leaves) children[leaf.path[depth] ?? 16]?.push(leaf);
  const empty = encodeBytes(new Uint8Array(0));
  const slots = children.map((child) => (child.length === 0 ? empty : reference(encodeNode(child, depth + 1))));
  return encodeList([...slots, empty]);
}

function sharedDepth(leaves: readonly Leaf[], first: Leaf, from: number): number {
  let depth = from;
  while (depth < first.path.length && leaves.every((leaf) => leaf.path[depth] === first.path[depth])) depth += 1;
  return depth;
}

/** A child of 32 bytes or more is named by its hash, a smaller one stands in place. */
function reference(node: Uint8Array): Uint8Array {
  return node.length < 32 ? node : encodeBytes(keccak_256(node));
}

/** Hex-prefix encoding (yellow paper, appendix C), as an RLP string. */
function compactPath(path: Uint8Array, isLeaf: boolean): Uint8Array {
  const flag = isLeaf ? 2 : 0;
  const odd = path.length % 2 === 1;
  const padded = odd ? [flag + 1, ...path] : [flag, 0, ...path];
  const bytes = new Uint8Array(padded.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = ((padded[2 * i] ?? 0) << 4) | (padded[2 * i + 1] ?? 0);
  return encodeBytes(bytes);
}

function nibbles(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from([...bytes].flatMap((byte) => [byte >> 4, byte & 15]));
}
