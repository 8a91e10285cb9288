/** What a payment with coins would cost if it were made alone, and what would keep it from being made. */

import { selectCoins } from "../../../../core/coin-selection.ts";
import type { Coin, Payment } from "../../../../core/coins.ts";
import { firstDemand, perSize } from "../../../../core/fee-rate.ts";
import { freeCoins } from "../../../../store/tenant/coin-store.ts";
import type { WithdrawalIntent } from "../intent.ts";
import type { Cost } from "../payout-line.ts";
import { isWatched } from "./addresses.ts";
import { toCoin } from "./choosable.ts";
import { type CoinPayer, limitsOf, quoteOf } from "./payer.ts";

/** One input, the payment and change, for when the wallet cannot tell: it may be empty. */
const USUAL_VSIZE = 155;

export async function costOf(payer: CoinPayer, { destination, amountUnits }: WithdrawalIntent): Promise<Cost | null> {
  const quote = await quoteOf(payer);
  if (quote === null) return null;
  const limits = limitsOf(payer);
  const price = firstDemand(quote, limits);
  const demand = price.ok ? price.demand : { ratePerKvb: price.neededPerKvb, replacedUnits: null };
  const payments: Payment[] = [{ address: destination, amountUnits }];
  const coins: Coin[] = freeCoins(payer.c.db, payer.network.id).map(toCoin);
  const { addresses } = payer.network;
  const selection = selectCoins({ addresses, payments, pinned: [], coins, demand });
  const vsize = selection.ok ? selection.plan.vsize : USUAL_VSIZE;
  const short = selection.ok
    ? null
    : selection.reason === "dust"
      ? `Less than ${selection.leastUnits} satoshi is relayed by no node.`
      : `The hot wallet${nameOf(payer)} cannot cover it and its fee: it must be topped up.`;
  const dear = price.ok ? null : "Fees are above the network's cap now.";
  return {
    now: selection.ok ? selection.plan.feeUnits : perSize(demand.ratePerKvb, vsize),
    most: perSize(price.ok ? limits.maxPerKvb : demand.ratePerKvb, vsize),
    warning: short ?? dear,
  };
}

/** Nobody is told where to top it up before what is paid there would be seen. */
function nameOf({ c, network, sender }: CoinPayer): string {
  return isWatched(c, network.id, sender) ? ` ${sender}` : "";
}
