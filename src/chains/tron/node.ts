/** One TRON provider as the scanner sees it: the calls of `ChainNode`. */

import type { TokenFacts, TronNetwork } from "../../core/network.ts";
import type { BlockRef, ChainNode, ChainTip, Interest, Reading } from "../port.ts";
import type { ProviderSettings } from "../rpc/http-exchange.ts";

export class TronNode implements ChainNode {
  readonly name: string;

  constructor(provider: ProviderSettings, _network: TronNetwork) {
    this.name = new URL(provider.url).host;
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

  token(_contract: string): Promise<TokenFacts | null> {
    return this.#missing();
  }

  chain(): Promise<string> {
    return this.#missing();
  }

  #missing(): never {
    throw new Error("not built yet");
  }
}
