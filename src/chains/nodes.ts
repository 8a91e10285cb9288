/**
 * The providers of one network, best first. A node is asked for its chain id before anything else it says is
 * used; one that serves another chain is never asked again. What one node said is never completed with
 * what another one says.
 */

import { afterOutcome, type NodeHealth, type NodeOutcome, newHealth, ranking } from "../core/health.ts";
import type { NetworkSettings } from "../core/network.ts";
import { ChainIdCheck } from "./chain-id-check.ts";
import type { ProviderSettings } from "./evm/http-exchange.ts";
import { EvmNode } from "./evm/node.ts";
import type { ChainNode } from "./port.ts";

export interface ChainNodesSettings {
  readonly settings: NetworkSettings;
  /** One or more, in order of preference. */
  readonly urls: readonly string[];
  readonly fetch: typeof fetch;
  /** Deadline of one HTTP request. */
  readonly timeoutMs: number;
}

interface Member {
  readonly node: VerifiedNode;
  health: NodeHealth;
  /** The newest height it showed last, null before it showed one. */
  head: number | null;
}

/** @throws Error for a URL that is none; the message does not show it. */
export function createChainNodes({ settings, urls, fetch, timeoutMs }: ChainNodesSettings): ChainNodes {
  return new ChainNodes(
    settings,
    urls.map((url) => newNode(settings, { url, fetch, timeoutMs })),
  );
}

function newNode(settings: NetworkSettings, provider: ProviderSettings): ChainNode {
  switch (settings.family) {
    case "evm":
      return new EvmNode(provider);
  }
}

export class ChainNodes {
  readonly #members: readonly Member[];
  readonly #wantsTraces: boolean;

  constructor(network: Pick<NetworkSettings, "id" | "chainId" | "internal">, nodes: readonly ChainNode[]) {
    this.#wantsTraces = network.internal;
    if (nodes.length === 0) throw new Error(`network ${network.id} has no node`);
    this.#members = nodes.map((node) => ({ node: new VerifiedNode(network, node), health: newHealth(0), head: null }));
  }

  /** Nodes that may be asked, best first. Empty when every one serves another chain. */
  candidates(now: number): readonly ChainNode[] {
    const usable = this.#members.filter((member) => member.node.refusal === null);
    const order = ranking(
      usable.map(({ node, health }) => ({ health, isIncomplete: this.#wantsTraces && node.lacksTraces })),
      now,
    );
    return order.flatMap((place) => usable[place]?.node ?? []);
  }

  /** Tells how a call to a node of `candidates` went. */
  report(node: ChainNode, outcome: NodeOutcome, now: number): void {
    const member = this.#members.find((candidate) => candidate.node === node);
    if (member === undefined) throw new Error(`node ${node.name} is not one of this network's`);
    if (outcome.kind === "answered" && outcome.head !== null) member.head = outcome.head;
    const heads = this.#members.flatMap(({ head }) => head ?? []);
    const bestHead = heads.length === 0 ? null : Math.max(...heads);
    member.health = afterOutcome(member.health, outcome, bestHead, now);
  }

  /** Nodes that are not asked any more, and why. */
  get refused(): readonly { readonly node: string; readonly message: string }[] {
    return this.#members.flatMap(({ node }) =>
      node.refusal === null ? [] : [{ node: node.name, message: node.refusal }],
    );
  }
}

/** Lets no call through before the node has shown the right chain id. */
class VerifiedNode implements ChainNode {
  readonly name: string;
  readonly #node: ChainNode;
  readonly #chainId: ChainIdCheck;

  constructor(network: Pick<NetworkSettings, "id" | "chainId">, node: ChainNode) {
    this.name = node.name;
    this.#node = node;
    this.#chainId = new ChainIdCheck(network, node.name, () => node.chainId());
  }

  get refusal(): string | null {
    return this.#chainId.refusal;
  }

  get lacksTraces(): boolean {
    return this.#node.lacksTraces ?? false;
  }

  async tip(): ReturnType<ChainNode["tip"]> {
    await this.#chainId.passed();
    return this.#node.tip();
  }

  async headers(...args: Parameters<ChainNode["headers"]>): ReturnType<ChainNode["headers"]> {
    await this.#chainId.passed();
    return this.#node.headers(...args);
  }

  async readBlocks(...args: Parameters<ChainNode["readBlocks"]>): ReturnType<ChainNode["readBlocks"]> {
    await this.#chainId.passed();
    return this.#node.readBlocks(...args);
  }

  async readRange(...args: Parameters<ChainNode["readRange"]>): ReturnType<ChainNode["readRange"]> {
    await this.#chainId.passed();
    return this.#node.readRange(...args);
  }

  async token(contract: string): ReturnType<ChainNode["token"]> {
    await this.#chainId.passed();
    return this.#node.token(contract);
  }

  chainId(): Promise<number> {
    return this.#node.chainId();
  }
}
