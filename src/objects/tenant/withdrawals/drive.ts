/**
 * Drives the hot wallets that are due, one round each. Whatever breaks a round off, the next one goes on from what
 * was committed.
 */

import { log } from "../../../log.ts";
import { changeWallet, dueWallets, walletRow } from "../../../store/tenant/wallet-store.ts";
import type { TenantContext } from "../context.ts";
import { lookAfterRound } from "../incidents/look.ts";
import { findLine } from "./lines.ts";

/** After a round that broke off. */
const RETRY_MS = 15_000;
/** A network that is off is not switched on in a hurry. */
const OFF_MS = 5 * 60_000;

/** @returns how many events were written */
export async function driveWithdrawals(c: TenantContext, tenantId: string): Promise<number> {
  const networks = new Set(dueWallets(c.db, c.now()).map(({ network }) => network));
  const written = await Promise.all(
    [...networks].map((network) => c.turns.take(`wallet/${network}`, () => driveNetwork(c, tenantId, network))),
  );
  return written.reduce((sum, events) => sum + events, 0);
}

async function driveNetwork(c: TenantContext, tenantId: string, network: string): Promise<number> {
  let written = 0;
  let isLast = true;
  for (const wallet of dueWallets(c.db, c.now())) {
    if (wallet.network !== network) continue;
    // Set before the work: whatever becomes of this instance, somebody looks again.
    changeWallet(c.db, wallet, { dueAt: c.now() + RETRY_MS });
    const round = findLine(c, network)?.round(c, tenantId, network, wallet.sender) ?? null;
    if (round === null) {
      changeWallet(c.db, wallet, { dueAt: c.now() + OFF_MS });
      continue;
    }
    try {
      written += await round.drive();
      const after = round.nextLook();
      changeWallet(c.db, wallet, { dueAt: after === null ? null : c.now() + after });
    } catch (error) {
      round.log(error);
    }
    if (walletRow(c.db, network, wallet.sender)?.dueAt != null) isLast = false;
  }
  return written + lookAtIncidents(c, tenantId, network, isLast || written > 0);
}

/** A look that breaks takes nothing from the round. */
function lookAtIncidents(c: TenantContext, tenantId: string, network: string, isLast: boolean): number {
  try {
    return lookAfterRound(c, tenantId, network, isLast);
  } catch (error) {
    log("error", "incidents_not_looked_at", { tenant: tenantId, network }, error);
    return 0;
  }
}
