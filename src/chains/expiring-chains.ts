/**
 * Networks whose signed transactions expire by themselves, as the withdrawal line asks them, providers in the operator's
 * order. All of them are given, also one that serves another chain: it counts among those that have to agree, and
 * answers with a fault.
 */

import type { ExpiringChain } from "./expiring-payout.ts";
import type { ChainNodesSettings } from "./nodes.ts";
import { tronPayouts } from "./tron/payout-node.ts";

/**
 * @param settings without URLs there are no providers, and a wallet all the same: its network is switched off
 * @throws Error for a URL that is none; the message does not show it.
 */
export function createExpiringChain({ settings, urls, fetch, timeoutMs }: ChainNodesSettings): ExpiringChain {
  const providers = urls.map((url) => ({ url, fetch, timeoutMs }));
  switch (settings.family) {
    case "tron":
      return tronPayouts(providers, settings);
    case "solana":
      throw new Error(`nothing pays out on ${settings.id} yet`);
    default:
      throw new Error(`transactions on ${settings.id} do not expire by themselves`);
  }
}
