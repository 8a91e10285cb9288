/** Deposits. */

import { z } from "@hono/zod-openapi";
import { Account, AddressText, Decimal, ListedSymbol, line, maybe, NetworkId, Time, Units } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

const Status = z.enum(["pending", "confirmed", "settled", "reverted", "dropped"]);

export const Deposit = z
  .object({
    id: z.string(),
    network: z.string(),
    asset: z.string(),
    tx_id: z.string(),
    transfer_index: z.string().openapi({ example: "log:0" }),
    address: z.string(),
    account: z.string(),
    amount: Decimal,
    amount_units: Units,
    status: Status,
    epoch: z.int().openapi({ description: "How many times this payment was confirmed." }),
    confirmations: z.int(),
    confirmations_required: z.int().nullable().openapi({
      description: "null: the chain's own finalized tag decides.",
    }),
    block_height: z.int(),
    block_hash: z.string(),
    created_at: Time,
    confirmed_at: Time.nullable(),
    reverted_at: Time.nullable(),
    settled_at: Time.nullable(),
  })
  .openapi("Deposit");

export const DepositPage = pageOf(Deposit, "Deposit");
export const DepositQuery = z.strictObject({
  network: maybe(NetworkId),
  account: maybe(Account),
  address: maybe(AddressText),
  asset: maybe(ListedSymbol),
  status: maybe(Status),
  tx_id: maybe(line(128)),
  limit: Limit,
  cursor: maybe(Cursor),
});
