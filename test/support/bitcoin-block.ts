/**
 * Blocks of regtest as bytes: merkle root, witness commitment (BIP-141), height in the coinbase (BIP-34) and a
 * proof of work, which on regtest takes two tries. A real node takes them as its own.
 */

import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils";
import {
  type BitcoinTx,
  buildTx,
  type Coin,
  doubleSha,
  hashBytes,
  isUnspendable,
  outPointText,
  parseTx,
  push,
  shownHash,
} from "./bitcoin-tx.ts";

const GENESIS_HEADER =
  "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4adae5494dffff7f2002000000";
const GENESIS_TX =
  "01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000";
export const GENESIS_HASH = "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206";
const GENESIS_TIME = 1_296_688_602;
export const BITS = 0x207fffff;
const VERSION = 0x20000000;
const SUBSIDY = 5_000_000_000n;
const HALVING_BLOCKS = 150;
const NO_HASH = "00".repeat(32);

export interface BitcoinBlock {
  readonly hash: string;
  readonly parentHash: string;
  readonly height: number;
  readonly time: number;
  readonly version: number;
  readonly nonce: number;
  readonly merkleRoot: string;
  /** 80 bytes, hex. */
  readonly header: string;
  /** The coinbase first. */
  readonly txs: readonly BitcoinTx[];
  /** What its transactions spend and an earlier block made, to take the block off again. By `outPointText`. */
  readonly spent: ReadonlyMap<string, Coin>;
}

export const GENESIS: BitcoinBlock = {
  hash: GENESIS_HASH,
  parentHash: NO_HASH,
  height: 0,
  time: GENESIS_TIME,
  version: 1,
  nonce: 2,
  merkleRoot: parseTx(GENESIS_TX).txid,
  header: GENESIS_HEADER,
  txs: [parseTx(GENESIS_TX)],
  spent: new Map(),
};

export interface BlockPlan {
  readonly parent: BitcoinBlock;
  readonly time: number;
  /** Script in hex. */
  readonly coinbaseTo: string;
  /** Makes one coinbase unlike every other. */
  readonly extra: number;
  readonly txs: readonly BitcoinTx[];
  readonly fees: bigint;
  readonly spent: ReadonlyMap<string, Coin>;
}

export function sealBlock({ parent, time, coinbaseTo, extra, txs, fees, spent }: BlockPlan): BitcoinBlock {
  const height = parent.height + 1;
  const commitment = doubleSha(
    merkleRoot([new Uint8Array(32), ...txs.map(({ wtxid }) => hashBytes(wtxid))]),
    hexToBytes(NO_HASH),
  );
  const coinbase = buildTx({
    version: 2,
    lockTime: 0,
    inputs: [
      {
        txid: NO_HASH,
        vout: 0xffffffff,
        scriptSig: heightPush(height) + push(bytesToHex(uint32(extra))),
        sequence: 0xffffffff,
        witness: [NO_HASH],
      },
    ],
    outputs: [
      { amount: (SUBSIDY >> BigInt(Math.floor(height / HALVING_BLOCKS))) + fees, script: coinbaseTo },
      { amount: 0n, script: `6a24aa21a9ed${bytesToHex(commitment)}` },
    ],
  });
  const all = [coinbase, ...txs];
  const root = merkleRoot(all.map(({ txid }) => hashBytes(txid)));
  const front = concatBytes(uint32(VERSION), hashBytes(parent.hash), root, uint32(time), uint32(BITS));
  for (let nonce = 0; ; nonce++) {
    const header = concatBytes(front, uint32(nonce));
    const hash = doubleSha(header);
    // The target of regtest: the highest bit is clear.
    if ((hash[31] ?? 0xff) > 0x7e) continue;
    return {
      hash: shownHash(hash),
      parentHash: parent.hash,
      height,
      time,
      version: VERSION,
      nonce,
      merkleRoot: shownHash(root),
      header: bytesToHex(header),
      txs: all,
      spent,
    };
  }
}

/** The whole block, hex, as it travels between nodes. */
export function blockHex({ header, txs }: BitcoinBlock): string {
  return header + countHex(txs.length) + txs.map(({ raw }) => raw).join("");
}

/** What can be spent at one block. */
export class CoinView {
  tip: BitcoinBlock;
  readonly #coins: Map<string, Coin>;

  constructor(tip: BitcoinBlock = GENESIS, coins: ReadonlyMap<string, Coin> = new Map()) {
    this.tip = tip;
    this.#coins = new Map(coins);
  }

  copy(): CoinView {
    return new CoinView(this.tip, this.#coins);
  }

  get(place: string): Coin | undefined {
    return this.#coins.get(place);
  }

  entries(): IterableIterator<[string, Coin]> {
    return this.#coins.entries();
  }

  connect(block: BitcoinBlock): void {
    if (block.parentHash !== this.tip.hash) throw new Error(`${block.hash} does not stand on ${this.tip.hash}`);
    for (const [at, tx] of block.txs.entries()) {
      for (const input of at === 0 ? [] : tx.inputs) this.#coins.delete(outPointText(input));
      for (const [place, coin] of coinsOf(tx, block.height, at === 0)) this.#coins.set(place, coin);
    }
    this.tip = block;
  }

  disconnect(parent: BitcoinBlock): void {
    for (const tx of this.tip.txs)
      for (let vout = 0; vout < tx.outputs.length; vout++) this.#coins.delete(outPointText({ txid: tx.txid, vout }));
    for (const [place, coin] of this.tip.spent) this.#coins.set(place, coin);
    this.tip = parent;
  }
}

export function coinsOf({ txid, outputs }: BitcoinTx, height: number, coinbase: boolean): [string, Coin][] {
  return outputs.flatMap((output, vout) =>
    isUnspendable(output.script)
      ? []
      : [[outPointText({ txid, vout }), { ...output, height, coinbase }] as const].map(
          ([k, v]) => [k, v] as [string, Coin],
        ),
  );
}

function merkleRoot(leaves: readonly Uint8Array[]): Uint8Array {
  let level = [...leaves];
  while (level.length > 1) {
    const next: Uint8Array[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const left = level[at] as Uint8Array;
      next.push(doubleSha(left, level[at + 1] ?? left));
    }
    level = next;
  }
  return level[0] ?? new Uint8Array(32);
}

/** The least push of a number, as BIP-34 wants it. */
function heightPush(height: number): string {
  if (height <= 16) return (0x50 + height).toString(16);
  const bytes: number[] = [];
  for (let rest = height; rest > 0; rest = Math.floor(rest / 256)) bytes.push(rest % 256);
  if ((bytes.at(-1) ?? 0) > 0x7f) bytes.push(0);
  return push(bytesToHex(Uint8Array.from(bytes)));
}

function countHex(count: number): string {
  if (count < 0xfd) return bytesToHex(Uint8Array.of(count));
  return `fd${bytesToHex(Uint8Array.of(count & 0xff, count >> 8))}`;
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}
