/**
 * A Bitcoin block as its bytes say. The bytes prove themselves: their header's hash is the block's hash, and the
 * transactions make the header's merkle root. So a provider can neither hide, add nor change anything, and
 * amounts are integers from the start.
 *
 * What is not proven here: that the header is on the best chain. Links and depth do that, and several providers.
 */

import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex } from "@noble/hashes/utils";
import { MalformedAnswer } from "../rpc/malformed.ts";
import { BitcoinReader } from "./bitcoin-reader.ts";
import { merkleRoot } from "./merkle-root.ts";
import { type BitcoinTransaction, isCoinbase, readTransaction } from "./transaction.ts";

/** Hashes as people write them: byte order reversed, lower-case hex, no prefix. */
export interface BlockHeader {
  readonly hash: string;
  readonly parentHash: string;
  readonly merkleRoot: string;
  /** Unix seconds, as the miner states them: up to two hours off. */
  readonly timestamp: number;
  readonly version: number;
}

export interface BitcoinBlock {
  readonly header: BlockHeader;
  /** The first one is the coinbase, no other is. */
  readonly transactions: readonly BitcoinTransaction[];
}

const HEADER_BYTES = 80;
/** The smallest transaction there can be: version, one input, one empty output, lock time. */
const MIN_TRANSACTION_BYTES = 60;
/** BIP-34: from this version on, the coinbase begins with the height. */
const HEIGHT_VERSION = 2;

/** The answer to `getblockheader` with `verbose: false`. @throws MalformedAnswer */
export function readRawHeader(raw: unknown): BlockHeader {
  const reader = new BitcoinReader(raw, "block header");
  const header = headerFrom(reader);
  reader.end();
  return header;
}

/**
 * The answer to `getblock` with verbosity 0. The caller compares `header.hash` with the hash it asked for.
 * @throws MalformedAnswer when these are no block's bytes, or the transactions are not the header's own
 */
export function readRawBlock(raw: unknown): BitcoinBlock {
  const reader = new BitcoinReader(raw, "block");
  const header = headerFrom(reader);
  const count = reader.count(MIN_TRANSACTION_BYTES);
  if (count === 0) throw new MalformedAnswer(`block ${header.hash}`, "one transaction at least", "none");
  const transactions: BitcoinTransaction[] = [];
  for (let i = 0; i < count; i++) transactions.push(readTransaction(reader));
  reader.end();
  const { root, repeats } = merkleRoot(transactions.map(({ txId }) => txId));
  if (root !== header.merkleRoot) {
    throw new MalformedAnswer(`block ${header.hash}`, `transactions with merkle root ${header.merkleRoot}`, root);
  }
  // CVE-2012-2459: a list whose end is repeated has the root of the list without the repetition.
  if (repeats) throw new MalformedAnswer(`block ${header.hash}`, "each transaction once", "a repeated end of the list");
  // A list of inner nodes has the same root too; its first entry would have to look like a coinbase, which takes
  // a hash with 27 zero bytes (the rule of Core's `IsBlockMutated`).
  const odd = transactions.findIndex((transaction, i) => isCoinbase(transaction) !== (i === 0));
  if (odd !== -1) throw new MalformedAnswer(`block ${header.hash}`, "the coinbase first and alone", `place ${odd}`);
  return { header, transactions };
}

/** The height that the coinbase states, or null where blocks did not state any yet. */
export function statedHeight({ header, transactions }: BitcoinBlock): number | null {
  const script = transactions[0]?.inputs[0]?.script;
  if (script === undefined || header.version < HEIGHT_VERSION) return null;
  const length = Number.parseInt(script.slice(0, 2), 16);
  // Heights up to 16 are one opcode each (OP_0, OP_1 to OP_16).
  if (length === 0) return 0;
  if (length > 0x50 && length <= 0x60) return length - 0x50;
  const digits = script.slice(2, 2 + 2 * length);
  // Five bytes would be a height in eighty thousand years.
  if (length > 4 || digits.length !== 2 * length) return null;
  return (digits.match(/../g) ?? []).reduceRight((height, byte) => height * 256 + Number.parseInt(byte, 16), 0);
}

function headerFrom(reader: BitcoinReader): BlockHeader {
  const hash = bytesToHex(sha256(sha256(reader.bytes.subarray(0, HEADER_BYTES))).reverse());
  const version = reader.int32();
  const parentHash = reader.hash();
  const merkleRoot = reader.hash();
  const timestamp = reader.uint32();
  // Target and nonce.
  reader.skip(8);
  return { hash, parentHash, merkleRoot, timestamp, version };
}
