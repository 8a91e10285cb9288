/** Who signs for a tenant's wallet where transactions expire, and the providers they go through. */

import { createExpiringChain } from "../../../../chains/expiring-chains.ts";
import type { ExpiringChain, ExpiringNetwork, ExpiringSigner } from "../../../../chains/expiring-payout.ts";
import { expiresByItself } from "../../../../core/network.ts";
import type { TenantContext } from "../../context.ts";

const NODE_TIMEOUT_MS = 20_000;

/** Called as a bare function: as a method, a Worker's fetch refuses its receiver. */
const send: typeof fetch = (input, init) => fetch(input, init);

/** A chain that is switched off has no providers, and its wallet all the same. */
export function expiringChain(c: TenantContext, network: string): ExpiringChain {
  const known = c.payers.expiringChains.get(network);
  if (known !== undefined) return known;
  const urls = c.settings.networks.get(network)?.urls ?? [];
  const settings = expiringNetwork(c, network);
  const chain = createExpiringChain({ settings, urls, fetch: send, timeoutMs: NODE_TIMEOUT_MS });
  if (urls.length > 0) c.payers.expiringChains.set(network, chain);
  return chain;
}

/** The tenant's own key on a network. Deriving it takes milliseconds. */
export function expiringSigner(c: TenantContext, tenantId: string, network: string): ExpiringSigner {
  const known = c.payers.expiringSigners.get(network);
  if (known !== undefined) return known;
  const signer = expiringChain(c, network).signer(c.settings.walletSeed, tenantId);
  c.payers.expiringSigners.set(network, signer);
  return signer;
}

/** @throws Error for another one: whoever asks has looked before */
export function expiringNetwork(c: TenantContext, network: string): ExpiringNetwork {
  const settings = c.settings.knownNetworks.get(network);
  if (settings === undefined || !expiresByItself(settings))
    throw new Error(`transactions on ${network} do not expire by themselves`);
  return settings;
}
