/** Lists of withdrawals and single ones. Nothing here writes. */

import { canonicalTxId } from "../../../core/tx-id.ts";
import type { Page, WithdrawalView } from "../../../core/views.ts";
import { decodeCursor, toPage } from "../../../store/cursor.ts";
import { listWithdrawals, withdrawalById } from "../../../store/tenant/withdrawal-store.ts";
import type { PageRequest, WithdrawalFilter } from "../../api.ts";
import { BAD_CURSOR, type Done, notFound } from "../authorize.ts";
import { assetsNamed, type TenantContext } from "../context.ts";
import { allRecords } from "./records.ts";
import { toWithdrawalView } from "./view.ts";

export function pageOfWithdrawals(
  c: TenantContext,
  filter: WithdrawalFilter,
  page: PageRequest,
): Done<Page<WithdrawalView>> {
  const before = page.cursor === null ? null : decodeCursor(page.cursor);
  if (page.cursor !== null && before === null) return BAD_CURSOR;
  const { asset, tx_id: txId, external_id: externalId, idempotency_key: idempotencyKey, ...same } = filter;
  const query = {
    ...same,
    ...(externalId === undefined ? {} : { externalId }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(asset === undefined ? {} : { assets: assetsNamed(c, asset, filter.network) }),
    ...(txId === undefined
      ? {}
      : { ids: allRecords().flatMap((records) => records.withdrawalsOfTx(c, canonicalTxId(txId))) }),
  };
  const rows = listWithdrawals(c.db, query, before, page.limit + 1);
  return {
    ok: true,
    value: toPage(
      rows,
      page.limit,
      (row) => row.seq,
      (row) => toWithdrawalView(c, row),
    ),
  };
}

export function oneWithdrawal(c: TenantContext, id: string): Done<WithdrawalView> {
  const row = withdrawalById(c.db, id);
  return row === undefined ? notFound("withdrawal") : { ok: true, value: toWithdrawalView(c, row) };
}
