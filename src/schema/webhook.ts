/** What a webhook carries: the event of each type with its own `data`. */

import { z } from "@hono/zod-openapi";
import { EVENT_TYPES, type EventType } from "../core/views.ts";
import { DEPOSIT_EXAMPLE, Deposit } from "./deposit.ts";
import { Event } from "./event.ts";
import { EXAMPLE } from "./examples.ts";
import { INCIDENT_EXAMPLE, IncidentSchema } from "./incident.ts";
import { BALANCE_EXAMPLE, Balance } from "./ledger.ts";
import { ENDPOINT_EXAMPLE, Endpoint } from "./webhook-endpoint.ts";
import { Withdrawal } from "./withdrawal.ts";

export const NetworkNotice = z
  .object({
    network: z.string().openapi({ description: "The network's id." }),
    reason: z.string().openapi({ description: "What was seen, in words." }),
    height: z.int().nullable().openapi({ description: "The block height it concerns; null: none." }),
  })
  .openapi("NetworkNotice", {
    example: { network: "ethereum", reason: "The chain was replaced below the window.", height: 20_999_905 },
  });

export const TestNotice = z
  .object({
    endpoint_id: z.string().openapi({ description: "The endpoint that is tested." }),
    message: z.string().openapi({ description: "A text for people." }),
  })
  .openapi("TestNotice", { example: { endpoint_id: EXAMPLE.endpoint, message: "A test event." } });

/** The whole object as it stood when the event was written. */
const DATA = {
  "deposit.pending": Deposit,
  "deposit.dropped": Deposit,
  "deposit.confirmed": Deposit,
  "deposit.reverted": Deposit,
  "deposit.settled": Deposit,
  "withdrawal.updated": Withdrawal,
  "account.debt_opened": Balance,
  "account.debt_cleared": Balance,
  "network.halted": NetworkNotice,
  "network.resumed": NetworkNotice,
  "endpoint.disabled": Endpoint,
  "webhook.test": TestNotice,
  "incident.opened": IncidentSchema,
  "incident.closed": IncidentSchema,
} as const satisfies Readonly<Record<EventType, z.ZodType>>;

const MEANING: Readonly<Record<EventType, string>> = {
  "deposit.pending":
    "A payment to a watched address is in a block, not yet deep enough; or, where the network tells of it, it waits to " +
    "be mined, and its block_height is null. Sent only to endpoints that name it.",
  "deposit.dropped":
    "The block of a pending payment was replaced, or another transaction took its place before it was mined. Nothing " +
    "was credited. Sent only to endpoints that name it.",
  "deposit.confirmed": "The payment is deep enough and credited to the account's available balance.",
  "deposit.reverted":
    "The block of a confirmed payment was replaced, and the credit is taken back. It may be confirmed again.",
  "deposit.settled": "A confirmed payment is too deep to be reorganised. The last event of a deposit.",
  "withdrawal.updated":
    "The state of a withdrawal changed: data.state is the new one, the last of data.transitions says why.",
  "account.debt_opened": "A deposit was taken back that had been paid out: the account owes, and pays nothing out.",
  "account.debt_cleared": "The account owes nothing any more and may pay out again.",
  "network.halted":
    "A reorganisation was deeper than what is kept. Nothing is credited or paid on the network until a person has looked.",
  "network.resumed": "The network goes on.",
  "endpoint.disabled":
    "Nothing is sent to a webhook endpoint any more: it answered 410, failed for five days, or you asked for it. Its " +
    "events wait until you enable it.",
  "webhook.test": "A test that you asked for. Sent to its endpoint alone.",
  "incident.opened":
    "Something that a person should look at: data.summary says what, data.evidence what shows it, data.runbook what to do. " +
    "A halted network is told by network.halted alone.",
  "incident.closed": "It has been well for long enough. Should it come back, it is another incident.",
};

/** Where an example of its kind would not be true of the type. */
const DIFFERING: Readonly<Partial<Record<EventType, { readonly subject?: string; readonly data?: object }>>> = {
  "deposit.pending": {
    data: { ...DEPOSIT_EXAMPLE, status: "pending", epoch: 0, confirmations: 1, confirmed_at: null },
  },
  "deposit.dropped": {
    data: { ...DEPOSIT_EXAMPLE, status: "dropped", epoch: 0, confirmations: 0, confirmed_at: null },
  },
  "deposit.reverted": {
    data: { ...DEPOSIT_EXAMPLE, status: "reverted", confirmations: 0, reverted_at: "2026-01-31T12:09:12.000Z" },
  },
  "deposit.settled": {
    data: { ...DEPOSIT_EXAMPLE, status: "settled", confirmations: 64, settled_at: "2026-01-31T12:21:12.000Z" },
  },
  "withdrawal.updated": { subject: EXAMPLE.withdrawal },
  "account.debt_opened": {
    subject: `account:${EXAMPLE.account}`,
    data: { ...BALANCE_EXAMPLE, available: "0", debt: "12.5" },
  },
  "account.debt_cleared": { subject: `account:${EXAMPLE.account}` },
  "network.halted": { subject: "network:ethereum" },
  "network.resumed": {
    subject: "network:ethereum",
    data: { network: "ethereum", reason: "Reading goes on from height 20999905.", height: 20_999_905 },
  },
  "endpoint.disabled": {
    subject: `endpoint:${EXAMPLE.endpoint}`,
    data: {
      ...ENDPOINT_EXAMPLE,
      status: "disabled",
      disabled_reason: "gone",
      disabled_at: "2026-01-31T12:08:36.000Z",
    },
  },
  "webhook.test": { subject: `endpoint:${EXAMPLE.endpoint}` },
  "incident.opened": { subject: EXAMPLE.incident },
  "incident.closed": {
    subject: EXAMPLE.incident,
    data: { ...INCIDENT_EXAMPLE, status: "closed", closed_at: "2026-01-31T12:31:00.000Z" },
  },
};

/** One for each type: the envelope with its `type` and its `data`. `differing`: what its example has otherwise. */
export const WEBHOOK_EVENTS = EVENT_TYPES.map((type) => ({
  type,
  meaning: MEANING[type],
  differing: DIFFERING[type] ?? {},
  schema: z
    .object({ ...Event.shape, type: z.literal(type).openapi({ description: "What happened." }), data: DATA[type] })
    .openapi(componentName(type)),
}));

/** `deposit.confirmed` is `DepositConfirmedEvent`. */
function componentName(type: EventType): string {
  return `${type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`;
}
