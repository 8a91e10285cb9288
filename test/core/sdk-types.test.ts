/** What the SDK takes and gives is what the service's schemas say: the compiler checks both ways. */

import type { z } from "@hono/zod-openapi";
import { expect, test } from "vitest";
import type { EventType as ServiceEventType } from "../../src/core/views.ts";
import type { NetworkNotice } from "../../src/objects/api.ts";
import type { AddressPage, AddressQuery, NewAddressBody } from "../../src/schema/address.ts";
import type { ApiKeyPage, NewApiKeyBody } from "../../src/schema/api-key.ts";
import type { AssetPage, AssetQuery, NewAssetBody } from "../../src/schema/asset.ts";
import type { Backfill, NewBackfillBody } from "../../src/schema/backfill.ts";
import type { DepositPage, DepositQuery } from "../../src/schema/deposit.ts";
import type { Event, EventQuery } from "../../src/schema/event.ts";
import type { Overlap } from "../../src/schema/fields.ts";
import type { BalancePage, LedgerEntryPage, LedgerQuery } from "../../src/schema/ledger.ts";
import type { NetworkPage } from "../../src/schema/network.ts";
import type { ConfirmationRulesBody, Policies, WithdrawalRulesBody } from "../../src/schema/policy.ts";
import type { Problem } from "../../src/schema/problem.ts";
import type { Reconciliation } from "../../src/schema/reconciliation.ts";
import type { Session } from "../../src/schema/session.ts";
import type { SignedUp, SignUpBody, Tenant } from "../../src/schema/tenant.ts";
import type { SignerBody, WalletPage } from "../../src/schema/wallet.ts";
import type {
  Delivery,
  DeliveryPage,
  DeliveryQuery,
  Endpoint,
  EndpointPage,
  EndpointPatchBody,
  NewEndpointBody,
  ReplayBody,
  Replayed,
} from "../../src/schema/webhook-endpoint.ts";
import type {
  Estimate,
  NewWithdrawalBody,
  RejectBody,
  ResolveBody,
  Withdrawal,
  WithdrawalPage,
  WithdrawalQuery,
} from "../../src/schema/withdrawal.ts";
import type { NewXpubBody, Xpub, XpubPage } from "../../src/schema/xpub.ts";
import type { AnswerCode, EventOf, FieldProblem, Page, Sluice, SluiceEvent } from "../../src/sdk/index.ts";

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/** The fields that may be left out. */
type Optional<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T];
/** Left out or undefined is one thing to whoever writes JSON. */
type Written<T> = { [K in keyof T]-?: Exclude<T[K], undefined> };
/** One set of fields, of one type each, with the same ones left out. */
type SameFields<A, B> = [Same<Written<A>, Written<B>>, Same<Optional<A>, Optional<B>>] extends [true, true]
  ? true
  : false;

type Method<Calls extends keyof Sluice, Name extends keyof Sluice[Calls]> = Sluice[Calls][Name] extends (
  ...given: infer Given
) => infer Back
  ? { given: Given; back: Back }
  : never;
type Back<C extends keyof Sluice, N extends keyof Sluice[C]> = Awaited<Method<C, N>["back"]>;
type Row<C extends keyof Sluice, N extends keyof Sluice[C]> =
  Method<C, N>["back"] extends AsyncIterable<infer T> ? T : never;

/** An answer of one object. */
type Gives<S extends z.ZodType, C extends keyof Sluice, N extends keyof Sluice[C]> = Same<z.output<S>, Back<C, N>>;
/** An answer of a page. */
type Lists<S extends z.ZodType, C extends keyof Sluice, N extends keyof Sluice[C]> = Same<z.output<S>, Page<Row<C, N>>>;
/** A body, in the place of an argument. */
type Takes<S extends z.ZodType, C extends keyof Sluice, N extends keyof Sluice[C], At extends number = 0> = SameFields<
  z.input<S>,
  NonNullable<Method<C, N>["given"][At]>
>;
/** A query. Page size and cursor go over the wire as text, and are of the list's own making. */
type Narrows<
  S extends z.ZodType,
  C extends keyof Sluice,
  N extends keyof Sluice[C],
  At extends number = 0,
> = SameFields<Omit<z.output<S>, "limit" | "cursor">, Omit<NonNullable<Method<C, N>["given"][At]>, "limit">>;

