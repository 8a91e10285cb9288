/**
 * One round of a wallet whose transactions expire, in one straight line: look at the chain, take in what it says, sign,
 * store, claim, send. Every part begins from the rows and may be broken off anywhere; the next round goes on from what
 * was committed.
 */

import { inParts, WAITING_MS } from "../parts.ts";
import { isAnyReserved, isHalted, walletOf } from "../wallet.ts";
import { claimAttempts } from "./claim.ts";
import { closePayments, isOver } from "./close.ts";
import { follow } from "./follow.ts";
import { type ExpiringPayer, liveOf, lookAt, openOf } from "./payer.ts";
import { sendPayments } from "./send.ts";
import { isAnotherWanted, signPayments } from "./sign.ts";

/** @returns how many events were written */
export async function driveWallet(payer: ExpiringPayer): Promise<number> {
  const { signer } = payer;
  if (nextLook(payer) === null) return 0;
  const look = await lookAt(payer);
  if (look === null) throw new Error("too few providers answer");
  const written = follow(payer, look) + (await inParts(payer, [["close", () => closePayments(payer)]]));
  const isUnpaid = openOf(payer).length > 0 || (signer !== null && isAnyReserved(payer));
  if (!isUnpaid || walletOf(payer).status === "stopped" || (await isHalted(payer))) return written;

  const more = await inParts(payer, [
    ["sign", async () => (signer === null ? 0 : signPayments(payer, signer, look))],
    ["claim", () => claimAttempts(payer)],
    ["send", () => sendPayments(payer)],
  ]);
  return written + more;
}

/** Milliseconds to the next look; null when nothing is under way. */
export function nextLook(payer: ExpiringPayer): number | null {
  const { network, signer } = payer;
  const open = openOf(payer);
  if (open.length === 0) return signer !== null && isAnyReserved(payer) ? WAITING_MS : null;
  if (walletOf(payer).status === "stopped") return Math.max(network.pollMs, WAITING_MS);
  const isMoving = open.some(
    (payment) => liveOf(payer, payment).length > 0 || isAnotherWanted(payer, payment) || isOver(payer, payment),
  );
  // What only waits for a person, or for its deadline, needs no closer look.
  return isMoving ? network.pollMs : Math.max(network.pollMs, WAITING_MS);
}
