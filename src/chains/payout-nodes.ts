/**
 * The providers of one network as the withdrawal line asks them, in the operator's order. All of them are given,
 * also one that serves another chain: it counts among those that have to agree, and answers with a fault.
 */

import { EvmPayoutNode } from "./evm/payout-node.ts";
import type { ChainNodesSettings } from "./nodes.ts";
import type { PayoutNode } from "./payout.ts";

/** @throws Error for a URL that is none; the message does not show it. */
export function createPayoutNodes({ settings, urls, fetch, timeoutMs }: ChainNodesSettings): readonly PayoutNode[] {
  if (urls.length === 0) throw new Error(`network ${settings.id} has no node`);
  if (settings.family !== "evm") throw new Error(`wallets on ${settings.id} do not count nonces`);
  return urls.map((url) => new EvmPayoutNode({ url, fetch, timeoutMs }, settings));
}
