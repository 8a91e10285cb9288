/**
 * One Bitcoin provider as the scanner sees it: the calls of `ChainNode`, over Core's JSON-RPC. Whatever does not have
 * the form it must have leaves here as a `ChainFault` that says what came and what was expected.
 */

import type { BitcoinNetwork, TokenFacts } from "../../core/network.ts";
import { Cut } from "../cut.ts";
import {
  type BlockRef,
  ChainFault,
  type ChainNode,
  type ChainTip,
  type Interest,
  MAX_BLOCKS_PER_RANGE,
  MAX_BLOCKS_PER_READ,
  type PoolReading,
  type Reading,
} from "../port.ts";
import { assertRange } from "../range.ts";
import { RpcClient } from "../rpc/client.ts";
import type { ProviderSettings } from "../rpc/http-exchange.ts";
import { guarded, MalformedAnswer, parseObject } from "../rpc/malformed.ts";
import { Span } from "../span.ts";
import { faultOf, parseHash, parseHeight } from "./answers.ts";
import { readRawHeader } from "./block.ts";
import { costsTooLittle, readHeaders } from "./headers.ts";
import { Pool } from "./pool.ts";
import { type BlockAccess, READING_BOUNDS, readBlocks } from "./read-blocks.ts";

export type WatchedNetwork = Pick<BitcoinNetwork, "addresses" | "leastWork" | "pool">;

/**
 * A block of 4 MB, the largest there may be, is 8 MB of hex; the ids of 250,000 waiting transactions are 16 MB. An
 * answer is in memory up to four times while it is read, and a Worker has 128 MB.
 */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** An ordinary block of the main chain comes alone, small ones come by the dozen. */
const BLOCK_SPAN = { start: 1, max: 64, aimBytes: 4_000_000 };
/** Leading characters of the genesis hash that CAIP-2's `bip122` names a chain by. */
const CHAIN_CHARS = 32;

export class BitcoinNode implements ChainNode {
  readonly name: string;
  /** Absent where the network's pool is not read. */
  readonly pool: ((interest: Interest) => Promise<PoolReading>) | undefined;
  readonly #rpc: RpcClient;
  readonly #blocks: BlockAccess;

  /**
   * @param now monotonic milliseconds
   * @throws Error when the URL is none; the message does not show it.
   */
  constructor(provider: ProviderSettings, network: WatchedNetwork, now: () => number = () => performance.now()) {
    this.#rpc = new RpcClient({ maxBodyBytes: MAX_ANSWER_BYTES, ...provider });
    this.name = this.#rpc.name;
    const span = new Span(BLOCK_SPAN);
    const { addresses: form, leastWork } = network;
    this.#blocks = { rpc: this.#rpc, form, leastWork, span, now, bounds: READING_BOUNDS };
    const pool = network.pool ? new Pool(this.#rpc, network.addresses) : null;
    this.pool = pool === null ? undefined : (interest) => guarded(this.#rpc, () => pool.read(interest));
  }

  /** No finalized block: depth is all there is. */
  tip(): Promise<ChainTip> {
    return guarded(this.#rpc, async () => {
      const info = parseObject(await this.#ask("getblockchaininfo", []), "chain's state");
      const height = parseHeight(info.blocks, "head's height");
      // On regtest a node counts as loading until somebody mines the first block of the day.
      if (info.initialblockdownload === true && info.chain !== "regtest") {
        const detail = `still loads the chain: it has block ${height} of ${info.headers}`;
        throw new ChainFault(`${this.name}: ${this.#rpc.clean(detail)}`, true, this.name);
      }
      const asked = parseHash(info.bestblockhash, "head's hash");
      const { hash, parentHash, timestamp } = readRawHeader(await this.#ask("getblockheader", [asked, false]));
      if (hash !== asked) throw new MalformedAnswer("head's header", `the header of ${asked}`, hash);
      if (costsTooLittle(this.#blocks.leastWork, height, hash))
        throw new MalformedAnswer("head's hash", `a hash that took some work, at height ${height}`, hash);
      return { head: { height, hash, parentHash, timestamp }, finalized: null };
    });
  }

  headers(from: number, to: number): Promise<readonly BlockRef[]> {
    assertRange(from, to, MAX_BLOCKS_PER_RANGE);
    return guarded(this.#rpc, () => readHeaders(this.#blocks, from, to, new Cut()));
  }

  readBlocks(from: number, to: number, interest: Interest): Promise<Reading> {
    assertRange(from, to, MAX_BLOCKS_PER_READ);
    return guarded(this.#rpc, () => readBlocks(this.#blocks, from, to, interest));
  }

  readRange(from: number, to: number, interest: Interest): Promise<Reading> {
    assertRange(from, to, MAX_BLOCKS_PER_RANGE);
    return guarded(this.#rpc, () => readBlocks(this.#blocks, from, to, interest));
  }

  /** There are none. */
  token(): Promise<TokenFacts | null> {
    return Promise.resolve(null);
  }

  chain(): Promise<string> {
    return guarded(this.#rpc, async () => {
      const genesis = parseHash(await this.#ask("getblockhash", [0]), "hash of block 0");
      return `bip122:${genesis.slice(0, CHAIN_CHARS)}`;
    });
  }

  async #ask(method: string, params: readonly unknown[]): Promise<unknown> {
    const answer = await this.#rpc.call(method, params);
    if (!answer.ok) throw faultOf(this.#rpc, method, answer.failure);
    return answer.result;
  }
}
