/**
 * Networks whose signed transactions expire by themselves, as the withdrawal line asks them, providers in the operator's
 * order. All of them are given, also one that serves another chain: it counts among those that have to agree, and
 * answers with a fault.
 */

import type { ExpiringChain } from "./expiring-payout.ts";
import type { ChainNodesSettings } from "./nodes.ts";
import { createSolanaChain } from "./solana/payout-node.ts";
import { tronPayouts } from "./tron/payout-node.ts";

/**
 * @param providers without URLs there are none, and a wallet all the same: its network is switched off
 * @throws Error for a URL that is none; the message does not show it.
 */
export function createExpiringChain(providers: ChainNodesSettings): ExpiringChain {
  const { settings, urls, fetch, timeoutMs } = providers;
  switch (settings.family) {
    case "tron":
      return tronPayouts(
        urls.map((url) => ({ url, fetch, timeoutMs })),
        settings,
      );
    case "solana":
      return createSolanaChain(providers);
    default:
      throw new Error(`transactions on ${settings.id} do not expire by themselves`);
  }
}
