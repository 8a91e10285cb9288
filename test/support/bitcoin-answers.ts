/**
 * What an honest node answers to each method, in the shape and the words of Core 29: from a chain's belief to JSON.
 * Who asks for something else than it knows gets a `CoreError`.
 */

import type { BitcoinBlock } from "./bitcoin-block.ts";
import type { BitcoinChain } from "./bitcoin-chain.ts";
import {
  Btc,
  bitsHex,
  blockAnswer,
  DIFFICULTY,
  headerOf,
  type Json,
  medianTime,
  scriptJson,
  TARGET,
  transactionJson,
  workOf,
} from "./bitcoin-json.ts";
import { feeAt, type PoolEntry } from "./bitcoin-pool.ts";
import { type BitcoinTx, isUnspendable, outPointText, parseTx } from "./bitcoin-tx.ts";

/** An error that a node answers with. */
export class CoreError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** From this version of Core on a mined transaction is refused with other words, and JSON-RPC 2.0 is known. */
export const MODERN = 280_000;
const ALREADY_MINED = "Transaction outputs already in utxo set";
const MAX_FEE_RATE = 10_000_000n;
const INVALID_PARAMETER = -8;
const NOT_FOUND = -5;
const NO_TXINDEX =
  "No such mempool transaction. Use -txindex or provide a block hash to enable blockchain transaction queries. Use gettransaction for wallet transactions.";

/** What a node says of itself, beside its chain. */
export interface NodeFacts {
  initialBlockDownload: boolean;
  /** Whether mined transactions are found without their block. */
  txindex: boolean;
  /** Satoshi per 1,000 virtual bytes; null: too little to go by. */
  estimate: bigint | null;
  version: number;
  subversion: string;
  uptimeS: number;
  poolLoaded: boolean;
}

export function answer(chain: BitcoinChain, facts: NodeFacts, method: string, params: readonly unknown[]): unknown {
  const [first, second, third] = params;
  switch (method) {
    case "getblockchaininfo":
      return chainInfo(chain, facts);
    case "getblockcount":
      return chain.head;
    case "getbestblockhash":
      return chain.tip.hash;
    case "getblockhash":
      return blockAt(chain, wanted(first, "number", "height", 1)).hash;
    case "getblockheader":
      return second === false ? blockBy(chain, first, "hash").header : headerOf(chain, blockBy(chain, first, "hash"));
    case "getblock":
      return blockAnswer(chain, blockBy(chain, first, "blockhash"), Number(second ?? 1));
    case "getrawmempool":
      return poolList(chain, first === true, second === true);
    case "getmempoolinfo":
      return poolInfo(chain, facts);
    case "getmempoolentry":
      return entryAnswer(chain, heldEntry(chain, hashParam(first, "txid")));
    case "getrawtransaction":
      return transactionAnswer(chain, facts, hashParam(first, "parameter 1"), Number(second ?? 0), third);
    case "gettxout":
      return unspentAnswer(chain, hashParam(first, "txid"), Number(second), third !== false);
    case "gettxspendingprevout":
      return spendersAnswer(chain, first);
    case "sendrawtransaction":
      return send(chain, facts, first, second);
    case "testmempoolaccept":
      return testAccept(chain, first);
    case "decoderawtransaction":
      return transactionJson(decoded(first));
    case "estimatesmartfee":
      return estimate(facts, first);
    case "getnetworkinfo":
      return networkInfo(chain, facts);
    case "uptime":
      return facts.uptimeS;
    default:
      throw new CoreError(-32601, "Method not found");
  }
}

function chainInfo(chain: BitcoinChain, { initialBlockDownload }: NodeFacts): Json {
  const { tip } = chain;
  return {
    chain: "regtest",
    blocks: chain.head,
    headers: chain.head,
    bestblockhash: tip.hash,
    bits: bitsHex(),
    target: TARGET,
    difficulty: DIFFICULTY,
    time: tip.time,
    mediantime: medianTime(chain, tip),
    verificationprogress: 1,
    initialblockdownload: initialBlockDownload,
    chainwork: workOf(tip),
    size_on_disk: 0,
    pruned: false,
    warnings: [],
  };
}

function poolList({ pool, head: _ }: BitcoinChain, verbose: boolean, sequence: boolean): unknown {
  const txids = pool.txs.map(({ txid }) => txid);
  if (verbose && sequence)
    throw new CoreError(INVALID_PARAMETER, "Verbose results cannot contain mempool sequence values.");
  if (sequence) return { txids, mempool_sequence: 1 };
  return verbose ? Object.fromEntries(pool.txs.map((tx) => [tx.txid, { wtxid: tx.wtxid }])) : txids;
}

