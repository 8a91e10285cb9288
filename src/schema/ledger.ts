/** Balances, and the append-only entries they are the sum of. */

import { z } from "@hono/zod-openapi";
import { EXAMPLE } from "./examples.ts";
import { Account, Decimal, ListedSymbol, maybe, NetworkId, timeOf, Units } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

export const BALANCE_EXAMPLE = {
  account: EXAMPLE.account,
  network: "ethereum",
  asset: "USDC",
  available: "25.5",
  reserved: "0",
  settled: "100",
  debt: "0",
};

export const Balance = z
  .object({
    account: z.string().openapi({ description: "Your name of the customer; sluice: begins the service's own." }),
    network: z.string().openapi({ description: "The network's id." }),
    asset: z.string().openapi({ description: "The asset's symbol." }),
    available: Decimal.openapi({ description: "What can be paid out now. Decimal, in the asset's unit." }),
    reserved: Decimal.openapi({
      description: "Held for withdrawals without an outcome. Decimal, in the asset's unit.",
    }),
    settled: Decimal.openapi({ description: "Paid out in all. Decimal, in the asset's unit." }),
    debt: Decimal.openapi({
      description: "Owed since a deposit was taken back that had been paid out. Decimal, in the asset's unit.",
    }),
  })
  .openapi("Balance", { example: BALANCE_EXAMPLE });

export const LedgerEntry = z
  .object({
    id: z.string(),
    journal_id: z.string().openapi({ description: "Entries of one journal were committed together. jrn_..." }),
    account: z.string().openapi({ description: "Your name of the customer." }),
    network: z.string().openapi({ description: "The network's id." }),
    asset: z.string().openapi({ description: "The asset's symbol." }),
    from: z.string().openapi({ description: "The side that gives: chain, available, reserved, settled or debt." }),
    to: z.string().openapi({ description: "The side that takes; the same names." }),
    amount: Decimal,
    amount_units: Units,
    cause: z
      .object({
        type: z.string().openapi({ description: "What happened, such as deposit.confirmed." }),
        id: z.string().openapi({ description: "The deposit or withdrawal it happened to." }),
        event_id: z.string().nullable().openapi({ description: "The event that tells of it; null: none does." }),
      })
      .openapi({ description: "Why it was posted." }),
    created_at: timeOf("When it was posted."),
  })
  .openapi("LedgerEntry", {
    example: {
      id: EXAMPLE.entry,
      journal_id: EXAMPLE.journal,
      account: EXAMPLE.account,
      network: "ethereum",
      asset: "USDC",
      from: "chain",
      to: "available",
      amount: "25.5",
      amount_units: "25500000",
      cause: { type: "deposit.confirmed", id: EXAMPLE.deposit, event_id: EXAMPLE.event },
      created_at: "2026-01-31T12:08:36.000Z",
    },
  });

export const BalancePage = pageOf(Balance, "Balance");
export const LedgerEntryPage = pageOf(LedgerEntry, "LedgerEntry");
export const LedgerQuery = z.strictObject({
  account: maybe(Account),
  asset: maybe(ListedSymbol),
  network: maybe(NetworkId),
  limit: Limit,
  cursor: maybe(Cursor),
});
