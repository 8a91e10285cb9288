/** Who signs for a tenant's wallet of coins, and the providers its transactions go through. */

import { deriveCoinSigner } from "../../../../chains/bitcoin/coin-signer.ts";
import { createCoinNodes } from "../../../../chains/coin-nodes.ts";
import type { CoinNode, CoinSigner } from "../../../../chains/coin-payout.ts";
import { type BitcoinNetwork, holdsCoins } from "../../../../core/network.ts";
import type { TenantContext } from "../../context.ts";

const NODE_TIMEOUT_MS = 20_000;

/** Called as a bare function: as a method, a Worker's fetch refuses its receiver. */
const send: typeof fetch = (input, init) => fetch(input, init);

/** The tenant's own key on a network. Deriving it takes milliseconds. */
export function coinSigner(c: TenantContext, tenantId: string, network: string): CoinSigner {
  const known = c.payers.coinSigners.get(network);
  if (known !== undefined) return known;
  const signer = deriveCoinSigner(c.settings.walletSeed, tenantId, coinNetwork(c, network));
  c.payers.coinSigners.set(network, signer);
  return signer;
}

/** Every provider of a network that is on; none when it is off. */
export function coinNodes(c: TenantContext, network: string): readonly CoinNode[] {
  const enabled = c.settings.networks.get(network);
  if (enabled === undefined || !holdsCoins(enabled.settings)) return [];
  const known = c.payers.coinNodes.get(network);
  if (known !== undefined) return known;
  const { settings, urls } = enabled;
  const nodes = createCoinNodes({ settings, urls, fetch: send, timeoutMs: NODE_TIMEOUT_MS });
  c.payers.coinNodes.set(network, nodes);
  return nodes;
}

/** @throws Error for another one: whoever asks has looked before */
export function coinNetwork(c: TenantContext, network: string): BitcoinNetwork {
  const settings = c.settings.knownNetworks.get(network);
  if (settings === undefined || !holdsCoins(settings)) throw new Error(`wallets on ${network} are no sets of coins`);
  return settings;
}
