/** What one reconciliation looks at of nonces: every open one, and those of the wallets that were used of late. */

import { allOpenSlots, type SlotRow, slotAt, slotsFrom } from "../../../../store/tenant/slot-store.ts";
import { allWallets } from "../../../../store/tenant/wallet-store.ts";
import type { WithdrawalRow } from "../../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../../context.ts";
import { uniqueBy } from "../compare-scope.ts";
import type { ComparedScope } from "../payout-line.ts";
import { walletAddress } from "./signing.ts";

/** Nonces of a wallet below its next one, and claims above, that are compared. */
const NONCES_BEHIND = 1_000;
export const MAX_NONCES = 5_000;

export interface WalletScope {
  readonly network: string;
  readonly sender: string;
  /** Lowest nonce that is compared. */
  readonly from: number;
  /** Slots from there on, as they stood before anybody was asked. */
  readonly slots: readonly SlotRow[];
}

export interface NonceScope {
  readonly withdrawals: readonly WithdrawalRow[];
  /** Those of the withdrawals, and every open one. */
  readonly slots: readonly SlotRow[];
  readonly wallets: readonly WalletScope[];
}

/** Reads only, in the turn in which the withdrawals were read. */
export function readNonceScope(c: TenantContext, tenantId: string, { withdrawals, isOwn }: ComparedScope): NonceScope {
  const open = allOpenSlots(c.db);
  return {
    withdrawals,
    slots: uniqueBy([...open, ...withdrawals.flatMap((row) => slotOf(c, row) ?? [])], slotName),
    wallets: walletsOf(c, tenantId, isOwn, open),
  };
}

export function slotOf(c: TenantContext, { network, sender, nonce }: WithdrawalRow): SlotRow | undefined {
  return sender === null || nonce === null ? undefined : slotAt(c.db, { network, sender, nonce });
}

export function slotName({ network, sender, nonce }: Pick<SlotRow, "network" | "sender" | "nonce">): string {
  return `${network}/${sender}/${nonce}`;
}

/** Every wallet there ever was, and those in use: an older copy of this object may not know that it used one. */
function walletsOf(
  c: TenantContext,
  tenantId: string,
  isOwn: ComparedScope["isOwn"],
  open: readonly SlotRow[],
): WalletScope[] {
  const known = allWallets(c.db).filter(({ network }) => isOwn(network));
  const inUse = [...c.settings.networks.keys()]
    .filter(isOwn)
    .map((network) => ({ network, sender: walletAddress(c, tenantId, network), nextNonce: 0 }));
  return uniqueBy([...known, ...inUse], ({ network, sender }) => `${network}/${sender}`).map(
    ({ network, sender, nextNonce }) => {
      const own = open.filter((slot) => slot.network === network && slot.sender === sender);
      const from = Math.max(0, Math.min(nextNonce - NONCES_BEHIND, ...own.map(({ nonce }) => nonce)));
      return { network, sender, from, slots: slotsFrom(c.db, network, sender, from, MAX_NONCES) };
    },
  );
}
