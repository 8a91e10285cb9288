/** Who signs for a tenant on a network, and the providers its transactions go through. */

import { type DerivedSigner, deriveSigner } from "../../../chains/evm/derived-signer.ts";
import { remoteSigner } from "../../../chains/evm/remote-signer.ts";
import { type PayoutNode, type Signer, SignerFault } from "../../../chains/payout.ts";
import { createPayoutNodes } from "../../../chains/payout-nodes.ts";
import { type SignerRow, signerRow } from "../../../store/tenant/wallet-store.ts";
import { checkTarget } from "../../../webhooks/target.ts";
import type { TenantContext } from "../context.ts";
import { placeOf } from "../targets.ts";

const NODE_TIMEOUT_MS = 10_000;
const SIGNER_TIMEOUT_MS = 15_000;

/** Called as a bare function: as a method, a Worker's fetch refuses its receiver. */
const send: typeof fetch = (input, init) => fetch(input, init);

export function signerOf(c: TenantContext, tenantId: string, network: string): Signer {
  const row = signerRow(c.db, network);
  const choice = row === undefined ? "derived" : JSON.stringify([row.url, row.address, row.token]);
  const known = c.payers.signers.get(network);
  if (known?.choice === choice) return known.signer;
  const signer = row === undefined ? derivedSigner(c, tenantId, network) : remote(c, row);
  c.payers.signers.set(network, { choice, signer });
  return signer;
}

/** The tenant's own key on a network, whether it is the one in use or not. Deriving it takes milliseconds. */
export function derivedSigner(c: TenantContext, tenantId: string, network: string): DerivedSigner {
  const known = c.payers.derived.get(network);
  if (known !== undefined) return known;
  const signer = deriveSigner(c.settings.walletSeed, tenantId, { id: network });
  c.payers.derived.set(network, signer);
  return signer;
}

export function walletAddress(c: TenantContext, tenantId: string, network: string): string {
  return signerRow(c.db, network)?.address ?? signerOf(c, tenantId, network).address;
}

/** Every provider of a network that is on; none when it is off. */
export function payoutNodes(c: TenantContext, network: string): readonly PayoutNode[] {
  const enabled = c.settings.networks.get(network);
  if (enabled === undefined) return [];
  const known = c.payers.nodes.get(network);
  if (known !== undefined) return known;
  const { settings, urls } = enabled;
  const nodes = createPayoutNodes({ settings, urls, fetch: send, timeoutMs: NODE_TIMEOUT_MS });
  c.payers.nodes.set(network, nodes);
  return nodes;
}

export function remote(c: TenantContext, { url, address, token }: Omit<SignerRow, "network">): Signer {
  // Checked whenever it is made, as webhooks are: what was allowed for local work is not allowed for ever.
  const target = checkTarget(url, { allowLocal: c.settings.allowLocalWebhooks });
  const refused = (detail: string, retryable: boolean) =>
    new SignerFault(`the signer's URL is refused: ${detail}`, retryable);
  if (!target.ok) return { address, sign: () => Promise.reject(refused(target.detail, false)) };
  const signer = remoteSigner({ url, address, token, fetch: send, timeoutMs: SIGNER_TIMEOUT_MS });
  return {
    address,
    async sign(intent) {
      const place = await placeOf(c, target.url);
      if (!place.ok) throw refused(place.detail, place.reason !== "inside_address");
      return signer.sign(intent);
    },
  };
}
