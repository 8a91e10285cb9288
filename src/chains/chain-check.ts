/**
 * Whether a node serves the chain it is configured for. Nothing it says is used before it has shown which chain
 * it serves; one that serves another chain is never asked again.
 */

import type { NetworkSettings } from "../core/network.ts";
import { ChainFault } from "./port.ts";

export class ChainCheck {
  readonly #network: Pick<NetworkSettings, "id" | "caip2">;
  readonly #node: string;
  readonly #ask: () => Promise<string>;
  #check: Promise<void> | null = null;
  #refusal: string | null = null;

  /** @param ask the chain that the node shows, as CAIP-2 names it */
  constructor(network: Pick<NetworkSettings, "id" | "caip2">, node: string, ask: () => Promise<string>) {
    this.#network = network;
    this.#node = node;
    this.#ask = ask;
  }

  /** Why the node is not asked any more; null while it may be. */
  get refusal(): string | null {
    return this.#refusal;
  }

  /**
   * Asked once. A check that failed for want of an answer is made again with the next call.
   * @throws ChainFault
   */
  async passed(): Promise<void> {
    if (this.#refusal !== null) throw new ChainFault(this.#refusal, false, this.#node);
    this.#check ??= this.#compare().catch((error: unknown) => {
      this.#check = null;
      throw error;
    });
    await this.#check;
  }

  async #compare(): Promise<void> {
    const reported = await this.#ask();
    const { id, caip2 } = this.#network;
    if (reported === caip2) return;
    this.#refusal = `node ${this.#node} serves ${reported}, network ${id} is ${caip2}`;
    throw new ChainFault(this.#refusal, false, this.#node);
  }
}
