/**
 * What a TRON chain in memory is made of: accounts, transactions with the keys that sign them, and blocks, each with the
 * id that its bytes give it.
 */

import { secp256k1 } from "@noble/curves/secp256k1";
import { sha256 } from "@noble/hashes/sha2";
import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { ProtobufMessage, ProtobufWriter } from "../../src/chains/tron/protobuf.ts";
import { decodeRawData, type RawData } from "../../src/chains/tron/raw-data.ts";
import { tronAddress } from "../../src/core/tron-address.ts";

const NOTHING = "0".repeat(64);
/** The main chain's first block, whose header has the id that the chain is named by. */
export const MAIN_GENESIS = {
  height: 0,
  id: "00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc",
  parentId: "e58f33f9baf9305dc6f82b9f1934ea8f0ade2defb951258d50167028c780351f",
  root: "8ef446bf3f395af929c218014f6101ec86576c5f61b2ae3236bf3a2ab5e2fecd",
  witness: Buffer.from(
    "A new system must allow existing systems to be linked together without requiring any central control or coordination",
  ).toString("hex"),
  timeMs: 0,
  txs: [],
} as const;

export interface TronLogJson {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/** What a contract's execution did. */
export interface Execution {
  readonly outcome: "SUCCESS" | "REVERT" | "OUT_OF_ENERGY";
  readonly energy: number;
  /** Hex. */
  readonly returned: string;
  readonly logs: readonly TronLogJson[];
  /** As `internal_transactions` shows them. */
  readonly internal?: readonly unknown[];
}

export interface SignedTx {
  readonly txId: string;
  readonly raw: string;
  readonly data: RawData;
  readonly signatures: readonly string[];
  /** As it was sent, hex. */
  readonly bytes: string;
}

export interface MinedTx extends SignedTx {
  readonly outcome: string;
  readonly fee: Fee;
  readonly execution: Execution | null;
}

export interface Fee {
  readonly netUsage: number;
  readonly netFee: bigint;
  readonly createFee: bigint;
  readonly energyUsage: number;
  readonly energyFee: bigint;
}

export interface Account {
  balance: bigint;
  freeBytesUsed: number;
  /** Energy that stake gives, and what of it is used. */
  energy: number;
  energyUsed: number;
}

export interface MadeBlock {
  readonly height: number;
  readonly id: string;
  readonly parentId: string;
  readonly timeMs: number;
  readonly root: string;
  readonly witness: string;
  readonly txs: readonly MinedTx[];
  /** Accounts after it, by 20 bytes in hex. */
  readonly accounts: ReadonlyMap<string, Account>;
}

/** Why a node does not take a transaction, by the names of `Return.response_code`. */
export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export class Wallet {
  readonly hex: string;
  readonly address: string;
  readonly #key: Uint8Array;

  constructor(seed: string) {
    this.#key = sha256(new TextEncoder().encode(`tron test wallet ${seed}`));
    this.hex = bytesToHex(keccak_256(secp256k1.getPublicKey(this.#key, false).subarray(1)).subarray(-20));
    this.address = tronAddress(this.hex);
  }

  sign(raw: string): string {
    const signature = secp256k1.sign(sha256(hexToBytes(raw)), this.#key);
    return signature.toCompactHex() + (signature.recovery + 27).toString(16);
  }
}

export function parseTx(bytes: string): SignedTx {
  const message = ProtobufMessage.ofHex(bytes, "transaction");
  const raw = bytesToHex(message.message(1));
  const data = decodeRawData(raw);
  if (data === null) throw new Refusal("CONTRACT_VALIDATE_ERROR", "Contract validate error : No contract!");
  return { txId: bytesToHex(sha256(hexToBytes(raw))), raw, data, signatures: message.list(2).map(bytesToHex), bytes };
}

/** With everything that a block keeps of it. */
export function minedBytes({ raw, signatures, outcome }: Pick<MinedTx, "raw" | "signatures" | "outcome">): string {
  const writer = new ProtobufWriter().always(1, raw);
  for (const signature of signatures) writer.always(2, signature);
  return writer.always(5, new ProtobufWriter().number(3, CODES[outcome] ?? 0).hex()).hex();
}

const CODES: Readonly<Record<string, number>> = { SUCCESS: 1, REVERT: 2, OUT_OF_ENERGY: 10 };

export function madeBlock(block: {
  readonly height: number;
  readonly parentId: string;
  readonly timeMs: number;
  readonly txs?: readonly MinedTx[];
  readonly accounts: ReadonlyMap<string, Account>;
  readonly witness?: string;
}): MadeBlock {
  const { txs = [], witness = "00".repeat(20) } = block;
  const root = rootOf(txs.map((tx) => bytesToHex(sha256(hexToBytes(minedBytes(tx))))));
  const header = new ProtobufWriter()
    .number(1, block.timeMs)
    .bytes(2, root)
    .bytes(3, block.parentId)
    .number(7, block.height)
    .bytes(9, `41${witness}`)
    .number(10, block.height === 0 ? 0 : 36)
    .hex();
  const id = block.height.toString(16).padStart(16, "0") + bytesToHex(sha256(hexToBytes(header))).slice(16);
  return { ...block, txs, witness: `41${witness}`, root, id };
}

/** A leaf without a neighbour goes up as it is. */
export function rootOf(leaves: readonly string[]): string {
  if (leaves.length < 2) return leaves[0] ?? NOTHING;
  const parents: string[] = [];
  for (let i = 0; i < leaves.length; i += 2) {
    const [left = "", right] = leaves.slice(i, i + 2);
    parents.push(right === undefined ? left : bytesToHex(sha256(hexToBytes(left + right))));
  }
  return rootOf(parents);
}

export function idOf(height: number, text: string): string {
  return height.toString(16).padStart(16, "0") + bytesToHex(sha256(new TextEncoder().encode(text))).slice(16);
}

export function newAccount(balance: bigint): Account {
  return { balance, freeBytesUsed: 0, energy: 0, energyUsed: 0 };
}

/** 20 bytes, hex. */
export function ownerOf({ contract }: RawData): string {
  return contract.kind === "other" ? "" : contract.owner.slice(2);
}

export function signerOf({ txId, signatures: [signature = ""] }: SignedTx): string {
  try {
    const { r, s } = secp256k1.Signature.fromCompact(signature.slice(0, 128));
    const recovery = Number.parseInt(signature.slice(128), 16) - 27;
    const point = new secp256k1.Signature(r, s).addRecoveryBit(recovery).recoverPublicKey(txId);
    return bytesToHex(keccak_256(point.toRawBytes(false).subarray(1)).subarray(-20));
  } catch {
    return "nobody";
  }
}
