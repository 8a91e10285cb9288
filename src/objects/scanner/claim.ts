/**
 * Claims the keys of new payments in D1, for all tenants in one call. While D1 is out of reach the rows
 * wait in the window and their tenants are not called: late, never lost.
 */

import { keyText, UNMINED } from "../../core/transfer.ts";
import { log } from "../../log.ts";
import { claimDeposits } from "../../store/d1/claims.ts";
import { countUp, updateState } from "../../store/scanner/state-store.ts";
import { deleteTransfer, type OwnedTransfer, unclaimedSince } from "../../store/scanner/transfer-store.ts";
import { tenantByNumber } from "../../store/scanner/watch-store.ts";
import { type ScannerContext, stateOf } from "./context.ts";
import { noteClaims } from "./sights.ts";

/** @throws StoreFault when D1 did not answer; calling it again is safe */
export async function claimNew(s: ScannerContext): Promise<void> {
  const { version, claimedVersion } = stateOf(s);
  if (claimedVersion === version) {
    s.memory.unclaimed = [];
    return;
  }
  // A copy: what is committed while D1 answers joins the list in memory, and waits for the next call.
  const waiting = new Set(s.memory.unclaimed ?? unclaimedSince(s.db, claimedVersion));
  const { conflicts, fresh, again } = await claimTransfers(s, [...waiting]);
  noteClaims(s, fresh, again);

  // Whatever was committed while D1 answered has a higher version, and is claimed by the next call.
  s.storage.transactionSync(() => {
    for (const transfer of conflicts) deleteTransfer(s.db, transfer);
    updateState(s.db, { claimedVersion: version });
  });
  for (const transfer of conflicts) if (transfer.height === UNMINED) s.memory.refusedUnmined.add(keyText(transfer));
  s.memory.unclaimed = s.memory.unclaimed?.filter((t) => !waiting.has(t)) ?? null;
}

/** Claims these transfers and gives back those that another tenant holds. @throws StoreFault */
export async function claimTransfers(
  s: ScannerContext,
  transfers: readonly OwnedTransfer[],
): Promise<{ readonly conflicts: OwnedTransfer[]; readonly fresh: number; readonly again: number }> {
  if (transfers.length === 0) return { conflicts: [], fresh: 0, again: 0 };
  const ids = new Map<number, string>();
  const claims = transfers.map((transfer) => {
    const tenantId = ids.get(transfer.tenant) ?? mustBeTenant(s, transfer.tenant);
    ids.set(transfer.tenant, tenantId);
    return { txId: transfer.txId, transferIndex: transfer.transferIndex, tenantId, transfer };
  });
  const { conflicts, fresh } = await claimDeposits(s.env.DB, s.network.id, claims);
  const again = claims.length - fresh - conflicts.length;
  s.storage.transactionSync(() => {
    countUp(s.db, "claims_new", fresh);
    countUp(s.db, "claims_met_again", again);
    countUp(s.db, "claims_refused", conflicts.length);
  });
  for (const { tenantId, txId, transferIndex } of conflicts) {
    const what = "the payment was told to another tenant before, and is credited to nobody now";
    log("error", "claim_refused", {
      network: s.network.id,
      tenant: tenantId,
      tx_id: txId,
      transfer_index: transferIndex,
      what,
    });
  }
  const refused = new Set(conflicts);
  return { conflicts: claims.filter((claim) => refused.has(claim)).map((claim) => claim.transfer), fresh, again };
}

function mustBeTenant(s: ScannerContext, n: number): string {
  const mark = tenantByNumber(s.db, n);
  if (mark === undefined) throw new Error(`transfers are kept for tenant number ${n}, which is not known`);
  return mark.tenantId;
}
