/** A remote signer shows what it can do before anything depends on it. */

import { burnCall } from "../../../../chains/evm/intent.ts";
import { readSigned } from "../../../../chains/evm/signed-transaction.ts";
import { type Intent, SignerFault } from "../../../../chains/payout.ts";
import { addressProblem, parseAddress } from "../../../../core/address.ts";
import type { EvmNetwork } from "../../../../core/network.ts";
import { type Outcome, refuse } from "../../../../core/refusal.ts";
import type { SignerRow } from "../../../../store/tenant/wallet-store.ts";
import { checkTarget } from "../../../../webhooks/target.ts";
import type { SignerChoice } from "../../../api.ts";
import type { TenantContext } from "../../context.ts";
import { remote, sealToken } from "./signing.ts";

/** EIP-2681 allows it, and no wallet gets there. */
const UNREACHABLE_NONCE = 2 ** 52;
const PROOF_FEES = { kind: "eip1559", maxFeePerGas: 1n, maxPriorityFeePerGas: 1n } as const;

/**
 * A signer shows that it has the key before it is believed: otherwise anybody could name somebody else's
 * wallet, and use up its nonces here. It signs a transfer of nothing at a nonce that no wallet ever reaches.
 */
export async function provenRemote(
  c: TenantContext,
  tenantId: string,
  network: EvmNetwork,
  { url, address: text, token }: Extract<SignerChoice, { type: "remote" }>,
): Promise<Outcome<SignerRow>> {
  const no = (path: string, message: string) =>
    refuse("invalid_fields", `The signer's ${path} is refused.`, { errors: [{ path, message }] });
  const target = checkTarget(url, { allowLocal: c.settings.allowLocalWebhooks });
  if (!target.ok) return no("url", target.detail);
  const parsed = parseAddress(network, text);
  if (!parsed.ok) return no("address", addressProblem(network, parsed.reason));
  const { address } = parsed;
  const intent: Intent = {
    ...burnCall(address),
    chainId: network.chainId,
    nonce: UNREACHABLE_NONCE,
    gasLimit: 21_000n,
    fees: network.payout.feeModel === "legacy" ? { kind: "legacy", gasPrice: 1n } : PROOF_FEES,
  };
  try {
    const signer = remote(c, { url, address }, async () => token);
    const read = await readSigned(await signer.sign(intent), intent);
    if (!read.ok) return no("url", read.problem);
    const sealed = await sealToken(c, tenantId, network.id, token);
    return { ok: true, value: { network: network.id, url, address, ...sealed } };
  } catch (error) {
    if (error instanceof SignerFault)
      return no("url", `it did not sign a transaction to prove its key: ${error.message}`);
    throw error;
  }
}
