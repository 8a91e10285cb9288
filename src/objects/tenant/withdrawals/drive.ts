/**
 * Drives the hot wallets that are due, each in one straight line: look at the chain, take in what it says,
 * give out nonces, sign, store, send. Every part begins from the rows and may be broken off anywhere; the
 * next round goes on from what was committed.
 */

import type { AgreedLook } from "../../../core/wallet-look.ts";
import { nextUnclaimedNonce } from "../../../store/d1/withdrawals.ts";
import { openSlots } from "../../../store/tenant/slot-store.ts";
import { changeWallet, count, dueWallets, raiseWallet, type WalletRow } from "../../../store/tenant/wallet-store.ts";
import { withdrawalsIn } from "../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../context.ts";
import { allocate } from "./allocate.ts";
import { follow, foreignNonces } from "./follow.ts";
import { isHalted, logProvider, lookAt, type Payer, payerOf, quoteOf, walletOf } from "./payer.ts";
import { sendSlots } from "./send.ts";
import { signSlots, stopWallet } from "./sign.ts";

/** After a round that broke off, or on a network that is off. */
const RETRY_MS = 15_000;
/** Withdrawals that wait for a top-up or a lower fee need no closer look. */
const WAITING_MS = 15_000;
/** Blocks searched for the transaction that took a nonce. */
const CONSUMER_SPAN = 50_000;

/** @returns how many events were written */
export async function driveWithdrawals(c: TenantContext, tenantId: string): Promise<number> {
  const networks = new Set(dueWallets(c.db, c.now()).map(({ network }) => network));
  const written = await Promise.all(
    [...networks].map((network) => c.turns.take(`wallet/${network}`, () => driveNetwork(c, tenantId, network))),
  );
  return written.reduce((sum, events) => sum + events, 0);
}

async function driveNetwork(c: TenantContext, tenantId: string, network: string): Promise<number> {
  const due = dueWallets(c.db, c.now()).filter((wallet) => wallet.network === network);
  if (due.length === 0) return 0;
  // Set before the work: whatever becomes of this instance, somebody looks again.
  for (const wallet of due) changeWallet(c.db, wallet, { dueAt: c.now() + RETRY_MS });
  const payer = payerOf(c, tenantId, network);
  if (payer === null) return 0;
  // A wallet that is no longer the one in use has nothing open: its signer is changed only then.
  for (const wallet of due) {
    if (wallet.sender !== payer.sender) changeWallet(c.db, wallet, { dueAt: null });
  }
  let written = 0;
  try {
    written = await driveWallet(payer);
    const after = nextLook(payer);
    changeWallet(c.db, walletOf(payer), { dueAt: after === null ? null : c.now() + after });
  } catch (error) {
    logProvider(payer, "drive", undefined, error);
  }
  return written;
}

async function driveWallet(payer: Payer): Promise<number> {
  const { c, network, sender } = payer;
  if (nextLook(payer) === null) return 0;
  const look = await lookAt(payer);
  if (look === null) throw new Error("too few providers answer");
  const wallet = walletOf(payer);
  await checkCounter(payer, wallet, look);
  let written = follow(payer, look, await consumersOf(payer, look));
  const isUnpaid =
    openSlots(c.db, network.id, sender).some(({ minedTxId }) => minedTxId === null) ||
    withdrawalsIn(c.db, network.id, ["funds_reserved"], 1).length > 0;
  if (!isUnpaid || walletOf(payer).status === "stopped" || (await isHalted(payer))) return written;
  const quote = await quoteOf(payer);
  if (quote !== null) {
    written += await allocate(payer, look, quote);
    await signSlots(payer, look, quote);
  }
  return written + (await sendSlots(payer));
}

/**
 * The first look at a wallet finds where its nonces stand. After that the chain can only be ahead of the
 * counter when somebody else has the key, or when this object is an older copy: then D1 knows the nonces.
 */
async function checkCounter(payer: Payer, wallet: WalletRow, look: AgreedLook): Promise<void> {
  const { c, network, sender } = payer;
  const isFirst = wallet.usedBelow === -1;
  if (!isFirst && look.nonceLatest <= wallet.nextNonce) return;
  const claimed = await nextUnclaimedNonce(c.env.DB, network.id, sender);
  raiseWallet(c.db, wallet, { nextNonce: claimed });
  if (isFirst || look.nonceLatest <= claimed) return;
  count(c.db, "foreign_spends");
  stopWallet(payer, `nonces ${wallet.nextNonce} to ${look.nonceLatest - 1} were spent by somebody else`);
}

/** Names the transactions that took our nonces. Only asked for when the chain shows that there are any. */
async function consumersOf(payer: Payer, look: AgreedLook): Promise<ReadonlyMap<number, string | null>> {
  const found = new Map<number, string | null>();
  for (const nonce of foreignNonces(payer, look)) {
    const from = Math.max(0, look.finalHeight - CONSUMER_SPAN);
    found.set(nonce, null);
    for (const node of payer.nodes) {
      try {
        const consumer = await node.consumerOf(payer.sender, nonce, from, look.finalHeight);
        if (consumer === null) continue;
        found.set(nonce, consumer.txId);
        break;
      } catch (error) {
        logProvider(payer, "consumer", node.name, error);
      }
    }
  }
  return found;
}

/** Milliseconds to the next look; null when nothing is under way. */
function nextLook(payer: Payer): number | null {
  const { c, network, sender } = payer;
  const open = openSlots(c.db, network.id, sender);
  if (open.some(({ minedTxId }) => minedTxId === null)) return network.pollMs;
  const isWaiting = withdrawalsIn(c.db, network.id, ["funds_reserved"], 1).length > 0;
  // Confirmed and not final: only a replaced block is news.
  if (open.length > 0) return isWaiting ? network.pollMs : confirming(payer) ? network.pollMs : network.pollMs * 4;
  return isWaiting ? WAITING_MS : null;
}

function confirming({ c, network }: Payer): boolean {
  return withdrawalsIn(c.db, network.id, ["confirmation_tracking", "broadcast_pending"], 1).length > 0;
}
