/** Nonces, and what was signed for them, compared with D1 and the chain. */

import type { TenantContext } from "../../context.ts";
import type { Findings } from "../findings.ts";
import type { ComparedScope } from "../payout-line.ts";
import { compareAttempts, compareReceipts, compareUsed, lookAtWallets } from "./compare-chain.ts";
import { compareNonces, readNonceClaims } from "./compare-claims.ts";
import { readNonceScope } from "./compare-scope.ts";

/** As `PayoutLine.compare`. */
export async function compareNoncePayments(
  c: TenantContext,
  tenantId: string,
  compared: ComparedScope,
  findings: Findings,
): Promise<() => void> {
  const scope = readNonceScope(c, tenantId, compared);
  const [claims, looked] = await Promise.all([
    readNonceClaims(c, tenantId, scope),
    lookAtWallets(c, scope, findings),
    compareAttempts(c, scope.slots, findings),
  ]);
  return () => {
    compareReceipts(c, scope, looked, findings);
    if (claims === null) findings.unreachable.add("d1");
    for (const wallet of claims ?? []) {
      compareNonces(c, tenantId, wallet, findings);
      const looks = looked.find((one) => one.wallet === wallet.wallet);
      if (looks !== undefined) compareUsed(c, looks, wallet, findings);
    }
  };
}
