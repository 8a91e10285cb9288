/**
 * Blocks and transactions in the shape of Core 29. Left out are `desc` and `asm`, which nobody should read. Amounts are
 * `Btc`, so that eight decimals reach the wire.
 */

import { BITS, type BitcoinBlock, blockHex } from "./bitcoin-block.ts";
import type { BitcoinChain } from "./bitcoin-chain.ts";
import { coins } from "./bitcoin-pool.ts";
import { addressOf, type BitcoinTx, isCoinbase, outPointText, scriptType } from "./bitcoin-tx.ts";

export type Json = Record<string, unknown>;

/** An amount in an answer, in satoshi: written as coins with eight decimals. */
export class Btc {
  constructor(readonly satoshi: bigint) {}
}

export const DIFFICULTY = 4.656542373906925e-10;
export const TARGET = `7fffff${"0".repeat(58)}`;
const MEDIAN_OF = 11;

export function headerOf(chain: BitcoinChain, block: BitcoinBlock): Json {
  const isActive = chain.isActive(block);
  const next = isActive ? chain.at(block.height + 1) : undefined;
  return {
    hash: block.hash,
    confirmations: isActive ? chain.head - block.height + 1 : -1,
    height: block.height,
    version: block.version,
    versionHex: block.version.toString(16).padStart(8, "0"),
    merkleroot: block.merkleRoot,
    time: block.time,
    mediantime: medianTime(chain, block),
    nonce: block.nonce,
    bits: bitsHex(),
    target: TARGET,
    difficulty: DIFFICULTY,
    chainwork: workOf(block),
    nTx: block.txs.length,
    ...(block.height === 0 ? {} : { previousblockhash: block.parentHash }),
    ...(next === undefined ? {} : { nextblockhash: next.hash }),
  };
}

export function blockAnswer(chain: BitcoinChain, block: BitcoinBlock, verbosity: number): unknown {
  if (verbosity <= 0) return blockHex(block);
  const size = blockHex(block).length / 2;
  const witnesses = block.txs.reduce((sum, tx) => sum + tx.size - (tx.weight - tx.size) / 3, 0);
  return {
    ...headerOf(chain, block),
    strippedsize: size - witnesses,
    size,
    weight: (size - witnesses) * 3 + size,
    tx: block.txs.map((tx) => (verbosity === 1 ? tx.txid : withFee(block, tx, verbosity))),
  };
}

/** From verbosity 2 on a block tells each fee, and from 3 on what each input spent. */
function withFee(block: BitcoinBlock, tx: BitcoinTx, verbosity: number): Json {
  const shown = transactionJson(tx);
  if (isCoinbase(tx)) return shown;
  const spent = tx.inputs.map((input) => {
    const made = block.txs.find(({ txid }) => txid === input.txid)?.outputs[input.vout];
    const coin =
      made === undefined ? block.spent.get(outPointText(input)) : { ...made, height: block.height, coinbase: false };
    if (coin === undefined) throw new Error(`${block.hash} does not say what ${outPointText(input)} held`);
    return coin;
  });
  const fee =
    spent.reduce((sum, { amount }) => sum + amount, 0n) - tx.outputs.reduce((sum, { amount }) => sum + amount, 0n);
  const vin = (shown.vin as Json[]).map((input, at) => {
    const coin = spent[at];
    if (verbosity < 3 || coin === undefined) return input;
    const { sequence, ...rest } = input;
    const { amount, script, height, coinbase } = coin;
    const prevout = { generated: coinbase, height, value: new Btc(amount), scriptPubKey: scriptJson(script) };
    return { ...rest, prevout, sequence };
  });
  const { hex, ...rest } = shown;
  return { ...rest, vin, fee: new Btc(fee), hex };
}

export function transactionJson(tx: BitcoinTx): Json {
  return {
    txid: tx.txid,
    hash: tx.wtxid,
    version: tx.version,
    size: tx.size,
    vsize: tx.vsize,
    weight: tx.weight,
    locktime: tx.lockTime,
    vin: tx.inputs.map(({ txid, vout, scriptSig, sequence, witness }) => ({
      ...(isCoinbase(tx) ? { coinbase: scriptSig } : { txid, vout, scriptSig: { hex: scriptSig } }),
      ...(witness.length > 0 ? { txinwitness: witness } : {}),
      sequence,
    })),
    vout: tx.outputs.map(({ amount, script }, n) => ({ value: new Btc(amount), n, scriptPubKey: scriptJson(script) })),
    hex: tx.raw,
  };
}

export function scriptJson(script: string): Json {
  const type = scriptType(script);
  const address = type === "pubkey" || type === "nulldata" || type === "nonstandard" ? undefined : addressOf(script);
  return { hex: script, ...(address === undefined ? {} : { address }), type };
}

/** Of the last eleven blocks, the block itself being one. */
export function medianTime(chain: BitcoinChain, block: BitcoinBlock): number {
  const times: number[] = [];
  for (
    let at: BitcoinBlock | undefined = block;
    at !== undefined && times.length < MEDIAN_OF;
    at = chain.byHash(at.parentHash)
  )
    times.push(at.time);
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? 0;
}

export const bitsHex = () => BITS.toString(16);
/** Each block of regtest adds two. */
export const workOf = ({ height }: BitcoinBlock) => (2 * (height + 1)).toString(16).padStart(64, "0");

/** JSON as Core writes it: amounts as numbers with eight decimals. */
export function writeJson(value: unknown): string {
  const marked = JSON.stringify(value, (_, item) => (item instanceof Btc ? `\u0001${coins(item.satoshi)}` : item));
  return marked.replace(/"\\u0001(-?[\d.]+)"/g, "$1");
}
