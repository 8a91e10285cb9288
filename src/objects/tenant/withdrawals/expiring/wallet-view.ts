/** A hot wallet whose transactions expire, as people see it. */

import { formatAmount } from "../../../../core/amount.ts";
import { NATIVE } from "../../../../core/transfer.ts";
import { openExpiringPayments } from "../../../../store/tenant/expiring-store.ts";
import { allAssets, type TenantContext } from "../../context.ts";
import type { BareWalletView } from "../payout-line.ts";
import { expiringChain, expiringSigner } from "./signing.ts";

export async function walletView(c: TenantContext, tenantId: string, network: string): Promise<BareWalletView> {
  const { address, path } = expiringSigner(c, tenantId, network);
  return {
    network,
    address,
    signer: { type: "derived", path },
    balances: await balancesOf(c, network, address),
    next_nonce: null,
    in_flight: openExpiringPayments(c.db, network, address).length,
  };
}

/** In final blocks. */
async function balancesOf(c: TenantContext, network: string, owner: string): Promise<BareWalletView["balances"]> {
  const assets = allAssets(c, network);
  const contracts = assets.flatMap(({ contract }) => contract ?? []);
  for (const node of expiringChain(c, network).nodes) {
    try {
      const [native, ...tokens] = await node.balances(owner, contracts);
      const units = new Map([[NATIVE as string, native], ...contracts.map((at, i) => [at, tokens[i]] as const)]);
      return assets.map(({ symbol, contract, decimals }) => {
        const held = units.get(contract ?? NATIVE) ?? 0n;
        return { asset: symbol, amount: formatAmount(held, decimals), amount_units: held.toString() };
      });
    } catch {
      // The next provider may know.
    }
  }
  return null;
}
