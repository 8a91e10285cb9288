/** What a withdrawal would cost and whether it would be accepted now. Nothing is recorded. */

import { formatAmount } from "../../../core/amount.ts";
import { NATIVE } from "../../../core/transfer.ts";
import type { EstimateView } from "../../../core/views.ts";
import type { NewWithdrawal } from "../../api.ts";
import type { Done } from "../authorize.ts";
import { mustFindAsset, type TenantContext } from "../context.ts";
import { readIntent } from "./intent.ts";
import { judgeIntent } from "./judge.ts";
import { lineOf, refusedByLine } from "./lines.ts";
import { Standing } from "./standing.ts";

export async function estimateWithdrawal(
  c: TenantContext,
  tenantId: string,
  input: NewWithdrawal,
): Promise<Done<EstimateView>> {
  const read = readIntent(c, input);
  if (!read.ok) return read;
  const intent = read.value;
  const now = refusedByLine(c, tenantId, intent);
  if (!now.ok) return now;
  const cost = await lineOf(c, intent.network).costOf(c, tenantId, intent);
  const coin = mustFindAsset(c, intent.network, NATIVE);
  const verdict = judgeIntent(intent, new Standing(c));
  const shown = (units: bigint | undefined) => (units === undefined ? null : formatAmount(units, coin.decimals));
  return {
    ok: true,
    value: {
      network: intent.network,
      asset: intent.asset.symbol,
      destination: intent.destination,
      amount: formatAmount(intent.amountUnits, intent.asset.decimals),
      amount_units: intent.amountUnits.toString(),
      fee: shown(cost?.now),
      max_fee: shown(cost?.most),
      fee_parts: (cost?.parts ?? []).map(({ kind, quantity, units }) => ({
        kind,
        quantity,
        fee: formatAmount(units, coin.decimals),
      })),
      fee_asset: coin.symbol,
      accepted: verdict.ok,
      warning: cost?.warning ?? null,
      needs_approval: verdict.ok && verdict.needsApproval,
      refusal: verdict.ok ? null : { code: verdict.refusal.code, detail: verdict.refusal.detail },
    },
  };
}
