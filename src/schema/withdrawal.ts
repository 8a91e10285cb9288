/** Withdrawals: what is asked for, what became of it, and each step and attempt on the way. */

import { z } from "@hono/zod-openapi";
import { FEE_KINDS } from "../core/fee-kind.ts";
import { WITHDRAWAL_STATES } from "../core/withdrawal.ts";
import { EXAMPLE } from "./examples.ts";
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
  timeOf,
  Units,
} from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

const MAX_REASON_CHARS = 500;
const MAX_EVIDENCE_CHARS = 1_000;
/** As JSON in UTF-8: it is in every event of the withdrawal, and an event is below 20 KB. */
const MAX_METADATA_BYTES = 4_096;

const State = z.enum(WITHDRAWAL_STATES).openapi({
  description:
    "funds_reserved: waits for its turn, nothing is signed. pending_approval: waits for another key. broadcast_pending: " +
    "signed, on its way to the chain. confirmation_tracking: on the chain or in its pool. manual_review: waits for a " +
    "person. confirmed: paid. failed, cancelled, rejected: not paid, and it never will be.",
});

export const NewWithdrawalBody = z
  .strictObject({
    network: NetworkId,
    asset: ListedSymbol,
    destination: AddressText.openapi({ description: "Who is paid.", example: EXAMPLE.destination }),
    amount: PositiveAmountText.openapi({
      description: "What arrives, decimal text above zero in the asset's unit. The hot wallet pays the fee beside it.",
      example: "25.5",
    }),
    account: OwnAccount.default("default"),
    external_id: line(128).nullable().default(null).openapi({ description: "Your own id of it. Need not be unique." }),
    metadata: Metadata.refine(
      (metadata) => new TextEncoder().encode(JSON.stringify(metadata)).length <= MAX_METADATA_BYTES,
      `at most ${MAX_METADATA_BYTES} bytes in all`,
    ).default({}),
  })
  .openapi("NewWithdrawal", {
    example: {
      network: "ethereum",
      asset: "USDC",
      destination: EXAMPLE.destination,
      amount: "25.50",
      account: EXAMPLE.account,
      external_id: "payout-17",
    },
  });

export const RejectBody = z
  .strictObject({
    reason: line(MAX_REASON_CHARS).nullable().default(null).openapi({
      description: "Why, for people: it stands in the transition's evidence.",
    }),
  })
  .openapi("RejectWithdrawal", { example: { reason: "Not a known customer" } });

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
  .strictObject({
    outcome: z.enum(["confirmed", "failed"]).openapi({ description: "confirmed: it was paid. failed: it was not." }),
    evidence: Evidence,
  })
  .openapi("ResolveWithdrawal", { example: { outcome: "confirmed", evidence: EXAMPLE.paymentTx } });

const Transition = z.object({
  from: State.nullable().openapi({ description: "The state before; null: this is the first." }),
  to: State.openapi({ description: "The state from then on." }),
  reason: z.string().openapi({ description: "Why, in one word that stays the same." }),
  evidence: z.string().nullable().openapi({
    description: "What shows it: a transaction, a node's words, a person's; null: the reason says all.",
  }),
  at: Time,
});

const Attempt = z.object({
  tx_id: z.string().openapi({ description: "Id of the transaction: its hash, or its first signature (Solana)." }),
  nonce: z.int().nullable().openapi({
    description:
      "The wallet's nonce. All attempts of a withdrawal share one. null where wallets are sets of coins: there all attempts spend one and the same coin; and where transactions expire: there one lives at a time.",
  }),
  kind: z.enum(["payment", "burn"]).openapi({
    description:
      "payment, or burn: a transaction that does not pay it, and makes void what does: of its nonce, or of its coin.",
  }),
  status: z.enum(["signed", "sent", "mined", "void"]).openapi({
    description:
      "signed: stored, not sent. void: another one of its nonce, or of its coin, is final; or it has expired, and can never land.",
  }),
  sent_at: timeOf("When it was sent first; null: it was not.").nullable(),
  outcome: z.string().nullable().openapi({ description: "What the last answer to a send meant." }),
});