const answers = [
  true satisfies Gives<typeof SignedUp, "tenants", "create">,
  true satisfies Gives<typeof Tenant, "tenant", "get">,
  true satisfies Lists<typeof ApiKeyPage, "apiKeys", "list">,
  true satisfies Same<Back<"apiKeys", "create">, Row<"apiKeys", "list">>,
  true satisfies Same<Back<"apiKeys", "rotate">, Row<"apiKeys", "list">>,
  true satisfies Gives<typeof Session, "session", "create">,
  true satisfies Gives<typeof Session, "session", "get">,
  true satisfies Lists<typeof NetworkPage, "networks", "list">,
  true satisfies Lists<typeof AssetPage, "assets", "list">,
  true satisfies Same<Back<"assets", "create">, Row<"assets", "list">>,
  true satisfies Lists<typeof AddressPage, "addresses", "list">,
  true satisfies Same<Back<"addresses", "create">, Row<"addresses", "list">>,
  true satisfies Same<Back<"addresses", "get">, Row<"addresses", "list">>,
  true satisfies Lists<typeof XpubPage, "xpubs", "list">,
  true satisfies Gives<typeof Xpub, "xpubs", "create">,
  true satisfies Gives<typeof Xpub, "xpubs", "get">,
  true satisfies Lists<typeof DepositPage, "deposits", "list">,
  true satisfies Same<Back<"deposits", "get">, Row<"deposits", "list">>,
  true satisfies Lists<typeof BalancePage, "balances", "list">,
  true satisfies Lists<typeof LedgerEntryPage, "ledgerEntries", "list">,
  true satisfies Lists<typeof WithdrawalPage, "withdrawals", "list">,
  true satisfies Gives<typeof Withdrawal, "withdrawals", "create">,
  true satisfies Gives<typeof Withdrawal, "withdrawals", "get">,
  true satisfies Gives<typeof Withdrawal, "withdrawals", "cancel">,
  true satisfies Gives<typeof Withdrawal, "withdrawals", "approve">,
  true satisfies Gives<typeof Withdrawal, "withdrawals", "reject">,
  true satisfies Gives<typeof Withdrawal, "withdrawals", "speedUp">,
  true satisfies Gives<typeof Withdrawal, "withdrawals", "resolve">,
  true satisfies Gives<typeof Estimate, "withdrawals", "estimate">,
  true satisfies Lists<typeof WalletPage, "wallets", "list">,
  true satisfies Same<Back<"wallets", "chooseSigner">, Row<"wallets", "list">>,
  true satisfies Same<Back<"wallets", "resume">, Row<"wallets", "list">>,
  true satisfies Gives<typeof Policies, "policies", "get">,
  true satisfies Gives<typeof Policies, "policies", "setConfirmations">,
  true satisfies Gives<typeof Policies, "policies", "setWithdrawals">,
  true satisfies Lists<typeof EndpointPage, "webhookEndpoints", "list">,
  true satisfies Gives<typeof Endpoint, "webhookEndpoints", "create">,
  true satisfies Gives<typeof Endpoint, "webhookEndpoints", "get">,
  true satisfies Gives<typeof Endpoint, "webhookEndpoints", "update">,
  true satisfies Gives<typeof Endpoint, "webhookEndpoints", "rotateSecret">,
  true satisfies Gives<typeof Endpoint, "webhookEndpoints", "enable">,
  true satisfies Gives<typeof Endpoint, "webhookEndpoints", "disable">,
  true satisfies Gives<typeof Delivery, "webhookEndpoints", "resend">,
  true satisfies Gives<typeof Replayed, "webhookEndpoints", "replay">,
  true satisfies Lists<typeof DeliveryPage, "webhookEndpoints", "deliveries">,
  true satisfies Gives<typeof Backfill, "backfills", "create">,
  true satisfies Gives<typeof Backfill, "backfills", "get">,
  true satisfies Gives<typeof Reconciliation, "reconciliation", "get">,
  true satisfies Gives<typeof Reconciliation, "reconciliation", "run">,
];

