/**
 * One Solana provider as the scanner sees it: the calls of `ChainNode`, over JSON-RPC. A height is a block height, not a
 * slot. Only final blocks are read, so the head is the newest final one. Whatever does not have the form it must have
 * leaves here as a `ChainFault` that says what came and what was expected.
 */

import { SOLANA_CLUSTERS } from "../../core/expiring-networks.ts";
import type { SolanaNetwork, TokenFacts } from "../../core/network.ts";
import { Cut } from "../cut.ts";
import {
  type BlockRef,
  type ChainNode,
  type ChainTip,
  type Interest,
  MAX_BLOCKS_PER_RANGE,
  MAX_BLOCKS_PER_READ,
  type Reading,
} from "../port.ts";
import { assertRange } from "../range.ts";
import { RpcClient } from "../rpc/client.ts";
import type { ProviderSettings } from "../rpc/http-exchange.ts";
import { guarded } from "../rpc/malformed.ts";
import { Span } from "../span.ts";
import { ask, parseHash } from "./answers.ts";
import { readToken } from "./mint.ts";
import { type BlockAccess, READING_BOUNDS, readBlocks, readHeaders } from "./read-blocks.ts";
import { Slots } from "./slots.ts";

export type WatchedSolana = Pick<SolanaNetwork, "caip2" | "genesis">;

/**
 * A block of the main chain is 4 to 8 MB of JSON. An answer is in memory up to four times while it is read, and a
 * Worker has 128 MB.
 */
const MAX_ANSWER_BYTES = 24 * 1024 * 1024;
/** Blocks of the main chain come in twos, small ones by the dozen. */
const BLOCK_SPAN = { start: 1, max: 32, aimBytes: 12_000_000 };

export class SolanaNode implements ChainNode {
  readonly name: string;
  readonly #rpc: RpcClient;
  readonly #network: WatchedSolana;
  readonly #access: BlockAccess;

  /**
   * @param now monotonic milliseconds
   * @throws Error when the URL is none; the message does not show it.
   */
  constructor(provider: ProviderSettings, network: WatchedSolana, now: () => number = () => performance.now()) {
    this.#rpc = new RpcClient({ maxBodyBytes: MAX_ANSWER_BYTES, ...provider });
    this.name = this.#rpc.name;
    this.#network = network;
    const slots = new Slots(this.#rpc);
    this.#access = { rpc: this.#rpc, slots, span: new Span(BLOCK_SPAN), now, bounds: READING_BOUNDS };
  }

  tip(): Promise<ChainTip> {
    return guarded(this.#rpc, async () => {
      const { height, hash, parentHash, timestamp } = await this.#access.slots.newest();
      return { head: { height, hash, parentHash, timestamp }, finalized: { height, hash } };
    });
  }

  headers(from: number, to: number): Promise<readonly BlockRef[]> {
    assertRange(from, to, MAX_BLOCKS_PER_RANGE);
    return guarded(this.#rpc, () => readHeaders(this.#access, from, to, new Cut()));
  }

  readBlocks(from: number, to: number, interest: Interest): Promise<Reading> {
    assertRange(from, to, MAX_BLOCKS_PER_READ);
    return guarded(this.#rpc, () => readBlocks(this.#access, from, to, interest));
  }

  readRange(from: number, to: number, interest: Interest): Promise<Reading> {
    assertRange(from, to, MAX_BLOCKS_PER_RANGE);
    return guarded(this.#rpc, () => readBlocks(this.#access, from, to, interest));
  }

  token(contract: string): Promise<TokenFacts | null> {
    return guarded(this.#rpc, () => readToken(this.#rpc, contract));
  }

  chain(): Promise<string> {
    return guarded(this.#rpc, () => shownChain(this.#rpc, this.#network));
  }
}

/** Leading characters of the genesis hash, which CAIP-2's `solana` names a chain by. */
const CHAIN_CHARS = 32;

/** A development chain has a genesis of its own each time; that of a public one is never taken for it. */
export async function shownChain(rpc: RpcClient, { caip2, genesis }: WatchedSolana): Promise<string> {
  const hash = parseHash(await ask(rpc, "getGenesisHash", []), "genesis");
  const isDevelopment = genesis === null && !SOLANA_CLUSTERS.has(hash);
  if (isDevelopment || hash === genesis) return caip2;
  return `solana:${hash.slice(0, CHAIN_CHARS)}`;
}
