/** A hot wallet of coins, as people see it. It is shown once its address is watched, so that no top-up is missed. */

import { formatAmount, unitsFromText } from "../../../../core/amount.ts";
import type { Outcome } from "../../../../core/refusal.ts";
import { log } from "../../../../log.ts";
import { type CoinRow, coinsOf } from "../../../../store/tenant/coin-store.ts";
import { inputAt, openSpends, spendAt } from "../../../../store/tenant/spend-store.ts";
import { allAssets, type TenantContext } from "../../context.ts";
import { scannerOf } from "../../peers.ts";
import type { BareWalletView } from "../payout-line.ts";
import { watchTopUp } from "./addresses.ts";
import { deepOf } from "./payer.ts";
import { coinNetwork, coinSigner } from "./signing.ts";

export async function walletView(
  c: TenantContext,
  tenantId: string,
  network: string,
): Promise<Outcome<BareWalletView>> {
  const watched = await watchTopUp(c, tenantId, network);
  if (!watched.ok) return watched;
  const { address, path } = coinSigner(c, tenantId, network);
  const balances = await balancesOf(c, network);
  const open = openSpends(c.db, network, address).filter(({ minedTxId }) => minedTxId === null);
  return {
    ok: true,
    value: {
      network,
      address,
      signer: { type: "derived", path },
      balances,
      next_nonce: null,
      in_flight: open.length,
    },
  };
}

/** Every coin as deep as the network's rule asks, until a transaction in a block spends it. */
async function balancesOf(c: TenantContext, network: string): Promise<BareWalletView["balances"]> {
  const settings = coinNetwork(c, network);
  try {
    const { head } = await scannerOf(c.env, network).status();
    if (head === null) return null;
    const isHeld = (coin: CoinRow) =>
      head - coin.height + 1 >= Math.max(deepOf(settings), coin.leastDepth) && !isSpent(c, coin);
    const units = coinsOf(c.db, network)
      .filter(isHeld)
      .reduce((sum, coin) => sum + unitsFromText(coin.amountUnits), 0n);
    return allAssets(c, network).map(({ symbol, decimals }) => ({
      asset: symbol,
      amount: formatAmount(units, decimals),
      amount_units: units.toString(),
    }));
  } catch (error) {
    log("warn", "wallet_call_failed", { network, call: "status" }, error);
    return null;
  }
}

function isSpent(c: TenantContext, coin: CoinRow): boolean {
  const input = inputAt(c.db, coin);
  if (input === undefined) return false;
  return input.status === "spent" || (spendAt(c.db, input)?.minedTxId ?? null) !== null;
}