function poolInfo({ pool }: BitcoinChain, { poolLoaded }: NodeFacts): Json {
  const entries = pool.txs.map(({ txid }) => pool.entry(txid)).filter((entry) => entry !== undefined);
  return {
    loaded: poolLoaded,
    size: pool.size,
    bytes: entries.reduce((sum, { tx }) => sum + tx.vsize, 0),
    usage: entries.reduce((sum, { tx }) => sum + tx.size * 4, 0),
    total_fee: new Btc(entries.reduce((sum, { fee }) => sum + fee, 0n)),
    maxmempool: 300_000_000,
    mempoolminfee: new Btc(larger(pool.policy.mempoolMinFeeRate, pool.policy.minRelayFeeRate)),
    minrelaytxfee: new Btc(pool.policy.minRelayFeeRate),
    incrementalrelayfee: new Btc(pool.policy.minRelayFeeRate),
    unbroadcastcount: 0,
    fullrbf: true,
  };
}

function entryAnswer({ pool }: BitcoinChain, { tx, fee, time, height }: PoolEntry): Json {
  const sized = (txids: ReadonlySet<string>) => {
    const all = [...txids].map((txid) => pool.entry(txid)).filter((entry) => entry !== undefined);
    return {
      count: all.length,
      size: all.reduce((sum, entry) => sum + entry.tx.vsize, 0),
      fees: new Btc(all.reduce((sum, entry) => sum + entry.fee, 0n)),
    };
  };
  const descendants = sized(pool.family(tx.txid));
  const ancestors = sized(pool.family(tx.txid, (one) => pool.parents(one)));
  return {
    vsize: tx.vsize,
    weight: tx.weight,
    time,
    height,
    descendantcount: descendants.count,
    descendantsize: descendants.size,
    ancestorcount: ancestors.count,
    ancestorsize: ancestors.size,
    wtxid: tx.wtxid,
    fees: { base: new Btc(fee), modified: new Btc(fee), ancestor: ancestors.fees, descendant: descendants.fees },
    depends: pool.parents(tx),
    spentby: pool.children(tx),
    "bip125-replaceable": tx.inputs.some(({ sequence }) => sequence < 0xfffffffe),
    unbroadcast: false,
  };
}

function heldEntry({ pool }: BitcoinChain, txid: string): PoolEntry {
  const entry = pool.entry(txid);
  if (entry === undefined) throw new CoreError(NOT_FOUND, "Transaction not in mempool");
  return entry;
}

function transactionAnswer(
  chain: BitcoinChain,
  { txindex }: NodeFacts,
  txid: string,
  verbosity: number,
  blockHash: unknown,
): unknown {
  if (txid === chain.at(0)?.merkleRoot)
    throw new CoreError(
      NOT_FOUND,
      "The genesis block coinbase is not considered an ordinary transaction and cannot be retrieved",
    );
  const named =
    blockHash === undefined || blockHash === null ? undefined : chain.byHash(hashParam(blockHash, "parameter 3"));
  if (typeof blockHash === "string" && named === undefined) throw new CoreError(NOT_FOUND, "Block hash not found");
  const held = named === undefined ? chain.pool.entry(txid)?.tx : undefined;
  const block = held === undefined ? (named ?? (txindex ? chain.blockOf(txid) : undefined)) : undefined;
  const tx = held ?? block?.txs.find((one) => one.txid === txid);
  if (tx === undefined && named !== undefined)
    throw new CoreError(
      NOT_FOUND,
      "No such transaction found in the provided block. Use gettransaction for wallet transactions.",
    );
  if (tx === undefined && txindex)
    throw new CoreError(
      NOT_FOUND,
      "No such mempool or blockchain transaction. Use gettransaction for wallet transactions.",
    );
  if (tx === undefined) throw new CoreError(NOT_FOUND, NO_TXINDEX);
  if (verbosity <= 0) return tx.raw;
  const isActive = block !== undefined && chain.isActive(block);
  const place =
    block === undefined
      ? {}
      : {
          blockhash: block.hash,
          ...(isActive
            ? { confirmations: chain.head - block.height + 1, time: block.time, blocktime: block.time }
            : { confirmations: 0 }),
        };
  return { ...(named === undefined ? {} : { in_active_chain: isActive }), ...transactionJson(tx), ...place };
}

function unspentAnswer(chain: BitcoinChain, txid: string, vout: number, withPool: boolean): Json | null {
  const isHeld = withPool && chain.pool.entry(txid) !== undefined;
  if (withPool && chain.pool.spender({ txid, vout }) !== undefined) return null;
  const coin = isHeld ? chain.pool.coin({ txid, vout }, chain.view) : chain.view.get(outPointText({ txid, vout }));
  if (coin === undefined || isUnspendable(coin.script)) return null;
  return {
    bestblock: chain.tip.hash,
    confirmations: isHeld ? 0 : chain.head - coin.height + 1,
    value: new Btc(coin.amount),
    scriptPubKey: scriptJson(coin.script),
    coinbase: coin.coinbase,
  };
}

function spendersAnswer({ pool }: BitcoinChain, places: unknown): Json[] {
  if (!Array.isArray(places) || places.length === 0)
    throw new CoreError(INVALID_PARAMETER, "Invalid parameter, outputs are missing");
  return places.map((place: Json) => {
    const vout = Number(place.vout);
    const txid = hashParam(place.txid, "txid");
    const spendingtxid = pool.spender({ txid, vout });
    return { txid, vout, ...(spendingtxid === undefined ? {} : { spendingtxid }) };
  });
}