const requests = [
  true satisfies Takes<typeof SignUpBody, "tenants", "create">,
  true satisfies Takes<typeof NewApiKeyBody, "apiKeys", "create">,
  true satisfies Takes<typeof Overlap, "apiKeys", "rotate", 1>,
  true satisfies Takes<typeof NewAssetBody, "assets", "create">,
  true satisfies Narrows<typeof AssetQuery, "assets", "list">,
  // An address or a key below which it is made, where the schema asks in words.
  true satisfies Same<keyof z.input<typeof NewAddressBody>, keyof Method<"addresses", "create">["given"][0]>,
  true satisfies SameFields<
    Omit<z.input<typeof NewAddressBody>, "address" | "xpub_id" | "start_height">,
    Omit<Method<"addresses", "create">["given"][0], "address" | "xpub_id" | "start_height">
  >,
  true satisfies Takes<typeof NewXpubBody, "xpubs", "create">,
  true satisfies Narrows<typeof AddressQuery, "addresses", "list">,
  true satisfies Narrows<typeof DepositQuery, "deposits", "list">,
  true satisfies Narrows<typeof LedgerQuery, "balances", "list">,
  true satisfies Narrows<typeof LedgerQuery, "ledgerEntries", "list">,
  true satisfies Takes<typeof NewWithdrawalBody, "withdrawals", "create">,
  true satisfies Takes<typeof NewWithdrawalBody, "withdrawals", "estimate">,
  true satisfies Takes<typeof RejectBody, "withdrawals", "reject", 1>,
  true satisfies Takes<typeof ResolveBody, "withdrawals", "resolve", 1>,
  true satisfies Narrows<typeof WithdrawalQuery, "withdrawals", "list">,
  true satisfies Takes<typeof SignerBody, "wallets", "chooseSigner", 1>,
  true satisfies Takes<typeof ConfirmationRulesBody, "policies", "setConfirmations", 1>,
  true satisfies Takes<typeof WithdrawalRulesBody, "policies", "setWithdrawals">,
  true satisfies Takes<typeof NewEndpointBody, "webhookEndpoints", "create">,
  true satisfies Takes<typeof EndpointPatchBody, "webhookEndpoints", "update", 1>,
  true satisfies Takes<typeof Overlap, "webhookEndpoints", "rotateSecret", 1>,
  true satisfies Narrows<typeof DeliveryQuery, "webhookEndpoints", "deliveries", 1>,
  true satisfies Takes<typeof NewBackfillBody, "backfills", "create">,
  // Either of the two, where the schema asks in words.
  true satisfies Same<keyof z.input<typeof ReplayBody>, keyof Method<"webhookEndpoints", "replay">["given"][1]>,
  true satisfies Same<Omit<SchemaFilter, "wait">, Omit<NonNullable<Method<"events", "list">["given"][0]>, "limit">>,
];

type SchemaFilter = {
  [K in "after" | "types"]?: Readonly<z.output<typeof EventQuery>[K]> | undefined;
};

const events = [
  true satisfies Same<SluiceEvent["type"], ServiceEventType>,
  true satisfies Same<z.output<typeof Event>, Omit<SluiceEvent, "data"> & { data: object }>,
  true satisfies Same<Extract<SluiceEvent, { type: "network.halted" }>["data"], NetworkNotice["data"]>,
  true satisfies Same<Extract<SluiceEvent, { type: "deposit.settled" }>["data"], Row<"deposits", "list">>,
  true satisfies Same<Extract<SluiceEvent, { type: "withdrawal.updated" }>["data"], Row<"withdrawals", "list">>,
  true satisfies Same<Extract<SluiceEvent, { type: "account.debt_opened" }>["data"], Row<"balances", "list">>,
  true satisfies Same<Back<"events", "get">, SluiceEvent>,
  true satisfies Same<Back<"webhookEndpoints", "test">, SluiceEvent>,
];

const problems = [
  true satisfies Same<z.output<typeof Problem>["code"], AnswerCode>,
  true satisfies Same<NonNullable<z.output<typeof Problem>["errors"]>, Written<FieldProblem>[]>,
];

// @ts-expect-error one field more
true satisfies SameFields<{ a: string }, { a: string; b: string }>;
// @ts-expect-error one that may be left out
true satisfies SameFields<{ a: string }, { a?: string }>;
// @ts-expect-error another type
true satisfies SameFields<{ a?: string }, { a?: number }>;
// @ts-expect-error a discriminated union is no union of everything
true satisfies Same<EventOf<"webhook.test">, SluiceEvent>;

declare const sluice: Sluice;
const payout = { network: "local", asset: "ETH", destination: "0x0", amount: "1" };
/** Never run: the compiler is the test. */
const refusedByTypes = [
  // @ts-expect-error a withdrawal needs a key that the caller has stored
  () => sluice.withdrawals.create(payout),
  // @ts-expect-error so it does when other options are given
  () => sluice.withdrawals.create(payout, { timeoutMs: 1 }),
  // @ts-expect-error an amount is text
  () => sluice.withdrawals.create({ ...payout, amount: 1 }, { idempotencyKey: "k" }),
  // @ts-expect-error an address is given or derived
  () => sluice.addresses.create({ network: "local", address: "0x0", xpub_id: "xpub_1" }),
  // @ts-expect-error neither
  () => sluice.addresses.create({ network: "local" }),
  // @ts-expect-error a derived address has no past
  () => sluice.addresses.create({ network: "local", xpub_id: "xpub_1", start_height: 1 }),
  // @ts-expect-error a replay begins at one place
  () => sluice.webhookEndpoints.replay("we_1", { after_sequence: 1, since: "2026-01-01T00:00:00Z" }),
];

test("the SDK's types are the schemas' (the compiler has checked it)", () => {
  for (const checked of [answers, requests, events, problems]) expect(checked).not.toContain(false);
  expect(refusedByTypes).toHaveLength(7);
});
