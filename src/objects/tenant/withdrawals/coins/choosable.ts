/**
 * The coins that may be spent now: no spend has them, they are as deep as the network's rule asks, and enough
 * providers say that they are there. A coin that is not would keep everything from being mined that spends it.
 */

import { unitsFromText } from "../../../../core/amount.ts";
import { scriptOfAddress } from "../../../../core/bitcoin-address.ts";
import { type Coin, coinText } from "../../../../core/coins.ts";
import { type CoinRow, freeCoins } from "../../../../store/tenant/coin-store.ts";
import { type CoinPayer, deepOf, unspentOf } from "./payer.ts";
import { searchStart } from "./search-start.ts";

/** Asked about in one round: the largest. */
const MAX_ASKED = 300;

export interface OwnCoin extends Coin {
  /** No spender stands below. */
  readonly height: number;
}

/** @throws Error when too few providers answer */
export async function choosable(payer: CoinPayer): Promise<OwnCoin[]> {
  const rows = freeCoins(payer.c.db, payer.network.id);
  const coins = rows.map((row) => ({ ...toCoin(row), leastDepth: row.leastDepth }));
  coins.sort((a, b) => (a.amountUnits === b.amountUnits ? 0 : a.amountUnits > b.amountUnits ? -1 : 1));
  const asked = coins.slice(0, MAX_ASKED);
  if (asked.length === 0) return [];
  const unspent = await unspentOf(payer, asked);
  return asked.flatMap((coin) => {
    const said = unspent.get(coinText(coin));
    if (said === undefined || said === null || said.amountUnits !== coin.amountUnits) return [];
    if (said.script !== scriptOfAddress(payer.network.addresses, coin.address)) return [];
    if (said.depth < Math.max(deepOf(payer.network), coin.leastDepth)) return [];
    return [{ ...coin, height: searchStart(coin.height, coin.height + said.depth - 1) }];
  });
}

/** Those of the coins that were chosen. */
export function chosenOf(coins: readonly OwnCoin[], chosen: readonly Coin[]): OwnCoin[] {
  const texts = textsOf(chosen);
  return coins.filter((coin) => texts.has(coinText(coin)));
}

export function textsOf(coins: readonly Coin[]): ReadonlySet<string> {
  return new Set(coins.map(coinText));
}

export function toCoin({
  txId,
  vout,
  address,
  path,
  amountUnits,
  height,
}: Omit<CoinRow, "network" | "leastDepth">): OwnCoin {
  return { txId, vout, address, path, amountUnits: unitsFromText(amountUnits), height };
}
