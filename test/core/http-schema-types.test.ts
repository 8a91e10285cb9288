/** The answers' schemas and the views that objects give are one shape: the compiler checks both ways. */

import type { z } from "@hono/zod-openapi";
import { expect, test } from "vitest";
import type { PoliciesView, WithdrawalRulesView } from "../../src/core/policy-view.ts";
import type {
  AddressView,
  ApiKeyView,
  AssetView,
  BackfillView,
  BalanceView,
  DeliveryView,
  DepositView,
  EndpointView,
  EstimateView,
  EventView,
  LedgerEntryView,
  NetworkView,
  Page,
  ReconciliationView,
  SessionView,
  TenantView,
  WalletView,
  WithdrawalView,
  XpubView,
} from "../../src/core/views.ts";
import type { SignerChoice } from "../../src/objects/api.ts";
import type { Address, AddressPage } from "../../src/schema/address.ts";
import type { ApiKey } from "../../src/schema/api-key.ts";
import type { Asset } from "../../src/schema/asset.ts";
import type { Backfill } from "../../src/schema/backfill.ts";
import type { Deposit } from "../../src/schema/deposit.ts";
import type { Event, EventPage } from "../../src/schema/event.ts";
import type { Balance, LedgerEntry } from "../../src/schema/ledger.ts";
import type { Network } from "../../src/schema/network.ts";
import type { Policies, WithdrawalRulesBody } from "../../src/schema/policy.ts";
import type { Reconciliation } from "../../src/schema/reconciliation.ts";
import type { Session } from "../../src/schema/session.ts";
import type { Tenant } from "../../src/schema/tenant.ts";
import type { SignerBody, Wallet } from "../../src/schema/wallet.ts";
import type { Delivery, Endpoint } from "../../src/schema/webhook-endpoint.ts";
import type { Estimate, Withdrawal } from "../../src/schema/withdrawal.ts";
import type { Xpub, XpubPage } from "../../src/schema/xpub.ts";

/** `true` when each is assignable to the other, with the same fields left out or not. */
type Same<S extends z.ZodType, View> = [z.output<S>] extends [View]
  ? [View] extends [z.output<S>]
    ? true
    : never
  : never;

const same = [
  true satisfies Same<typeof Address, AddressView>,
  true satisfies Same<typeof AddressPage, Page<AddressView>>,
  true satisfies Same<typeof Xpub, XpubView>,
  true satisfies Same<typeof XpubPage, Page<XpubView>>,
  true satisfies Same<typeof ApiKey, ApiKeyView>,
  true satisfies Same<typeof Asset, AssetView>,
  true satisfies Same<typeof Backfill, BackfillView>,
  true satisfies Same<typeof Balance, BalanceView>,
  true satisfies Same<typeof Delivery, DeliveryView>,
  true satisfies Same<typeof Deposit, DepositView>,
  true satisfies Same<typeof Endpoint, EndpointView>,
  true satisfies Same<typeof Event, EventView>,
  true satisfies Same<typeof EventPage, Page<EventView>>,
  true satisfies Same<typeof LedgerEntry, LedgerEntryView>,
  true satisfies Same<typeof Network, NetworkView>,
  true satisfies Same<typeof Policies, PoliciesView>,
  true satisfies Same<typeof Reconciliation, ReconciliationView>,
  true satisfies Same<typeof Session, SessionView>,
  true satisfies Same<typeof SignerBody, SignerChoice>,
  true satisfies Same<typeof Tenant, TenantView>,
  true satisfies Same<typeof Wallet, WalletView>,
  true satisfies Same<typeof Withdrawal, WithdrawalView>,
  true satisfies Same<typeof Estimate, EstimateView>,
  true satisfies Same<typeof WithdrawalRulesBody, WithdrawalRulesView>,
];

// @ts-expect-error a view with one field more is not the same
true satisfies Same<typeof Tenant, TenantView & { more: string }>;
// @ts-expect-error nor is one with a field less
true satisfies Same<typeof Tenant, Omit<TenantView, "name">>;

test("schemas and views are one shape (the compiler has checked it)", () => {
  expect(same).not.toContain(false);
});
