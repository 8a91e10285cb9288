/** Balances, and the append-only entries they are the sum of. */

import { z } from "@hono/zod-openapi";
import { Account, Decimal, ListedSymbol, maybe, NetworkId, Time, Units } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

export const Balance = z
  .object({
    account: z.string(),
    network: z.string(),
    asset: z.string(),
    available: Decimal,
    reserved: Decimal,
    settled: Decimal,
    debt: Decimal,
  })
  .openapi("Balance");

export const LedgerEntry = z
  .object({
    id: z.string(),
    journal_id: z.string().openapi({ description: "Entries of one journal were committed together." }),
    account: z.string(),
    network: z.string(),
    asset: z.string(),
    from: z.string(),
    to: z.string(),
    amount: Decimal,
    amount_units: Units,
    cause: z.object({ type: z.string(), id: z.string(), event_id: z.string().nullable() }),
    created_at: Time,
  })
  .openapi("LedgerEntry");

export const BalancePage = pageOf(Balance, "Balance");
export const LedgerEntryPage = pageOf(LedgerEntry, "LedgerEntry");
export const LedgerQuery = z.strictObject({
  account: maybe(Account),
  asset: maybe(ListedSymbol),
  network: maybe(NetworkId),
  limit: Limit,
  cursor: maybe(Cursor),
});
