/** Paying out where wallets count their transactions: one nonce carries one withdrawal for ever. */

import { countsNonces, type NetworkSettings } from "../../../../core/network.ts";
import {
  allOpenSlots,
  attemptsOf,
  changeSlot,
  openSlots,
  type SlotRow,
  slotAt,
} from "../../../../store/tenant/slot-store.ts";
import type { WithdrawalRow } from "../../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../../context.ts";
import { type PayoutLine, roundBy } from "../payout-line.ts";
import { compareNoncePayments } from "./compare.ts";
import { costOf } from "./cost.ts";
import { payerOf } from "./payer.ts";
import { provenRemote } from "./proven-signer.ts";
import { driveWallet, nextLook } from "./round.ts";
import { MAX_ATTEMPTS } from "./sign.ts";
import { derivedSigner, walletAddress } from "./signing.ts";
import { walletView } from "./wallet-view.ts";

export const nonceLine: PayoutLine = {
  means: "a nonce is",
  maxAttempts: MAX_ATTEMPTS,
  walletAddress,
  isOfWallet: (c, tenantId, network, address) => walletAddress(c, tenantId, network) === address,

  round: roundBy(payerOf, driveWallet, nextLook),

  problemOf: () => null,

  async costOf(c, tenantId, intent) {
    const payer = payerOf(c, tenantId, intent.network);
    return payer === null ? null : costOf(payer, intent);
  },

  openPayment(c, row) {
    const slot = openSlotOf(c, row);
    if (slot === null) return null;
    const attempts = attemptsOf(c.db, slot);
    return {
      minedTxId: slot.minedTxId,
      isGivenUp: slot.burn === 1,
      attempts: attempts.length,
      payments: attempts.flatMap(({ kind, txId }) => (kind === "payment" ? [txId] : [])),
      holds: null,
    };
  },

  hurry: (c, row) => changeSlot(c.db, mustBeOpen(c, row), { speedUp: 1 }),

  giveUp(c, row, deadlineAt) {
    changeSlot(c.db, mustBeOpen(c, row), { burn: 1, deadlineAt });
    return "burning_nonce";
  },

  walletView: async (c, tenantId, network) => ({ ok: true, value: await walletView(c, tenantId, network) }),

  async provenSigner(c, tenantId, network, choice) {
    if (choice.type === "derived")
      return { ok: true, value: { row: null, address: derivedSigner(c, tenantId, network.id).address } };
    const proven = await provenRemote(c, tenantId, mustCount(network), choice);
    return proven.ok ? { ok: true, value: { row: proven.value, address: proven.value.address } } : proven;
  },

  inFlight: (c, network, sender) => openSlots(c.db, network, sender).length,

  resumed(c, network, sender) {
    for (const slot of openSlots(c.db, network, sender)) {
      const isHeld = attemptsOf(c.db, slot).at(-1)?.outcome === "replacement_underpriced";
      if (isHeld) changeSlot(c.db, slot, { speedUp: 1 });
    }
  },

  openName: "open_nonces",
  openCount: (c) => allOpenSlots(c.db).length,
  openWithdrawals: (c) => allOpenSlots(c.db).flatMap(({ withdrawalId }) => withdrawalId ?? []),
  compare: compareNoncePayments,
};

function openSlotOf(c: TenantContext, { network, sender, nonce }: WithdrawalRow): SlotRow | null {
  const slot = sender === null || nonce === null ? undefined : slotAt(c.db, { network, sender, nonce });
  return slot?.status === "open" ? slot : null;
}

function mustBeOpen(c: TenantContext, row: WithdrawalRow): SlotRow {
  const slot = openSlotOf(c, row);
  if (slot === null) throw new Error(`withdrawal ${row.id} has no open nonce`);
  return slot;
}

function mustCount(network: NetworkSettings) {
  if (!countsNonces(network)) throw new Error(`wallets on ${network.id} do not count nonces`);
  return network;
}
