/**
 * The providers of one network whose wallets are sets of coins, as the withdrawal line asks them, in the operator's
 * order. All of them are given, also one that serves another chain: it counts among those that have to agree, and
 * answers with a fault.
 */

import { BitcoinCoinNode } from "./bitcoin/coin-node.ts";
import type { CoinNode } from "./coin-payout.ts";
import type { ChainNodesSettings } from "./nodes.ts";

/** @throws Error for a URL that is none; the message does not show it. */
export function createCoinNodes({ settings, urls, fetch, timeoutMs }: ChainNodesSettings): readonly CoinNode[] {
  if (urls.length === 0) throw new Error(`network ${settings.id} has no node`);
  if (settings.family !== "bitcoin") throw new Error(`wallets on ${settings.id} are not sets of coins`);
  return urls.map((url) => new BitcoinCoinNode({ url, fetch, timeoutMs }, settings));
}
