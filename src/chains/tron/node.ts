/**
 * One TRON provider as the scanner sees it: the calls of `ChainNode`, over java-tron's HTTP API. Only solid blocks are
 * read: more than two thirds of the witnesses have built on them, and no node takes one back. Whatever does not have
 * the form it must have leaves here as a `ChainFault` that says what came and what was expected.
 */

import type { TokenFacts } from "../../core/network.ts";
import { Cut } from "../cut.ts";
import { Attempts } from "../evm/attempts.ts";
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
import type { ProviderSettings } from "../rpc/http-exchange.ts";
import { guarded, MalformedAnswer } from "../rpc/malformed.ts";
import { ContradictedAnswer } from "./answers.ts";
import { TronApi } from "./api.ts";
import { present, readHeader, type TronHeader } from "./block.ts";
import { InternalSight, READING_BOUNDS, type ReadingAccess, readBlocks, readHeaders } from "./read-blocks.ts";
import { readToken } from "./token.ts";

/** Trailing characters of the genesis block's id that CAIP-2 names a chain by. */
const CHAIN_CHARS = 8;

export class TronNode implements ChainNode {
  readonly name: string;
  readonly #api: TronApi;
  readonly #access: ReadingAccess;

  /**
   * @param now monotonic milliseconds
   * @throws Error when the URL is none; the message does not show it.
   */
  constructor(provider: ProviderSettings, now: () => number = () => performance.now()) {
    this.#api = new TronApi(provider);
    this.name = this.#api.name;
    this.#access = {
      api: this.#api,
      internal: new InternalSight(),
      doubtedRoots: new Attempts(),
      now,
      bounds: READING_BOUNDS,
    };
  }

  /** Whether it saves no internal transactions, as far as is known. */
  get lacksTraces(): boolean {
    return this.#access.internal.isLacking;
  }

  /** The newest solid block: both head and final. */
  tip(): Promise<ChainTip> {
    return guarded(this.#api, async () => {
      const { ref } = await readSolidHeader(this.#api, null);
      return { head: ref, finalized: { height: ref.height, hash: ref.hash } };
    });
  }

  headers(from: number, to: number): Promise<readonly BlockRef[]> {
    assertRange(from, to, MAX_BLOCKS_PER_RANGE);
    return guarded(this.#api, () => readHeaders(this.#api, from, to, new Cut()));
  }

  readBlocks(from: number, to: number, interest: Interest): Promise<Reading> {
    assertRange(from, to, MAX_BLOCKS_PER_READ);
    return guarded(this.#api, () => readBlocks(this.#access, from, to, interest));
  }

  readRange(from: number, to: number, interest: Interest): Promise<Reading> {
    assertRange(from, to, MAX_BLOCKS_PER_RANGE);
    return guarded(this.#api, () => readBlocks(this.#access, from, to, interest));
  }

  token(contract: string): Promise<TokenFacts | null> {
    return guarded(this.#api, () => readToken(this.#api, contract));
  }

  chain(): Promise<string> {
    return guarded(this.#api, () => chainOf(this.#api));
  }
}

/** As CAIP-2 names it: by the last four bytes of the genesis block's id. @throws ChainFault, MalformedAnswer */
export async function chainOf(api: TronApi): Promise<string> {
  const { ref } = await readSolidHeader(api, 0);
  return `tron:0x${ref.hash.slice(-CHAIN_CHARS)}`;
}

/** @param height null: the newest @throws ChainFault, MalformedAnswer */
export async function readSolidHeader(api: TronApi, height: number | null): Promise<TronHeader> {
  const which = height === null ? {} : { id_or_num: String(height) };
  const answer = await api.ask("walletsolidity/getblock", { ...which, detail: false });
  const what = height === null ? "newest solid block" : `block ${height}`;
  const header = present(
    proven(() => readHeader(answer)),
    what,
  );
  if (height !== null && header.ref.height !== height) throw new MalformedAnswer(what, "that block", header.ref.height);
  return header;
}

/** A contradiction that nothing can be done about here. */
function proven<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ContradictedAnswer)
      throw new MalformedAnswer("block", "one that proves itself", error.message);
    throw error;
  }
}
