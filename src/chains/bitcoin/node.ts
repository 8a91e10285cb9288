/** One Bitcoin provider as the scanner sees it: the calls of `ChainNode`, over Core's JSON-RPC. */

import type { BitcoinNetwork, TokenFacts } from "../../core/network.ts";
import type { BlockRef, ChainNode, ChainTip, Interest, PoolReading, Reading } from "../port.ts";
import { RpcClient } from "../rpc/client.ts";
import type { ProviderSettings } from "../rpc/http-exchange.ts";

export class BitcoinNode implements ChainNode {
  readonly name: string;
  readonly #network: Pick<BitcoinNetwork, "id" | "addresses">;

  constructor(provider: ProviderSettings, network: Pick<BitcoinNetwork, "id" | "addresses">) {
    this.name = new RpcClient(provider).name;
    this.#network = network;
  }

  tip(): Promise<ChainTip> {
    return this.#missing();
  }

  headers(_from: number, _to: number): Promise<readonly BlockRef[]> {
    return this.#missing();
  }

  readBlocks(_from: number, _to: number, _interest: Interest): Promise<Reading> {
    return this.#missing();
  }

  readRange(_from: number, _to: number, _interest: Interest): Promise<Reading> {
    return this.#missing();
  }

  pool = (_interest: Interest): Promise<PoolReading> => this.#missing();

  token(_contract: string): Promise<TokenFacts | null> {
    return Promise.resolve(null);
  }

  chain(): Promise<string> {
    return this.#missing();
  }

  #missing(): never {
    throw new Error(`not built yet: ${this.#network.id}`);
  }
}
