/**
 * Paying out where a wallet is a set of coins: all that is ever signed for a withdrawal spends one and the same
 * output, and withdrawals that wait together share a transaction.
 */

import { scriptOfAddress } from "../../../../core/bitcoin-address.ts";
import { refuse } from "../../../../core/refusal.ts";
import { dustThreshold } from "../../../../core/tx-size.ts";
import { walletAddressRow } from "../../../../store/tenant/coin-store.ts";
import {
  allOpenSpends,
  changeMember,
  changeSpend,
  memberOf,
  membersOf,
  openSpends,
  type SpendRow,
  spendAt,
  spendAttemptsOf,
} from "../../../../store/tenant/spend-store.ts";
import type { WithdrawalRow } from "../../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../../context.ts";
import { type PayoutLine, roundBy } from "../payout-line.ts";
import { watchTopUp } from "./addresses.ts";
import { compareSpends } from "./compare.ts";
import { costOf } from "./cost.ts";
import { payerOf } from "./payer.ts";
import { driveWallet, nextLook } from "./round.ts";
import { MAX_ATTEMPTS } from "./sign.ts";
import { coinNetwork, coinSigner } from "./signing.ts";
import { walletView } from "./wallet-view.ts";

export const coinLine: PayoutLine = {
  means: "coins are",
  maxAttempts: MAX_ATTEMPTS,
  walletAddress: (c, tenantId, network) => coinSigner(c, tenantId, network).address,
  isOfWallet: (c, tenantId, network, address) =>
    coinSigner(c, tenantId, network).address === address || walletAddressRow(c.db, network, address) !== undefined,

  round: roundBy(payerOf, driveWallet, nextLook),

  problemOf(c, { network, destination, amountUnits }) {
    const least = dustThreshold(scriptOfAddress(coinNetwork(c, network).addresses, destination));
    return amountUnits < least ? `expected at least ${least} satoshi: less is relayed by no node` : null;
  },

  async costOf(c, tenantId, intent) {
    const payer = payerOf(c, tenantId, intent.network);
    if (payer === null) return null;
    await watchTopUp(c, tenantId, intent.network);
    return costOf(payer, intent);
  },

  openPayment(c, row) {
    const spend = openSpendOf(c, row);
    if (spend === null) return null;
    const attempts = spendAttemptsOf(c.db, spend);
    return {
      minedTxId: spend.minedTxId,
      isGivenUp: memberOf(c.db, row.id)?.givenUp === 1,
      attempts: attempts.length,
      payments: attempts.flatMap(({ pays, txId }) => (pays.includes(row.id) ? [txId] : [])),
      holds: null,
    };
  },

  hurry: (c, row) => changeSpend(c.db, mustBeOpen(c, row), { speedUp: 1 }),

  giveUp(c, row, deadlineAt) {
    changeMember(c.db, row.id, { givenUp: 1 });
    changeSpend(c.db, mustBeOpen(c, row), { deadlineAt });
    return "spending_without_it";
  },

  walletView,

  async provenSigner(c, tenantId, network, choice) {
    if (choice.type === "derived")
      return { ok: true, value: { row: null, address: coinSigner(c, tenantId, network.id).address } };
    return refuse("invalid_fields", `On ${network.id} nobody else can sign: its wallet is derived.`, {
      errors: [{ path: "type", message: "expected derived" }],
    });
  },

  inFlight: (c, network, sender) => openSpends(c.db, network, sender).length,

  resumed(c, network, sender) {
    for (const spend of openSpends(c.db, network, sender)) {
      const isHeld = spendAttemptsOf(c.db, spend).at(-1)?.outcome === "replacement_underpriced";
      if (isHeld) changeSpend(c.db, spend, { speedUp: 1 });
    }
  },

  openName: "open_spends",
  openCount: (c) => allOpenSpends(c.db).length,
  openWithdrawals: (c) =>
    allOpenSpends(c.db).flatMap((spend) => membersOf(c.db, spend).map(({ withdrawalId }) => withdrawalId)),
  compare: compareSpends,
};

function openSpendOf(c: TenantContext, row: WithdrawalRow): SpendRow | null {
  const member = memberOf(c.db, row.id);
  const spend = member && spendAt(c.db, member);
  return spend?.status === "open" ? spend : null;
}

function mustBeOpen(c: TenantContext, row: WithdrawalRow): SpendRow {
  const spend = openSpendOf(c, row);
  if (spend === null) throw new Error(`withdrawal ${row.id} has no open spend`);
  return spend;
}
