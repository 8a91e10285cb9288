/** The rows of a payment whose transactions expire, as they begin: signed here, or taken over from an earlier copy. */

import {
  type ExpiringAttemptRow,
  insertExpiringAttempt,
  insertExpiringPayment,
} from "../../../../store/tenant/expiring-store.ts";
import type { HotWallet } from "../wallet.ts";
import type { ExpiringPayer } from "./payer.ts";

/** In the caller's commit. Only for one that has none. */
export function beginPayment(
  { c, network, sender }: Pick<ExpiringPayer, "c" | "network" | "sender">,
  withdrawalId: string,
): void {
  const now = c.now();
  insertExpiringPayment(c.db, {
    withdrawalId,
    network: network.id,
    sender,
    status: "open",
    givenUp: 0,
    hurried: 0,
    createdAt: now,
    deadlineAt: now + network.payout.deadlineS * 1_000,
  });
}

/** What is known of an attempt when it is written down. The chain has yet to say the rest. */
export type NewAttempt = Pick<
  ExpiringAttemptRow,
  "withdrawalId" | "txId" | "number" | "raw" | "unsigned" | "expiresAt" | "signedAbove" | "feeMost" | "claimed"
>;

/** In the caller's commit. */
export function beginAttempt({ c }: Pick<HotWallet, "c">, attempt: NewAttempt): void {
  insertExpiringAttempt(c.db, {
    ...attempt,
    status: "live",
    landedHeight: null,
    landedHash: null,
    feeUnits: null,
    deadPoint: null,
    refusal: null,
    signedAt: c.now(),
    firstSentAt: null,
    lastSentAt: null,
    sends: 0,
    outcome: null,
  });
}
