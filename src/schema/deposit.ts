/** Deposits. */

import { z } from "@hono/zod-openapi";
import { MAX_MEMO_BYTES } from "../core/transfer.ts";
import { EXAMPLE } from "./examples.ts";
import { Account, AddressText, Decimal, ListedSymbol, line, maybe, NetworkId, timeOf, Units } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

const Status = z.enum(["pending", "confirmed", "settled", "reverted", "dropped"]).openapi({
  description:
    "pending: in a block, not deep enough, or, where the network tells of it, waiting to be mined. confirmed: deep " +
    "enough, credited. settled: confirmed, and too deep to be reorganised. reverted: its block was replaced after it " +
    "was credited; the credit is taken back. dropped: its block was replaced before, or it waits no longer: another " +
    "transaction took its place.",
});

export const DEPOSIT_EXAMPLE = {
  id: EXAMPLE.deposit,
  network: "ethereum",
  asset: "USDC",
  tx_id: EXAMPLE.tx,
  transfer_index: "log:0",
  address: EXAMPLE.watched.toLowerCase(),
  account: EXAMPLE.account,
  amount: "25.5",
  amount_units: "25500000",
  status: "confirmed" as const,
  epoch: 1,
  confirmations: 12,
  confirmations_required: 12,
  block_height: 21_000_032,
  block_hash: EXAMPLE.block,
  memo: null,
  created_at: "2026-01-31T12:06:24.000Z",
  confirmed_at: "2026-01-31T12:08:36.000Z",
  reverted_at: null,
  settled_at: null,
};

export const Deposit = z
  .object({
    id: z.string(),
    network: z.string().openapi({ description: "The network's id." }),
    asset: z.string().openapi({ description: "The asset's symbol." }),
    tx_id: z.string().openapi({ description: "Id of the transaction: its hash, or its first signature (Solana)." }),
    transfer_index: z.string().openapi({
      description:
        "Which of the transaction's payments it is: log:<n>, the log's ordinal in its receipt; value; call:<path>; " +
        "out:<n>, the output's number. " +
        "With network and tx_id it names the payment for ever, also when a reorganisation moves it.",
      example: "log:0",
    }),
    address: z.string().openapi({ description: "The watched address that was paid, in canonical spelling." }),
    account: z.string().openapi({ description: "The account that the address is booked to." }),
    amount: Decimal,
    amount_units: Units,
    status: Status,
    epoch: z
      .int()
      .openapi({ description: "How many times this payment was confirmed: more than 1 after a reorganisation." }),
    confirmations: z.int().openapi({ description: "Depth of its block in blocks, the block itself being the first." }),
    confirmations_required: z
      .int()
      .nullable()
      .openapi({
        description:
          "Depth in blocks at which it is confirmed: the policy's, or the chain's own where that is greater (101 for new " +
          "coins); null: the chain's own finalized tag decides.",
      }),
    block_height: z
      .int()
      .nullable()
      .openapi({
        description:
          "Height of the block that it is in, or was in last; null: in none yet. It waits to be mined, or was dropped " +
          "while it waited.",
      }),
    block_hash: z.string().nullable().openapi({ description: "Hash of that block; null: in none yet." }),
    memo: z
      .string()
      .nullable()
      .openapi({
        description:
          "What its sender wrote beside it, as it stands on the chain (TRON): text, or 0x and hex where the bytes are no " +
          `text. Of a longer one the first ${MAX_MEMO_BYTES} bytes. A stranger's text: any character may be in it. null: ` +
          "nothing, or the network has no memos.",
      }),
    created_at: timeOf("When it was seen first."),
    confirmed_at: timeOf("When it was confirmed last; null: never yet.").nullable(),
    reverted_at: timeOf("When it was taken back last; null: never.").nullable(),
    settled_at: timeOf("When it was settled; null: it is not.").nullable(),
  })
  .openapi("Deposit", { example: DEPOSIT_EXAMPLE });

export const DepositPage = pageOf(Deposit, "Deposit");
export const DepositQuery = z.strictObject({
  network: maybe(NetworkId),
  account: maybe(Account),
  address: maybe(AddressText),
  asset: maybe(ListedSymbol),
  status: maybe(Status),
  tx_id: maybe(line(128).openapi({ description: "Hash of a transaction." })),
  limit: Limit,
  cursor: maybe(Cursor),
});
