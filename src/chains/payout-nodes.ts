/**
 * The providers of one network as the withdrawal line asks them, in the operator's order. All of them are given,
 * also one that serves another chain: it counts among those that have to agree, and answers with a fault.
 */

import type { NetworkSettings } from "../core/network.ts";
import type { ProviderSettings } from "./evm/http-exchange.ts";
import { EvmPayoutNode } from "./evm/payout-node.ts";
import type { ChainNodesSettings } from "./nodes.ts";
import type { PayoutNode } from "./payout.ts";

/** @throws Error for a URL that is none; the message does not show it. */
export function createPayoutNodes({ settings, urls, fetch, timeoutMs }: ChainNodesSettings): readonly PayoutNode[] {
  if (urls.length === 0) throw new Error(`network ${settings.id} has no node`);
  return urls.map((url) => newNode(settings, { url, fetch, timeoutMs }));
}

function newNode(settings: NetworkSettings, provider: ProviderSettings): PayoutNode {
  switch (settings.family) {
    case "evm":
      return new EvmPayoutNode(provider, settings);
  }
}
