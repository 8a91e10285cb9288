/**
 * Where the search for what spends an input begins. One look reads only so many blocks, and what an instance has read
 * dies with it: so the row follows what was found, some blocks behind it. No spender stands below the row's height,
 * unless more blocks than those were replaced; then the input seems missing, and the search begins with its own block.
 */

import type { AgreedCoins } from "../../../../core/coin-look.ts";
import { coinText } from "../../../../core/coins.ts";
import { coinAt } from "../../../../store/tenant/coin-store.ts";
import { changeInput, inputsOf, openSpends } from "../../../../store/tenant/spend-store.ts";
import type { CoinPayer } from "./payer.ts";

/**
 * Blocks left for reorganisations. Since 2013 none was deeper than a few, and twice as many are well below what one
 * look reads: rows are changed only after so many new blocks.
 */
const ROOM = 16;

/** @param unspentAt height at which the coin of this block was there to be spent */
export function searchStart(height: number, unspentAt: number): number {
  return Math.max(height, unspentAt - ROOM);
}

/** In the caller's commit. */
export function followSearch({ c, network, sender }: CoinPayer, look: AgreedCoins): void {
  for (const spend of openSpends(c.db, network.id, sender)) {
    if (spend.minedTxId !== null) continue;
    for (const input of inputsOf(c.db, spend)) {
      // Missing, or above the head: it began too high, by a depth that was no true one perhaps.
      const isAstray = look.spenders.get(coinText(input)) === "missing" || input.height > look.head;
      const start = isAstray
        ? (coinAt(c.db, input)?.height ?? input.height)
        : searchStart(input.height, look.searchedTo(input) ?? -1);
      if (start < input.height || start >= input.height + ROOM) changeInput(c.db, input, { height: start });
    }
  }
}
