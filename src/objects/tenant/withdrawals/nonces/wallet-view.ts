/** A hot wallet that counts nonces, as people see it. */

import { formatAmount } from "../../../../core/amount.ts";
import { NATIVE } from "../../../../core/transfer.ts";
import type { WalletView } from "../../../../core/views.ts";
import { openSlots } from "../../../../store/tenant/slot-store.ts";
import { signerRow, walletRow } from "../../../../store/tenant/wallet-store.ts";
import { allAssets, type TenantContext } from "../../context.ts";
import type { BareWalletView } from "../payout-line.ts";
import { derivedSigner, payoutNodes, walletAddress } from "./signing.ts";

export async function walletView(c: TenantContext, tenantId: string, network: string): Promise<BareWalletView> {
  const signer = signerRow(c.db, network);
  const address = walletAddress(c, tenantId, network);
  const row = walletRow(c.db, network, address);
  const open = openSlots(c.db, network, address).filter(({ minedTxId }) => minedTxId === null);
  return {
    network,
    address,
    signer:
      signer === undefined
        ? { type: "derived", path: derivedSigner(c, tenantId, network).path }
        : { type: "remote", url: new URL(signer.url).origin },
    balances: await balancesOf(c, network, address),
    next_nonce: row === undefined || row.usedBelow === -1 ? null : row.nextNonce,
    in_flight: open.length,
  };
}

async function balancesOf(c: TenantContext, network: string, owner: string): Promise<WalletView["balances"]> {
  const assets = allAssets(c, network);
  const contracts = assets.flatMap(({ contract }) => contract ?? []);
  for (const node of payoutNodes(c, network)) {
    try {
      const [native = 0n, ...tokens] = await node.balances(owner, contracts);
      const units = new Map([[NATIVE as string, native], ...contracts.map((at, i) => [at, tokens[i] ?? 0n] as const)]);
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
