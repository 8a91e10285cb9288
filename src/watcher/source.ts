/**
 * Where a watcher reads: one network and its providers, best first. Any adapter that is a `ChainNode` serves;
 * what one provider said is never completed with what another one says.
 */

import { ChainNodes } from "../chains/nodes.ts";
import type { ChainNode } from "../chains/port.ts";
import type { NodeOutcome } from "../core/health.ts";
import type { NativeAsset, TokenFacts } from "../core/network.ts";

/** What a watcher has to know of a network. */
export interface SourceNetwork {
  readonly id: string;
  readonly family: "evm";
  readonly chainId: number;
  readonly nativeAsset: NativeAsset;
  /** Whether a transaction's own value counts. */
  readonly native: boolean;
  /** Whether coins sent by contracts are read from traces, where the node offers them. */
  readonly internal: boolean;
  /** Contracts canonical. */
  readonly tokens: readonly TokenFacts[];
}

export interface DepositSource {
  readonly network: SourceNetwork;
  /** Providers that may be asked now, best first. */
  candidates(): readonly ChainNode[];
  /** Told how each call of a candidate went. */
  report(node: ChainNode, outcome: NodeOutcome): void;
  /** Milliseconds, to time the providers alone. */
  now(): number;
}

/** A source over providers of your own. Each must show that it serves the network's chain before anything it says is used. */
export function nodeSource(
  network: SourceNetwork,
  nodes: readonly ChainNode[],
  now: () => number = () => Date.now(),
): DepositSource {
  const ranked = new ChainNodes({ ...network, caip2: `eip155:${network.chainId}` }, nodes);
  return {
    network,
    candidates: () => ranked.candidates(now()),
    report: (node, outcome) => ranked.report(node, outcome, now()),
    now,
  };
}
