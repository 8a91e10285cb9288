/**
 * One round of a wallet that counts nonces, in one straight line: look at the chain, take in what it says, give out
 * nonces, sign, store, send. Every part begins from the rows and may be broken off anywhere; the next round goes on
 * from what was committed.
 */

import type { AgreedLook } from "../../../../core/wallet-look.ts";
import { nextUnclaimedNonce } from "../../../../store/d1/withdrawals.ts";
import { knownNonces, openSlots } from "../../../../store/tenant/slot-store.ts";
import { count, raiseWallet, type WalletRow } from "../../../../store/tenant/wallet-store.ts";
import { inParts, WAITING_MS } from "../parts.ts";
import { isAnyReserved, isAnyTracked, isHalted, logProvider, stopForForeignSpend, walletOf } from "../wallet.ts";
import { allocate, claimSlots } from "./allocate.ts";
import { follow, foreignNonces } from "./follow.ts";
import { lookAt, type Payer, quoteOf } from "./payer.ts";
import { sendSlots } from "./send.ts";
import { signSlots } from "./sign.ts";

/** Blocks searched for the transaction that took a nonce. */
const CONSUMER_SPAN = 50_000;

/** @returns how many events were written */
export async function driveWallet(payer: Payer): Promise<number> {
  const { c, network, sender, signer } = payer;
  if (nextLook(payer) === null) return 0;
  const look = await lookAt(payer);
  if (look === null) throw new Error("too few providers answer");
  await checkCounter(payer, walletOf(payer), look);
  const written = follow(payer, look, await consumersOf(payer, look));
  const isUnpaid =
    openSlots(c.db, network.id, sender).some(({ minedTxId }) => minedTxId === null) ||
    (signer !== null && isAnyReserved(payer));
  if (!isUnpaid || walletOf(payer).status === "stopped" || (await isHalted(payer))) return written;

  const quote = signer === null ? null : await quoteOf(payer);
  const more = await inParts(payer, [
    ["allocate", async () => (quote === null ? 0 : allocate(payer, look, quote))],
    ["claim", () => claimSlots(payer)],
    [
      "sign",
      async () => {
        if (quote !== null && signer !== null) await signSlots(payer, signer, look, quote);
        return 0;
      },
    ],
    ["send", () => sendSlots(payer, look.head)],
  ]);
  return written + more;
}

/**
 * The first look at a wallet finds where its nonces stand. After that a nonce that the chain has and nobody here
 * gave out was spent by somebody else who has the key, or by an earlier copy of this object: then D1 knows it.
 */
async function checkCounter(payer: Payer, wallet: WalletRow, look: AgreedLook): Promise<void> {
  const { c, network, sender } = payer;
  const isFirst = wallet.usedBelow === -1;
  const from = Math.max(0, wallet.usedBelow);
  const known = knownNonces(c.db, network.id, sender, from, look.nonceLatest);
  if (!isFirst && known.size >= look.nonceLatest - from) return;
  const claimed = await nextUnclaimedNonce(c.env.DB, network.id, sender);
  raiseWallet(c.db, wallet, { nextNonce: claimed });
  if (isFirst || look.nonceLatest <= claimed) return;
  count(c.db, "foreign_spends");
  stopForForeignSpend(
    payer,
    `nonces below ${look.nonceLatest} were spent by somebody else; the last of ours is ${claimed - 1}`,
  );
}

/** Names the transactions that took our nonces. Only asked for when the chain shows that there are any. */
async function consumersOf(payer: Payer, look: AgreedLook): Promise<ReadonlyMap<number, string | null>> {
  const found = new Map<number, string | null>();
  for (const nonce of foreignNonces(payer, look)) {
    const from = Math.max(0, look.finalHeight - CONSUMER_SPAN);
    let isUnheard = false;
    found.set(nonce, null);
    for (const node of payer.nodes) {
      try {
        const consumer = await node.consumerOf(payer.sender, nonce, from, look.finalHeight);
        if (consumer === null) continue;
        found.set(nonce, consumer.txId);
        break;
      } catch (error) {
        logProvider(payer, "consumer", node.name, error);
        isUnheard = true;
      }
    }
    // Who could not answer may be the one that knows, and it may be ours: the next look asks again.
    if (isUnheard && found.get(nonce) === null) found.delete(nonce);
  }
  return found;
}

/** Milliseconds to the next look; null when nothing is under way. */
export function nextLook(payer: Payer): number | null {
  const { c, network, sender, signer } = payer;
  const open = openSlots(c.db, network.id, sender);
  const isReserved = signer !== null && isAnyReserved(payer);
  if (open.length === 0) return isReserved ? WAITING_MS : null;
  if (walletOf(payer).status === "stopped") return Math.max(network.pollMs, WAITING_MS);
  if (isAnyTracked(payer) || open.some(({ minedTxId }) => minedTxId === null)) return network.pollMs;
  // Confirmed and not final: only a replaced block is news.
  return Math.min(network.pollMs * 4, WAITING_MS);
}
