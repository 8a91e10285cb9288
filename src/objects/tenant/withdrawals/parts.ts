/** What the rounds of all wallets have in common. */

import { type HotWallet, logProvider } from "./wallet.ts";

/** Withdrawals that wait for a top-up or a lower fee, and wallets that wait for a person, need no closer look. */
export const WAITING_MS = 15_000;

/**
 * Makes each part by itself, one after the other: what cannot be done now keeps nothing that is signed from being
 * sent.
 * @param parts each gives the number of events that it wrote
 * @returns how many events were written
 */
export async function inParts(
  wallet: HotWallet,
  parts: readonly (readonly [name: string, work: () => Promise<number>])[],
): Promise<number> {
  let written = 0;
  for (const [name, work] of parts) {
    try {
      written += await work();
    } catch (error) {
      logProvider(wallet, name, undefined, error);
    }
  }
  return written;
}