export const Withdrawal = z
  .object({
    id: z.string(),
    network: z.string().openapi({ description: "The network's id." }),
    asset: z.string().openapi({ description: "The asset's symbol." }),
    account: z.string().openapi({ description: "The account whose balance pays it." }),
    destination: z.string().openapi({ description: "Who is paid, in canonical spelling." }),
    amount: Decimal,
    amount_units: Units,
    state: State,
    idempotency_key: z.string().openapi({ description: "The key that names it within its account, for ever." }),
    external_id: z.string().nullable().openapi({ description: "Your own id of it, as you gave it." }),
    metadata: z.record(z.string(), z.string()).openapi({ description: "What you gave, unchanged." }),
    tx_id: z.string().nullable().openapi({
      description:
        "The payment that is mined, else the latest that was signed; null: none was. A burn is in `attempts` alone.",
    }),
    fee: Decimal.nullable().openapi({
      description: "What the payment took, in the network's coin, paid by the hot wallet; null: it is not mined.",
    }),
    fee_units: Units.nullable().openapi({
      description: "The fee in base units of the network's coin; null: it is not mined.",
    }),
    waiting_for: z.string().nullable().openapi({
      description: "What it waits for when that is not the chain alone: a top-up, a lower fee, a person.",
    }),
    created_at: timeOf("When it was asked for."),
    updated_at: timeOf("When its state changed last."),
    transitions: z.array(Transition).openapi({ description: "Each change of its state, oldest first." }),
    attempts: z.array(Attempt).openapi({ description: "Each transaction that was signed for it, oldest first." }),
  })
  .openapi("Withdrawal", {
    example: {
      id: EXAMPLE.withdrawal,
      network: "ethereum",
      asset: "USDC",
      account: EXAMPLE.account,
      destination: EXAMPLE.destination.toLowerCase(),
      amount: "25.5",
      amount_units: "25500000",
      state: "funds_reserved",
      idempotency_key: "payout-17",
      external_id: "payout-17",
      metadata: {},
      tx_id: null,
      fee: null,
      fee_units: null,
      waiting_for: null,
      created_at: "2026-01-31T12:10:00.000Z",
      updated_at: "2026-01-31T12:10:00.000Z",
      transitions: [
        { from: null, to: "request_received", reason: "requested", evidence: null, at: "2026-01-31T12:10:00.000Z" },
        {
          from: "request_received",
          to: "funds_reserved",
          reason: "reserved",
          evidence: null,
          at: "2026-01-31T12:10:00.000Z",
        },
      ],
      attempts: [],
    },
  });

export const Estimate = z
  .object({
    network: z.string().openapi({ description: "The network's id." }),
    asset: z.string().openapi({ description: "The asset's symbol." }),
    destination: z.string().openapi({ description: "Who would be paid, in canonical spelling." }),
    amount: Decimal,
    amount_units: Units,
    fee: Decimal.nullable().openapi({
      description: "What the network would take now, in fee_asset; null: it is out of reach.",
    }),
    max_fee: Decimal.nullable().openapi({
      description: "The most that would be signed, in fee_asset; null: the network is out of reach.",
    }),
    fee_parts: z
      .array(
        z.object({
          kind: z.enum(FEE_KINDS).openapi({
            description:
              "TRON: bandwidth of the transaction's bytes, energy of the token's contract, account of a receiver that does " +
              "not exist yet. Solana: signature, priority, and the rent of a token_account that the receiver does not have yet.",
          }),
          quantity: z.int().nullable().openapi({
            description:
              "Bytes or units of energy that it takes, what stake or the day's free share gives included; null: it is one thing.",
          }),
          fee: Decimal.openapi({ description: "What of it is to be paid for, in fee_asset.", example: "0.345" }),
        }),
      )
      .openapi({ description: "What fee is made of, where the network takes fees of several kinds; empty elsewhere." }),
    fee_asset: z.string().openapi({ description: "The network's coin. Fees are paid by the hot wallet." }),
    accepted: z.boolean().openapi({ description: "Whether the same request would be accepted now." }),
    warning: z.string().nullable().openapi({
      description:
        "What would keep it from being paid at once, such as an empty hot wallet; null: nothing that is known.",
    }),
    needs_approval: z.boolean().openapi({ description: "Whether it would wait for another key's approval." }),
    refusal: z
      .object({
        code: z.string().openapi({ description: "The code that it would be refused with." }),
        detail: z.string().openapi({ description: "The same in words." }),
      })
      .nullable()
      .openapi({ description: "Why it would not be accepted; null: it would be." }),
  })
  .openapi("WithdrawalEstimate", {
    example: {
      network: "ethereum",
      asset: "USDC",
      destination: EXAMPLE.destination.toLowerCase(),
      amount: "25.5",
      amount_units: "25500000",
      fee: "0.00082",
      max_fee: "0.0021",
      fee_parts: [],
      fee_asset: "ETH",
      accepted: true,
      warning: null,
      needs_approval: false,
      refusal: null,
    },
  });

export const WithdrawalPage = pageOf(Withdrawal, "Withdrawal");
export const WithdrawalQuery = z.strictObject({
  network: maybe(NetworkId),
  account: maybe(Account),
  asset: maybe(ListedSymbol),
  state: maybe(State),
  external_id: maybe(line(128).openapi({ description: "Your own id, as you gave it." })),
  idempotency_key: maybe(
    z.string().regex(IDEMPOTENCY_KEY, "expected an Idempotency-Key as it was sent").openapi({
      description: "The Idempotency-Key it was asked for with.",
    }),
  ),
  tx_id: maybe(line(128).openapi({ description: "Hash of any transaction that was signed for it." })),
  limit: Limit,
  cursor: maybe(Cursor),
});