function send(chain: BitcoinChain, { version }: NodeFacts, raw: unknown, maxRate: unknown): string {
  const tx = decoded(raw);
  const burnt = tx.outputs.find(({ script, amount }) => amount > 0n && isUnspendable(script));
  if (burnt !== undefined)
    throw new CoreError(-25, "Unspendable output exceeds maximum configured by user (maxburnamount)");
  if (tx.outputs.some((_, vout) => chain.view.get(outPointText({ txid: tx.txid, vout })) !== undefined))
    throw new CoreError(-27, version < MODERN ? "Transaction already in block chain" : ALREADY_MINED);
  if (chain.pool.entry(tx.txid) !== undefined) return tx.txid;
  const verdict = chain.pool.judge(tx, chain.view);
  if (!verdict.ok) throw new CoreError(verdict.isMissing ? -25 : -26, verdict.reason);
  const rate = maxRate === undefined || maxRate === null ? MAX_FEE_RATE : BigInt(Math.round(Number(maxRate) * 1e8));
  if (rate > 0n && verdict.fee > feeAt(rate, tx.vsize))
    throw new CoreError(-25, "Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)");
  chain.offer(tx);
  return tx.txid;
}

function testAccept(chain: BitcoinChain, raws: unknown): Json[] {
  return (raws as unknown[]).map((raw) => {
    const tx = decoded(raw);
    const ids = { txid: tx.txid, wtxid: tx.wtxid };
    if (chain.pool.entry(tx.txid) !== undefined)
      return { ...ids, allowed: false, "reject-reason": "txn-already-in-mempool" };
    const verdict = chain.pool.judge(tx, chain.view);
    if (!verdict.ok && verdict.isMissing) return { ...ids, allowed: false, "reject-reason": "missing-inputs" };
    if (!verdict.ok) return { ...ids, allowed: false, "reject-reason": verdict.reason.split(",")[0] };
    return { ...ids, allowed: true, vsize: tx.vsize, fees: { base: new Btc(verdict.fee) } };
  });
}

function estimate({ estimate: rate }: NodeFacts, target: unknown): Json {
  const blocks = wanted(target, "number", "conf_target", 1);
  if (blocks < 1 || blocks > 1_008)
    throw new CoreError(INVALID_PARAMETER, "Invalid conf_target, must be between 1 and 1008");
  if (rate === null) return { errors: ["Insufficient data or no feerate found"], blocks: 0 };
  return { feerate: new Btc(rate), blocks: Math.max(2, blocks) };
}

function networkInfo({ pool }: BitcoinChain, { version, subversion }: NodeFacts): Json {
  return {
    version,
    subversion,
    protocolversion: 70_016,
    localrelay: true,
    timeoffset: 0,
    networkactive: true,
    connections: 8,
    connections_in: 0,
    connections_out: 8,
    relayfee: new Btc(pool.policy.minRelayFeeRate),
    incrementalfee: new Btc(pool.policy.incrementalFeeRate),
    warnings: [],
  };
}

function decoded(raw: unknown): BitcoinTx {
  try {
    const tx = parseTx(wanted(raw, "string", "hexstring", 1));
    if (tx.inputs.length > 0) return tx;
  } catch (error) {
    if (error instanceof CoreError) throw error;
  }
  throw new CoreError(-22, "TX decode failed. Make sure the tx has at least one input.");
}

function blockAt(chain: BitcoinChain, height: number): BitcoinBlock {
  const block = chain.at(height);
  if (block === undefined) throw new CoreError(INVALID_PARAMETER, "Block height out of range");
  return block;
}

function blockBy(chain: BitcoinChain, hash: unknown, name: string): BitcoinBlock {
  const block = chain.byHash(hashParam(hash, name));
  if (block === undefined) throw new CoreError(NOT_FOUND, "Block not found");
  return block;
}

function hashParam(value: unknown, name: string): string {
  const text = wanted(value, "string", name, 1);
  if (text.length !== 64)
    throw new CoreError(INVALID_PARAMETER, `${name} must be of length 64 (not ${text.length}, for '${text}')`);
  if (!/^[0-9a-f]{64}$/i.test(text))
    throw new CoreError(INVALID_PARAMETER, `${name} must be hexadecimal string (not '${text}')`);
  return text.toLowerCase();
}

function wanted(value: unknown, type: "number", name: string, position: number): number;
function wanted(value: unknown, type: "string", name: string, position: number): string;
function wanted(value: unknown, type: "number" | "string", name: string, position: number): number | string {
  if (typeof value === type) return value as number | string;
  const came =
    value === null || value === undefined
      ? "null"
      : typeof value === "boolean"
        ? "bool"
        : Array.isArray(value)
          ? "array"
          : typeof value;
  throw new CoreError(
    -3,
    `Wrong type passed:\n{\n    "Position ${position} (${name})": "JSON value of type ${came} is not of expected type ${type}"\n}`,
  );
}

const larger = (a: bigint, b: bigint) => (a > b ? a : b);
