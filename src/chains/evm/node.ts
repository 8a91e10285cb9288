/**
 * One EVM provider as the scanner sees it: the calls of `ChainNode`, over JSON-RPC. Whatever does not have the
 * form it must have leaves here as a `ChainFault` that says what came and what was expected.
 */

import type { TokenFacts } from "../../core/network.ts";
import { Cut } from "../cut.ts";
import {
  type AskedWithTip,
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
import { lacksTraces, type NodeAccess, newAccess } from "./access.ts";
import { readChain } from "./headers.ts";
import { parseQuantity } from "./parse.ts";
import { readBlocks } from "./read-blocks.ts";
import { readRange } from "./read-range.ts";
import { readTip } from "./tip.ts";
import { readToken } from "./token.ts";

export class EvmNode implements ChainNode {
  readonly name: string;
  readonly #access: NodeAccess;

  /**
   * @param now monotonic milliseconds
   * @throws Error when the URL is none; the message does not show it.
   */
  constructor(settings: ProviderSettings, now: () => number = () => performance.now()) {
    this.#access = newAccess(new RpcClient(settings), now);
    this.name = this.#access.rpc.name;
  }

  get lacksTraces(): boolean {
    return lacksTraces(this.#access);
  }

  tip(also?: AskedWithTip): Promise<ChainTip> {
    return guarded(this.#access.rpc, () => readTip(this.#access, also));
  }

  headers(from: number, to: number): Promise<readonly BlockRef[]> {
    assertRange(from, to, MAX_BLOCKS_PER_RANGE);
    return guarded(this.#access.rpc, () =>
      readChain(this.#access, { from, to, full: false }, new Cut(), ({ ref }) => ({ ref })),
    ).then((headers) => headers.map(({ ref }) => ref));
  }

  readBlocks(from: number, to: number, interest: Interest): Promise<Reading> {
    assertRange(from, to, MAX_BLOCKS_PER_READ);
    this.#access.missing.nextReading();
    return guarded(this.#access.rpc, () => readBlocks(this.#access, from, to, interest));
  }

  readRange(from: number, to: number, interest: Interest): Promise<Reading> {
    assertRange(from, to, MAX_BLOCKS_PER_RANGE);
    this.#access.missing.nextReading();
    return guarded(this.#access.rpc, () => readRange(this.#access, from, to, interest));
  }

  token(contract: string): Promise<TokenFacts | null> {
    return guarded(this.#access.rpc, () => readToken(this.#access.rpc, contract));
  }

  chain(): Promise<string> {
    return guarded(this.#access.rpc, async () => {
      const answer = await this.#access.rpc.call("eth_chainId", []);
      if (!answer.ok) throw this.#access.rpc.fault("chain id", answer.failure);
      return `eip155:${parseQuantity(answer.result, "chain id")}`;
    });
  }
}
