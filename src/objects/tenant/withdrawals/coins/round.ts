/**
 * One round of a wallet of coins, in one straight line: look at the chain, take in what it says, choose coins, claim
 * them, sign, store, send. Every part begins from the rows and may be broken off anywhere; the next round goes on
 * from what was committed.
 */

import { freedInputs, openSpends } from "../../../../store/tenant/spend-store.ts";
import { inParts, WAITING_MS } from "../parts.ts";
import { isAnyReserved, isAnyTracked, isHalted, logProvider, stopWallet, walletOf } from "../wallet.ts";
import { changePath, watchTopUp, watchWalletAddress } from "./addresses.ts";
import { allocate } from "./allocate.ts";
import { claimSpends, completePins, releaseFreed } from "./claim.ts";
import { follow } from "./follow.ts";
import { type CoinPayer, lookAt, quoteOf } from "./payer.ts";
import { sendSpends } from "./send.ts";
import { signSpends } from "./sign.ts";

/** @returns how many events were written */
export async function driveWallet(payer: CoinPayer): Promise<number> {
  const { c, network, sender, signer } = payer;
  if (nextLook(payer) === null) return 0;
  const look = await lookAt(payer);
  if (look === null) throw new Error("too few providers answer");
  const written = follow(payer, look) + (await inParts(payer, [["release", () => releaseFreed(payer)]]));
  const isUnpaid =
    openSpends(c.db, network.id, sender).some(({ minedTxId }) => minedTxId === null) ||
    (signer !== null && isAnyReserved(payer));
  if (!isUnpaid || walletOf(payer).status === "stopped" || (await isHalted(payer))) return written;

  completePins(payer);
  const quote = signer === null ? null : await quoteOf(payer);
  const more = await inParts(payer, [
    ["allocate", async () => (quote === null || signer === null ? 0 : allocate(payer, signer, quote))],
    ["claim", () => claimSpends(payer)],
    ["watch", async () => (signer === null ? 0 : watchAddresses(payer))],
    ["sign", async () => (quote === null || signer === null ? 0 : signSpends(payer, signer, look, quote))],
    ["send", () => sendSpends(payer, look.head)],
  ]);
  return written + more;
}

/** Where the wallet is topped up, and where the change of what is to be signed goes. */
async function watchAddresses(payer: CoinPayer): Promise<number> {
  const { c, tenantId, network, sender } = payer;
  const unmined = openSpends(c.db, network.id, sender).filter(({ minedTxId }) => minedTxId === null);
  const watches = [
    () => watchTopUp(c, tenantId, network.id),
    ...unmined.map((spend) => () => watchWalletAddress(c, tenantId, network.id, changePath(spend.number))),
  ];
  for (const watch of watches) {
    const watched = await watch();
    if (watched.ok) continue;
    const { code, detail } = watched.refusal;
    if (code === "address_taken") stopWallet(payer, detail);
    else logProvider(payer, "watch", undefined, detail);
  }
  return 0;
}

/** Milliseconds to the next look; null when nothing is under way. */
export function nextLook(payer: CoinPayer): number | null {
  const { c, network, sender, signer } = payer;
  const open = openSpends(c.db, network.id, sender);
  const isReserved = signer !== null && isAnyReserved(payer);
  if (open.length === 0) return isReserved || freedInputs(c.db, network.id, sender).length > 0 ? WAITING_MS : null;
  if (walletOf(payer).status === "stopped") return Math.max(network.pollMs, WAITING_MS);
  if (isAnyTracked(payer) || open.some(({ minedTxId }) => minedTxId === null)) return network.pollMs;
  // Confirmed and not final: only a replaced block is news.
  return Math.min(network.pollMs * 4, Math.max(network.pollMs, WAITING_MS));
}
