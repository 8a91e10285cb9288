/** Who signs for a tenant on a network, and the providers its transactions go through. */

import { type DerivedSigner, deriveSigner } from "../../../../chains/evm/derived-signer.ts";
import { remoteSigner } from "../../../../chains/evm/remote-signer.ts";
import { type Intent, type PayoutNode, type Signer, SignerFault } from "../../../../chains/payout.ts";
import { createPayoutNodes } from "../../../../chains/payout-nodes.ts";
import { resealToken, type SignerRow, signerRow } from "../../../../store/tenant/wallet-store.ts";
import { checkTarget } from "../../../../webhooks/target.ts";
import { SecretFault, type SecretOwner } from "../../../secret-box.ts";
import type { TenantContext } from "../../context.ts";
import { placeOf } from "../../targets.ts";

const NODE_TIMEOUT_MS = 10_000;
const SIGNER_TIMEOUT_MS = 15_000;

/** Called as a bare function: as a method, a Worker's fetch refuses its receiver. */
const send: typeof fetch = (input, init) => fetch(input, init);

export function signerOf(c: TenantContext, tenantId: string, network: string): Signer {
  const row = signerRow(c.db, network);
  const choice = row === undefined ? "derived" : JSON.stringify([row.url, row.address, row.token, row.keyVersion]);
  const known = c.payers.signers.get(network);
  if (known?.choice === choice) return known.signer;
  const signer =
    row === undefined
      ? derivedSigner(c, tenantId, network)
      : remote(
          c,
          row,
          once(() => tokenOf(c, tenantId, row)),
        );
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

/** @param token asked for when something is to be signed */
export function remote(
  c: TenantContext,
  { url, address }: Pick<SignerRow, "url" | "address">,
  token: () => Promise<string | null>,
): Signer {
  // Checked whenever it is made, as webhooks are: what was allowed for local work is not allowed for ever.
  const target = checkTarget(url, { allowLocal: c.settings.allowLocalWebhooks });
  const refused = (detail: string, retryable: boolean) =>
    new SignerFault(`the signer's URL is refused: ${detail}`, retryable);
  if (!target.ok) return { address, sign: () => Promise.reject(refused(target.detail, false)) };
  const sign = async (intent: Intent) => {
    const place = await placeOf(c, target.url);
    if (!place.ok) throw refused(place.detail, place.reason !== "inside_address");
    const signer = remoteSigner({ url, address, token: await token(), fetch: send, timeoutMs: SIGNER_TIMEOUT_MS });
    return signer.sign(intent);
  };
  return { address, sign };
}

/** As it is stored. */
export async function sealToken(
  c: TenantContext,
  tenantId: string,
  network: string,
  token: string | null,
): Promise<Pick<SignerRow, "token" | "keyVersion">> {
  if (token === null) return { token, keyVersion: null };
  const { text, keyVersion } = await c.secrets.seal(token, boundTo(tenantId, network));
  return { token: text, keyVersion };
}

/**
 * The stored token, to be sent. One in plain text, of before, is sealed now that it is used.
 * @throws SignerFault when it cannot be opened: a root key that is put back cures it
 */
async function tokenOf(c: TenantContext, tenantId: string, row: SignerRow): Promise<string | null> {
  const { network, token: text, keyVersion } = row;
  if (text === null) return null;
  const owner = boundTo(tenantId, network);
  try {
    const token = await c.secrets.open({ keyVersion, text }, owner);
    if (!c.secrets.isCurrent(row)) resealToken(c.db, row, await c.secrets.seal(token, owner));
    return token;
  } catch (error) {
    if (error instanceof SecretFault) throw new SignerFault(`the signer's token: ${error.message}`, true);
    throw error;
  }
}

function boundTo(tenantId: string, network: string): SecretOwner {
  return { kind: "signer-token", tenantId, place: network };
}

/** What came of the first call that succeeded. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: { readonly value: T } | null = null;
  return async () => {
    made ??= { value: await make() };
    return made.value;
  };
}
