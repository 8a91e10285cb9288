/**
 * The shapes that go over the wire, under the names that a merchant's program uses. Answers are the service's
 * own views; requests are written out here, with what may be left out marked so. Both are held equal to the
 * service's schemas by a test.
 */

import type { AuditedCall } from "../core/audit-entry.ts";
import type { AddressType } from "../core/extended-key.ts";
import type { TenantIncidentKind } from "../core/incident.ts";
import type {
  BalanceView,
  DepositStatus,
  DepositView,
  EndpointView,
  EventType,
  IncidentView,
  Page,
  Scope,
  SignatureScheme,
  WithdrawalView,
} from "../core/views.ts";
import type { ConfirmationRule } from "../core/watcher.ts";
import type { WithdrawalState } from "../core/withdrawal.ts";

export type { FeeKind } from "../core/fee-kind.ts";
export type { TenantIncidentKind as IncidentKind } from "../core/incident.ts";
export type { PoliciesView as Policies, WithdrawalRulesView as WithdrawalRules } from "../core/policy-view.ts";
export type {
  AddressView as Address,
  ApiKeyView as ApiKey,
  AssetView as Asset,
  AuditEntryView as AuditEntry,
  BackfillView as Backfill,
  BalanceView as Balance,
  DeliveryAttemptView as DeliveryAttempt,
  DeliveryView as Delivery,
  DepositView as Deposit,
  DifferenceView as Difference,
  EndpointView as WebhookEndpoint,
  EstimateView as WithdrawalEstimate,
  FeePartView as FeePart,
  IncidentView as Incident,
  LedgerEntryView as LedgerEntry,
  NetworkView as Network,
  ReconciliationView as Reconciliation,
  SessionView as Session,
  TenantView as Tenant,
  WalletView as Wallet,
  WithdrawalAttemptView as WithdrawalAttempt,
  WithdrawalTransitionView as WithdrawalTransition,
  WithdrawalView as Withdrawal,
  XpubView as Xpub,
} from "../core/views.ts";
export type {
  AddressType,
  AuditedCall,
  ConfirmationRule,
  DepositStatus,
  EventType,
  Page,
  Scope,
  SignatureScheme,
  WithdrawalState,
};

// ---- events -----------------------------------------------------------------------------------

/** What an event carries: the whole object as it stood when the event was written. */
export interface EventData {
  "deposit.pending": DepositView;
  "deposit.dropped": DepositView;
  "deposit.confirmed": DepositView;
  "deposit.reverted": DepositView;
  "deposit.settled": DepositView;
  "withdrawal.updated": WithdrawalView;
  "account.debt_opened": BalanceView;
  "account.debt_cleared": BalanceView;
  "network.halted": NetworkIncident;
  "network.resumed": NetworkIncident;
  "endpoint.disabled": EndpointView;
  "webhook.test": WebhookTest;
  "incident.opened": IncidentView;
  "incident.closed": IncidentView;
}

/** An event of one type. */
export interface EventOf<Type extends EventType> {
  id: string;
  type: Type;
  api_version: string;
  /** Without a gap, over all your events. */
  sequence: number;
  /** What it is about: a deposit's or a withdrawal's id, `account:...`, `network:...`. */
  subject: string;
  /** Without a gap, over the events of its subject. */
  subject_sequence: number;
  created_at: string;
  data: EventData[Type];
}

/**
 * Every event there is, to be told apart by `type`. A newer service may send types that are not listed here:
 * acknowledge and ignore what you do not know.
 */
export type SluiceEvent = { [Type in EventType]: EventOf<Type> }[EventType];

export interface NetworkIncident {
  network: string;
  reason: string;
  height: number | null;
}

export interface WebhookTest {
  endpoint_id: string;
  message: string;
}

// ---- requests ---------------------------------------------------------------------------------

export interface SignUp {
  name: string;
  email?: string | null | undefined;
}

export interface NewApiKey {
  name: string;
  scopes: Scope[];
  /** RFC 3339. null: never. */
  expires_at?: string | null | undefined;
}

export interface Overlap {
  /** How long the old secret stays valid beside the new one. 86,400 when left out, 604,800 at most. */
  overlap_seconds?: number | undefined;
}

export interface NewAsset {
  network: string;
  contract: string;
  /** Left out: the token's own. */
  symbol?: string | null | undefined;
}

interface AddressDetails {
  network: string;
  /** Your own name of the customer; `default` when left out. */
  account?: string | undefined;
  label?: string | null | undefined;
  metadata?: Record<string, string> | undefined;
}

/** An address of yours, or the next one below an extended public key: exactly one of the two. */
export type NewAddress = AddressDetails &
  (
    | {
        address: string;
        xpub_id?: never;
        /** Read from this height on, by way of a backfill. Left out: from the next block on. */
        start_height?: number | null | undefined;
      }
    | { xpub_id: string; address?: never; start_height?: never }
  );

