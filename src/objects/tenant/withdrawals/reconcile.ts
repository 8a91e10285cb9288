/** Placeholder until the report is written. */

import type { ReconciliationView } from "../../../core/views.ts";
import type { Idempotency } from "../../api.ts";
import type { Done } from "../authorize.ts";
import type { TenantContext } from "../context.ts";

export function latestReport(c: TenantContext): Done<ReconciliationView> {
  throw new Error(`not here yet ${c.now()}`);
}

export async function reconcileOnRequest(
  c: TenantContext,
  tenantId: string,
  idempotency: Idempotency,
): Promise<Done<ReconciliationView>> {
  throw new Error(`not here yet ${c.now()} ${tenantId} ${idempotency?.key}`);
}

export async function patrolWithdrawals(
  c: TenantContext,
  tenantId: string,
): Promise<{ isIdle: boolean; unresolved: number; mismatches: number }> {
  throw new Error(`not here yet ${c.now()} ${tenantId}`);
}
