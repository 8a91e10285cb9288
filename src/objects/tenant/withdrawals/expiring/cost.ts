/** What a payment would cost now, and what would keep it from being made, as the first provider says that can. */

import type { WithdrawalIntent } from "../intent.ts";
import type { Cost } from "../payout-line.ts";
import { logProvider } from "../wallet.ts";
import { capOf, type ExpiringPayer } from "./payer.ts";

export async function costOf(payer: ExpiringPayer, wanted: WithdrawalIntent): Promise<Cost | null> {
  const { network, sender, chain } = payer;
  const { asset, destination, amountUnits } = wanted;
  const intent = {
    sender,
    asset: asset.asset,
    decimals: asset.decimals,
    destination,
    amountUnits,
    maxFeeUnits: capOf(network),
  };
  for (const node of chain.nodes) {
    try {
      const { nowUnits, mostUnits, parts, warning } = await node.cost(intent);
      return { now: nowUnits, most: mostUnits, parts, warning };
    } catch (error) {
      logProvider(payer, "cost", node.name, error);
    }
  }
  return null;
}