export interface NewXpub {
  network: string;
  /** The account's extended PUBLIC key, such as `zpub...`. Private keys are refused. */
  xpub: string;
  /** Which addresses your wallet makes. Needed where the key does not say it: xpub and tpub on Bitcoin networks. */
  type?: AddressType | undefined;
  label?: string | null | undefined;
  /** The first index to hand out; 0 when left out. */
  next_index?: number | undefined;
}

export interface NewBackfill {
  network: string;
  from_height: number;
  to_height: number;
}

export interface NewWithdrawal {
  network: string;
  /** Symbol. */
  asset: string;
  destination: string;
  /** Decimal string in the asset's unit: `"1.5"`. Numbers are refused. */
  amount: string;
  /** `default` when left out. */
  account?: string | undefined;
  /** Your own id of it. Need not be unique: `idempotencyKey` is what keeps it from being paid twice. */
  external_id?: string | null | undefined;
  metadata?: Record<string, string> | undefined;
}

export interface Rejection {
  reason?: string | null | undefined;
}

export interface Resolution {
  outcome: "confirmed" | "failed";
  /** What shows it: a transaction id, or what was looked at and found. */
  evidence: string;
}

export interface SignerChoice {
  /** `derived`: from the service's own seed. `remote`: a Web3Signer of yours, asked for each signature. */
  type: "derived" | "remote";
  url?: string;
  /** The address that the remote signer signs for. */
  address?: string;
  /** Sent to the remote signer as a bearer token, never shown again. */
  token?: string | null | undefined;
}

export interface NewWebhookEndpoint {
  url: string;
  /** null or left out: every type but `deposit.pending` and `deposit.dropped`. */
  events?: EventType[] | null | undefined;
  description?: string | null | undefined;
  /** For good. `v1` when left out: a secret that you keep. `v1a`: verified with `public_key`, nothing to keep. */
  signature?: SignatureScheme | undefined;
}

/** What is left out stays as it is. */
export interface WebhookEndpointPatch {
  url?: string;
  events?: EventType[] | null;
  description?: string | null;
}

/** Exactly one of the two. */
export type Replay = { after_sequence: number; since?: never } | { since: string; after_sequence?: never };

export interface Replayed {
  from_sequence: number;
  to_sequence: number;
}

/** Replaces the rules of one network. */
export interface NewConfirmationRules {
  /** null or left out: the network's own. */
  default?: ConfirmationRule | null | undefined;
  /** By asset symbol. */
  assets?:
    | Record<
        string,
        {
          default?: ConfirmationRule | null | undefined;
          /** From this amount on. The largest `from` not above the amount decides. */
          amounts?: readonly { from: string; confirmations: ConfirmationRule }[] | undefined;
        }
      >
    | undefined;
}

/** Replaces all of them. What is stricter holds at once, what is looser after the cool-down. */
export interface NewWithdrawalRules {
  /** 86,400 when left out. */
  cool_down_seconds?: number | undefined;
  /** null or left out: any destination. Empty: none. */
  allow_list?: { network: string; address: string }[] | null | undefined;
  limits?:
    | {
        network: string;
        asset: string;
        per_withdrawal?: string | null | undefined;
        /** Of the last 24 hours together. */
        per_day?: string | null | undefined;
      }[]
    | undefined;
  /** From above this amount on, another key must approve. */
  approvals?: { network: string; asset: string; above: string }[] | undefined;
}

// ---- what lists are narrowed by ---------------------------------------------------------------

export interface Paged {
  /** Rows of one page, 1 to 200; 50 when left out. */
  limit?: number | undefined;
}

export interface AssetFilter extends Paged {
  network?: string | undefined;
}

export interface AddressFilter extends Paged {
  network?: string | undefined;
  account?: string | undefined;
}

export interface DepositFilter extends Paged {
  network?: string | undefined;
  account?: string | undefined;
  address?: string | undefined;
  asset?: string | undefined;
  status?: DepositStatus | undefined;
  tx_id?: string | undefined;
}

export interface LedgerFilter extends Paged {
  account?: string | undefined;
  asset?: string | undefined;
  network?: string | undefined;
}

export interface WithdrawalFilter extends Paged {
  network?: string | undefined;
  account?: string | undefined;
  asset?: string | undefined;
  state?: WithdrawalState | undefined;
  external_id?: string | undefined;
  idempotency_key?: string | undefined;
  tx_id?: string | undefined;
}

export interface IncidentFilter extends Paged {
  status?: "open" | "closed" | undefined;
  kind?: TenantIncidentKind | undefined;
  network?: string | undefined;
}

export interface DeliveryFilter extends Paged {
  status?: "pending" | "delivered" | "given_up" | undefined;
}

export interface AuditFilter extends Paged {
  /** The last sequence you have. Left out: from the first entry on. */
  after?: number | undefined;
  /** By its operationId: `approveWithdrawal`, say. */
  call?: AuditedCall | undefined;
  api_key_id?: string | undefined;
}

export interface EventFilter extends Paged {
  /** The last sequence you have. Left out: from the first event on. */
  after?: number | undefined;
  types?: readonly EventType[] | undefined;
  /** Events about this alone: a deposit's id, say. */
  subject?: string | undefined;
}
