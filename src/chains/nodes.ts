/**
 * The providers of one network, best first. A node shows which chain it serves before anything else it says is
 * used; one that serves another chain is never asked again. What one node said is never completed with
 * what another one says.
 */

import { afterOutcome, type NodeHealth, type NodeOutcome, newHealth, penalty, ranking } from "../core/health.ts";
import type { NetworkSettings } from "../core/network.ts";
import { BitcoinNode } from "./bitcoin/node.ts";
import { ChainCheck } from "./chain-check.ts";
import { EvmNode } from "./evm/node.ts";
import type { ChainNode, Interest, PoolReading } from "./port.ts";
import type { ProviderSettings } from "./rpc/http-exchange.ts";
import { newTally, type ProviderTally } from "./rpc/tally.ts";
import { SolanaNode } from "./solana/node.ts";
import { TronNode } from "./tron/node.ts";

export interface ChainNodesSettings {
  readonly settings: NetworkSettings;
  /** One or more, in order of preference. */
  readonly urls: readonly string[];
  readonly fetch: typeof fetch;
  /** Deadline of one HTTP request. */
  readonly timeoutMs: number;
  /** Milliseconds, to time requests by; absent: they are not counted. */
  readonly now?: () => number;
}

/** How one provider does, by its host alone. */
export interface ProviderStanding {
  readonly provider: string;
  /** Nothing lately speaks against it, and it serves the right chain. */
  readonly isHealthy: boolean;
  readonly head: number | null;
  /** Its requests; null where nobody counts them. */
  readonly tally: ProviderTally | null;
  /** How often a reading of it was not what it should be, by kind. */
  readonly doubts: ReadonlyMap<Doubt, number>;
}

export type Doubt = "not_known" | "inconsistent" | "failed";

interface Member {
  readonly node: VerifiedNode;
  health: NodeHealth;
  /** The newest height it showed last, null before it showed one. */
  head: number | null;
  readonly tally: ProviderTally | null;
  readonly doubts: Map<Doubt, number>;
}

/** As much speaks against it as one fresh fault. */
const UNHEALTHY = 1;

/** @throws Error for a URL that is none; the message does not show it. */
export function createChainNodes({ settings, urls, fetch, timeoutMs, now }: ChainNodesSettings): ChainNodes {
  const tallies = now === undefined ? [] : urls.map(newTally);
  const nodes = urls.map((url, i) => {
    const counts = tallies[i];
    const isCounted = counts !== undefined && now !== undefined;
    return newNode(settings, { url, fetch, timeoutMs, ...(isCounted && { tally: { counts, now } }) });
  });
  return new ChainNodes(settings, nodes, tallies);
}

function newNode(settings: NetworkSettings, provider: ProviderSettings): ChainNode {
  switch (settings.family) {
    case "evm":
      return new EvmNode(provider);
    case "bitcoin":
      return new BitcoinNode(provider, settings);
    case "tron":
      return new TronNode(provider);
    case "solana":
      return new SolanaNode(provider, settings);
  }
}

export class ChainNodes {
  readonly #members: readonly Member[];
  readonly #wantsTraces: boolean;

  /** @param tallies of the nodes' requests, in their order */
  constructor(
    network: Pick<NetworkSettings, "id" | "caip2" | "internal">,
    nodes: readonly ChainNode[],
    tallies: readonly ProviderTally[] = [],
  ) {
    this.#wantsTraces = network.internal;
    if (nodes.length === 0) throw new Error(`network ${network.id} has no node`);
    this.#members = nodes.map((node, i) => ({
      node: new VerifiedNode(network, node),
      health: newHealth(0),
      head: null,
      tally: tallies[i] ?? null,
      doubts: new Map(),
    }));
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
    const doubt = outcome.kind === "answered" ? null : outcome.kind === "failed" ? "failed" : outcome.reason;
    if (doubt !== null) member.doubts.set(doubt, (member.doubts.get(doubt) ?? 0) + 1);
    const heads = this.#members.flatMap(({ head }) => head ?? []);
    const bestHead = heads.length === 0 ? null : Math.max(...heads);
    member.health = afterOutcome(member.health, outcome, bestHead, now);
  }

  /** How each provider does, in the order of the settings. */
  standings(now: number): readonly ProviderStanding[] {
    return this.#members.map(({ node, health, head, tally, doubts }) => ({
      provider: node.name,
      isHealthy: node.refusal === null && penalty(health, now) < UNHEALTHY,
      head,
      tally,
      doubts,
    }));
  }

  /** Nodes that are not asked any more, and why. */
  get refused(): readonly { readonly node: string; readonly message: string }[] {
    return this.#members.flatMap(({ node }) =>
      node.refusal === null ? [] : [{ node: node.name, message: node.refusal }],
    );
  }
}

/** Lets no call through before the node has shown that it serves the right chain. */
class VerifiedNode implements ChainNode {
  readonly name: string;
  readonly #node: ChainNode;
  readonly #chain: ChainCheck;

  constructor(network: Pick<NetworkSettings, "id" | "caip2">, node: ChainNode) {
    this.name = node.name;
    this.#node = node;
    this.#chain = new ChainCheck(network, node.name, () => node.chain());
  }

  get refusal(): string | null {
    return this.#chain.refusal;
  }

  get lacksTraces(): boolean {
    return this.#node.lacksTraces ?? false;
  }

  async tip(...args: Parameters<ChainNode["tip"]>): ReturnType<ChainNode["tip"]> {
    await this.#chain.passed();
    return this.#node.tip(...args);
  }

  async headers(...args: Parameters<ChainNode["headers"]>): ReturnType<ChainNode["headers"]> {
    await this.#chain.passed();
    return this.#node.headers(...args);
  }

  async readBlocks(...args: Parameters<ChainNode["readBlocks"]>): ReturnType<ChainNode["readBlocks"]> {
    await this.#chain.passed();
    return this.#node.readBlocks(...args);
  }

  async readRange(...args: Parameters<ChainNode["readRange"]>): ReturnType<ChainNode["readRange"]> {
    await this.#chain.passed();
    return this.#node.readRange(...args);
  }

  async token(contract: string): ReturnType<ChainNode["token"]> {
    await this.#chain.passed();
    return this.#node.token(contract);
  }

  get pool(): ((interest: Interest) => Promise<PoolReading>) | undefined {
    if (this.#node.pool === undefined) return undefined;
    return async (interest) => {
      await this.#chain.passed();
      if (this.#node.pool === undefined) throw new Error(`node ${this.name} has lost its pool`);
      return this.#node.pool(interest);
    };
  }

  chain(): Promise<string> {
    return this.#node.chain();
  }
}
