/** Withdrawals: what is asked for, what became of it, and each step and attempt on the way. */

import { z } from "@hono/zod-openapi";
import { WITHDRAWAL_STATES } from "../core/withdrawal.ts";
import {
  Account,
  AddressText,
  Decimal,
  IDEMPOTENCY_KEY,
  ListedSymbol,
  line,
  Metadata,
  maybe,
  NetworkId,
  OwnAccount,
  PositiveAmountText,
  Time,
  Units,
} from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

const MAX_REASON_CHARS = 500;
const MAX_EVIDENCE_CHARS = 1_000;
/** As JSON in UTF-8: it is in every event of the withdrawal, and an event is below 20 KB. */
const MAX_METADATA_BYTES = 4_096;

const State = z.enum(WITHDRAWAL_STATES);

export const NewWithdrawalBody = z
  .strictObject({
    network: NetworkId,
    asset: ListedSymbol,
    destination: AddressText,
    amount: PositiveAmountText,
    account: OwnAccount.default("default"),
    external_id: line(128).nullable().default(null).openapi({ description: "Your own id of it. Need not be unique." }),
    metadata: Metadata.refine(
      (metadata) => new TextEncoder().encode(JSON.stringify(metadata)).length <= MAX_METADATA_BYTES,
      `at most ${MAX_METADATA_BYTES} bytes in all`,
    ).default({}),
  })
  .openapi("NewWithdrawal");

export const RejectBody = z
  .strictObject({ reason: line(MAX_REASON_CHARS).nullable().default(null) })
  .openapi("RejectWithdrawal");

/** Text of several lines, as a person writes it. */
const Evidence = z
  .string()
  .min(1)
  .max(MAX_EVIDENCE_CHARS)
  .refine(
    (text) => !/[\p{Cc}\u2028\u2029]/u.test(text.replaceAll("\n", "")),
    "expected text without control characters other than line feeds",
  )
  .refine((text) => text.trim() !== "", "expected more than blanks")
  .openapi({ description: "What shows the outcome: a transaction id, or what was looked at and found." });

export const ResolveBody = z
  .strictObject({ outcome: z.enum(["confirmed", "failed"]), evidence: Evidence })
  .openapi("ResolveWithdrawal");

const Transition = z.object({
  from: State.nullable(),
  to: State,
  reason: z.string(),
  evidence: z.string().nullable(),
  at: Time,
});

const Attempt = z.object({
  tx_id: z.string(),
  nonce: z.int(),
  kind: z.enum(["payment", "burn"]).openapi({
    description: "burn: a transfer of nothing to the wallet itself, which makes the payments of its nonce void.",
  }),
  status: z.enum(["signed", "sent", "mined", "void"]),
  sent_at: Time.nullable(),
  outcome: z.string().nullable().openapi({ description: "What the last answer to a send meant." }),
});

export const Withdrawal = z
  .object({
    id: z.string(),
    network: z.string(),
    asset: z.string(),
    account: z.string(),
    destination: z.string(),
    amount: Decimal,
    amount_units: Units,
    state: State,
    idempotency_key: z.string(),
    external_id: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    tx_id: z.string().nullable().openapi({
      description:
        "The payment that is mined, else the latest that was signed; null: none was. A burn is in `attempts` alone.",
    }),
    fee: Decimal.nullable().openapi({
      description: "What the payment took, in the network's coin, paid by the hot wallet; null: it is not mined.",
    }),
    fee_units: Units.nullable(),
    waiting_for: z.string().nullable().openapi({
      description: "What it waits for when that is not the chain alone: a top-up, a lower fee, a person.",
    }),
    created_at: Time,
    updated_at: Time,
    transitions: z.array(Transition),
    attempts: z.array(Attempt),
  })
  .openapi("Withdrawal");

export const Estimate = z
  .object({
    network: z.string(),
    asset: z.string(),
    destination: z.string(),
    amount: Decimal,
    amount_units: Units,
    fee: Decimal.nullable().openapi({ description: "What the network would take now; null: it is out of reach." }),
    max_fee: Decimal.nullable().openapi({ description: "The most that would be signed." }),
    fee_asset: z.string(),
    accepted: z.boolean().openapi({ description: "Whether the same request would be accepted now." }),
    warning: z.string().nullable().openapi({
      description:
        "What would keep it from being paid at once, such as an empty hot wallet; null: nothing that is known.",
    }),
    needs_approval: z.boolean(),
    refusal: z.object({ code: z.string(), detail: z.string() }).nullable(),
  })
  .openapi("WithdrawalEstimate");

export const WithdrawalPage = pageOf(Withdrawal, "Withdrawal");
export const WithdrawalQuery = z.strictObject({
  network: maybe(NetworkId),
  account: maybe(Account),
  asset: maybe(ListedSymbol),
  state: maybe(State),
  external_id: maybe(line(128)),
  idempotency_key: maybe(z.string().regex(IDEMPOTENCY_KEY, "expected an Idempotency-Key as it was sent")),
  tx_id: maybe(line(128)),
  limit: Limit,
  cursor: maybe(Cursor),
});
