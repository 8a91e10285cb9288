/**
 * What the three objects offer to each other and to the HTTP layer: types only.
 *
 * Every method may be repeated: it takes ids derived or given by the caller, and a second call with the
 * same arguments has no second effect. Refusals are data; a thrown error means the outcome is unknown.
 */

import type { AddressType } from "../core/extended-key.ts";
import type { TenantIncidentKind } from "../core/incident.ts";
import type { ConfirmationRules } from "../core/policy.ts";
import type { PoliciesView, WithdrawalRulesView } from "../core/policy-view.ts";
import type { Outcome, Refusal } from "../core/refusal.ts";
import type { Transfer, TransferKey } from "../core/transfer.ts";
import type {
  AddressView,
  ApiKeyView,
  AssetView,
  AuditEntryView,
  BackfillView,
  BalanceView,
  DeliveryView,
  DepositStatus,
  DepositView,
  EndpointView,
  EstimateView,
  EventType,
  EventView,
  IncidentView,
  LedgerEntryView,
  Page,
  PageRequest,
  ReconciliationView,
  Scope,
  SessionView,
  SignatureScheme,
  TenantView,
  WalletView,
  WithdrawalView,
  XpubView,
} from "../core/views.ts";
import type { DisabledReason } from "../core/webhook-schedule.ts";
import type { WithdrawalState } from "../core/withdrawal.ts";
import type { Report } from "./monitor-api.ts";

export type { PageRequest } from "../core/views.ts";

// ---- tenant: called by HTTP -------------------------------------------------------------------

/** Who calls, as the edge established it: the token's checksum is valid, nothing else is known yet. */
export type Caller = KeyCaller | SessionCaller;

export interface KeyCaller {
  readonly tenantId: string;
  /** Hex HMAC-SHA256 of the whole key under the pepper; the object finds the key by it. */
  readonly keyHash: string;
  readonly requestId: string;
  readonly client?: Client;
}

/** Where a request comes from, as the platform that took it says; for the audit log. */
export interface Client {
  /** null: the platform names none. */
  readonly address: string | null;
  /** What it calls itself: printable ASCII, bounded. Anybody can say anything. */
  readonly userAgent: string | null;
}

/** A browser that signed in with a key: the object finds the session by the hash of its token, and by it the key. */
export interface SessionCaller {
  readonly tenantId: string;
  readonly sessionHash: string;
  readonly requestId: string;
  readonly client?: Client;
}

/** `Idempotency-Key` of a POST with the fingerprint of what the request means, or null when none was sent. */
export type Idempotency = { readonly key: string; readonly fingerprint: string } | null;

export interface RateState {
  /** Requests per window, what is left, and seconds until it is whole again. */
  readonly limit: number;
  readonly windowS: number;
  readonly remaining: number;
  readonly resetS: number;
  /** Whose requests are counted. */
  readonly keyId?: string;
}

/** `rate` is null when the key itself was refused. */
export type Answer<T> =
  | {
      readonly ok: true;
      readonly value: T;
      readonly rate: RateState;
      readonly created: boolean;
      readonly replayed: boolean;
    }
  | { readonly ok: false; readonly refusal: Refusal; readonly rate: RateState | null };

export interface SignUp {
  readonly requestId: string;
  readonly client?: Client;
  readonly tenant: { readonly id: string; readonly name: string; readonly email: string | null };
  readonly key: { readonly id: string; readonly hash: string; readonly scopes: readonly Scope[] };
  readonly now: number;
}

export interface NewKey {
  readonly id: string;
  readonly hash: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: number | null;
}

/** As the caller wrote it; the object knows the network's spelling of addresses and amounts. */
export interface NewWithdrawal {
  readonly network: string;
  /** Symbol. */
  readonly asset: string;
  readonly destination: string;
  readonly amount: string;
  readonly account: string;
  readonly externalId: string | null;
  readonly metadata: Record<string, string>;
}

export interface IncidentFilter {
  readonly status?: "open" | "closed";
  readonly kind?: TenantIncidentKind;
  readonly network?: string;
}

export interface WithdrawalFilter {
  readonly network?: string;
  readonly account?: string;
  readonly asset?: string;
  readonly state?: WithdrawalState;
  readonly external_id?: string;
  readonly idempotency_key?: string;
  readonly tx_id?: string;
}

export type SignerChoice =
  | { readonly type: "derived" }
  /** `token`: sent as a bearer token, never shown again. */
  | { readonly type: "remote"; readonly url: string; readonly address: string; readonly token: string | null };

export interface DepositFilter {
  readonly network?: string;
  readonly account?: string;
  readonly address?: string;
  readonly asset?: string;
  readonly status?: DepositStatus;
  readonly tx_id?: string;
}

/** `after`: strictly after this sequence. */
export interface AuditFilter {
  readonly after: number;
  readonly call: string | null;
  readonly keyId: string | null;
}

export interface TenantApi {
  signUp(input: SignUp): Promise<{ tenant: TenantView; key: ApiKeyView }>;

  getTenant(caller: Caller): Promise<Answer<TenantView>>;
  createApiKey(caller: Caller, key: NewKey, idempotency: Idempotency): Promise<Answer<ApiKeyView>>;
  listApiKeys(caller: Caller, page: PageRequest): Promise<Answer<Page<ApiKeyView>>>;
  revokeApiKey(caller: Caller, id: string): Promise<Answer<null>>;
  /** The old key ends after `overlapS`. `key` carries the new id and hash; name, scopes and expiry are the old key's. */
  rotateApiKey(
    caller: Caller,
    id: string,
    key: { readonly id: string; readonly hash: string },
    overlapS: number,
    idempotency: Idempotency,
  ): Promise<Answer<ApiKeyView>>;

  /** Signs in: the token of this hash opens what the key opens, until it ends or the key does. */
  createSession(caller: KeyCaller, hash: string): Promise<Answer<SessionView>>;
  getSession(caller: SessionCaller): Promise<Answer<SessionView>>;
  /** Signs out, whatever state the session or its key is in. Holds from its commit on. */
  endSession(caller: SessionCaller): Promise<void>;

  /** Authenticates and gives what is the tenant's own on every network: its tokens and its count of duplicates. */
  networkFacts(caller: Caller): Promise<Answer<{ assets: AssetView[]; duplicatesMet: Record<string, number> }>>;
  createAsset(
    caller: Caller,
    input: { readonly network: string; readonly contract: string; readonly symbol: string | null },
    idempotency: Idempotency,
  ): Promise<Answer<AssetView>>;
  listAssets(caller: Caller, network: string | null): Promise<Answer<Page<AssetView>>>;

  createAddress(
    caller: Caller,
    input: {
      readonly network: string;
      readonly address: string;
      readonly account: string;
      readonly label: string | null;
      readonly metadata: Record<string, string>;
      readonly startHeight: number | null;
    },
    idempotency: Idempotency,
  ): Promise<Answer<AddressView>>;
  /** The next address below an extended public key, each one once. */
  deriveAddress(
    caller: Caller,
    input: {
      readonly network: string;
      readonly xpubId: string;
      readonly account: string;
      readonly label: string | null;
      readonly metadata: Record<string, string>;
    },
    idempotency: Idempotency,
  ): Promise<Answer<AddressView>>;
  listAddresses(
    caller: Caller,
    filter: { readonly network?: string; readonly account?: string },
    page: PageRequest,
  ): Promise<Answer<Page<AddressView>>>;
  getAddress(caller: Caller, id: string): Promise<Answer<AddressView>>;
  deleteAddress(caller: Caller, id: string): Promise<Answer<null>>;

  /** `type` null: as the key says. `nextIndex`: the first index to hand out. */
  createXpub(
    caller: Caller,
    input: {
      readonly network: string;
      readonly xpub: string;
      readonly type: AddressType | null;
      readonly label: string | null;
      readonly nextIndex: number;
    },
    idempotency: Idempotency,
  ): Promise<Answer<XpubView>>;
  listXpubs(caller: Caller, page: PageRequest): Promise<Answer<Page<XpubView>>>;
  getXpub(caller: Caller, id: string): Promise<Answer<XpubView>>;

  listDeposits(caller: Caller, filter: DepositFilter, page: PageRequest): Promise<Answer<Page<DepositView>>>;
  getDeposit(caller: Caller, id: string): Promise<Answer<DepositView>>;
  listBalances(
    caller: Caller,
    filter: { readonly account?: string; readonly asset?: string; readonly network?: string },
    page: PageRequest,
  ): Promise<Answer<Page<BalanceView>>>;
  listLedgerEntries(
    caller: Caller,
    filter: { readonly account?: string; readonly asset?: string; readonly network?: string },
    page: PageRequest,
  ): Promise<Answer<Page<LedgerEntryView>>>;

  /** Answers after `waitMs` at the latest when there is nothing yet; 0: at once. */
  /** Oldest first. */
  listAuditLog(caller: Caller, filter: AuditFilter, limit: number): Promise<Answer<Page<AuditEntryView>>>;
  listEvents(
    caller: Caller,
    filter: { readonly after: number; readonly types: readonly EventType[] | null; readonly subject: string | null },
    limit: number,
    waitMs: number,
  ): Promise<Answer<Page<EventView>>>;
  getEvent(caller: Caller, id: string): Promise<Answer<EventView>>;

  createEndpoint(
    caller: Caller,
    input: {
      readonly url: string;
      readonly events: readonly EventType[] | null;
      readonly description: string | null;
      readonly signature: SignatureScheme;
    },
    idempotency: Idempotency,
  ): Promise<Answer<EndpointView>>;
  listEndpoints(caller: Caller, page: PageRequest): Promise<Answer<Page<EndpointView>>>;
  getEndpoint(caller: Caller, id: string): Promise<Answer<EndpointView>>;
  updateEndpoint(
    caller: Caller,
    id: string,
    patch: {
      readonly url?: string;
      readonly events?: readonly EventType[] | null;
      readonly description?: string | null;
    },
  ): Promise<Answer<EndpointView>>;
  deleteEndpoint(caller: Caller, id: string): Promise<Answer<null>>;
  rotateEndpointSecret(
    caller: Caller,
    id: string,
    overlapS: number,
    idempotency: Idempotency,
  ): Promise<Answer<EndpointView>>;
  enableEndpoint(caller: Caller, id: string, idempotency: Idempotency): Promise<Answer<EndpointView>>;
  disableEndpoint(caller: Caller, id: string, idempotency: Idempotency): Promise<Answer<EndpointView>>;
  testEndpoint(caller: Caller, id: string, idempotency: Idempotency): Promise<Answer<EventView>>;
  replayEvents(
    caller: Caller,
    id: string,
    from: { readonly afterSequence: number } | { readonly since: number },
    idempotency: Idempotency,
  ): Promise<Answer<{ from_sequence: number; to_sequence: number }>>;
  listDeliveries(
    caller: Caller,
    id: string,
    filter: { readonly status?: "pending" | "delivered" | "given_up" },
    page: PageRequest,
  ): Promise<Answer<Page<DeliveryView>>>;

  /** The event once more: same id, same bytes. Gives the delivery that is on its way. */
  resendDelivery(
    caller: Caller,
    id: string,
    deliveryId: string,
    idempotency: Idempotency,
  ): Promise<Answer<DeliveryView>>;

  createBackfill(
    caller: Caller,
    input: { readonly network: string; readonly fromHeight: number; readonly toHeight: number },
    idempotency: Idempotency,
  ): Promise<Answer<BackfillView>>;
  getBackfill(caller: Caller, id: string): Promise<Answer<BackfillView>>;

  getPolicies(caller: Caller): Promise<Answer<PoliciesView>>;
  putConfirmations(caller: Caller, network: string, rules: ConfirmationRules): Promise<Answer<PoliciesView>>;
  /** Stricter parts hold at once, looser ones after the cool-down that holds now. */
  putWithdrawalRules(caller: Caller, rules: WithdrawalRulesView): Promise<Answer<PoliciesView>>;

  /**
   * One withdrawal for each (account, key), for ever. `created` when it was made by this call, `replayed` when
   * the key named it already. A refusal leaves the key free.
   */
  createWithdrawal(caller: Caller, input: NewWithdrawal, key: string): Promise<Answer<WithdrawalView>>;
  listWithdrawals(caller: Caller, filter: WithdrawalFilter, page: PageRequest): Promise<Answer<Page<WithdrawalView>>>;
  getWithdrawal(caller: Caller, id: string): Promise<Answer<WithdrawalView>>;
  cancelWithdrawal(caller: Caller, id: string, idempotency: Idempotency): Promise<Answer<WithdrawalView>>;
  /** By a key other than the creator's. */
  approveWithdrawal(caller: Caller, id: string, idempotency: Idempotency): Promise<Answer<WithdrawalView>>;
  rejectWithdrawal(
    caller: Caller,
    id: string,
    reason: string | null,
    idempotency: Idempotency,
  ): Promise<Answer<WithdrawalView>>;
  /** Replaces the latest attempt with one that offers more, without waiting for its blocks. */
  speedUpWithdrawal(caller: Caller, id: string, idempotency: Idempotency): Promise<Answer<WithdrawalView>>;
  /** A person's decision about a withdrawal in `manual_review`. Needs `withdrawals:approve`. */
  resolveWithdrawal(
    caller: Caller,
    id: string,
    decision: { readonly outcome: "confirmed" | "failed"; readonly evidence: string },
    idempotency: Idempotency,
  ): Promise<Answer<WithdrawalView>>;
  /** Records nothing. */
  estimateWithdrawal(caller: Caller, input: NewWithdrawal): Promise<Answer<EstimateView>>;

  listWallets(caller: Caller): Promise<Answer<Page<WalletView>>>;
  /** Refused while anything is in flight from the present wallet. */
  chooseSigner(caller: Caller, network: string, signer: SignerChoice): Promise<Answer<WalletView>>;
  /** A person has looked at the incident that stopped the wallet. */
  resumeWallet(caller: Caller, network: string, idempotency: Idempotency): Promise<Answer<WalletView>>;

  /** What is suspected is not among them. */
  listIncidents(caller: Caller, filter: IncidentFilter, page: PageRequest): Promise<Answer<Page<IncidentView>>>;
  getIncident(caller: Caller, id: string): Promise<Answer<IncidentView>>;

  /** The latest report; refuses `not_found` before the first. */
  getReconciliation(caller: Caller): Promise<Answer<ReconciliationView>>;
  runReconciliation(caller: Caller, idempotency: Idempotency): Promise<Answer<ReconciliationView>>;
}

// ---- tenant: called by the scanner and by endpoints -------------------------------------------

/**
 * What the chain says now about one tenant's payments, as a whole or as the difference against the
 * version it acknowledged last.
 */
export interface Observation {
  readonly network: string;
  readonly version: number;
  /** The version this is a difference against; null: `added` is every transfer at or above `windowFrom`. */
  readonly base: number | null;
  readonly head: number;
  /** Time stamp of the head block, unix seconds. */
  readonly headTimestamp: number;
  /** Highest height known final by the chain's own tag; -1 when none is known. */
  readonly finalized: number;
  /** First height that may still be replaced. What lies below is final. */
  readonly windowFrom: number;
  readonly added: readonly SeenTransfer[];
  /** Keys that are no longer on the best chain, or no longer wait. Empty when `base` is null. */
  readonly removed: readonly RemovedTransfer[];
  /**
   * First height that a person allowed to be replaced although it had become final, or null. Settled
   * payments from here on are subject to this observation.
   */
  readonly reopenedFrom: number | null;
}
export interface SeenTransfer extends Transfer {
  /** Time stamp of the block, unix seconds; 0 while it waits to be mined. */
  readonly timestamp: number;
}
export interface RemovedTransfer extends TransferKey {
  /** It waited, and waits no longer: this says nothing against a payment that is in a block. */
  readonly wasUnmined?: boolean;
}

export type Observed =
  /**
   * Committed, or met before. `version` and `head` are what this tenant holds now. `nextHeight`,
   * `nextFinalized`: call again when head or finalized reach them; null: no need.
   */
  | {
      readonly kind: "acknowledged";
      readonly version: number;
      readonly head: number;
      readonly nextHeight: number | null;
      readonly nextFinalized: number | null;
    }
  /** `base` is not what this tenant holds. Send the whole. */
  | { readonly kind: "whole_needed"; readonly version: number };

export interface BackfillSlice {
  readonly backfillId: string;
  readonly network: string;
  /** Slices of one backfill are ascending and adjacent. */
  readonly fromHeight: number;
  readonly toHeight: number;
  /** What the scanner knew when the slice was read. */
  readonly head: number;
  readonly headTimestamp: number;
  readonly finalized: number;
  readonly windowFrom: number;
  readonly transfers: readonly SeenTransfer[];
  readonly conflicts: number;
  /** The last slice of this backfill. */
  readonly last: boolean;
}

export interface NetworkNotice {
  readonly network: string;
  /** Derived from the incident; repeating it writes no second event. */
  readonly id: string;
  readonly type: "network.halted" | "network.resumed";
  readonly at: number;
  readonly data: { readonly network: string; readonly reason: string; readonly height: number | null };
}

export interface TenantPeerApi {
  observe(observation: Observation): Promise<Observed>;
  /**
   * Takes a slice in, or ignores one that does not go on from the last. `nextHeight`: what this tenant waits
   * for, the slice that comes next begins there; null: it keeps no report of this backfill.
   */
  backfillSlice(slice: BackfillSlice): Promise<{ nextHeight: number | null }>;
  backfillFailed(backfillId: string, error: string): Promise<void>;
  noticeNetwork(notice: NetworkNotice): Promise<void>;
  /** The endpoint's own object says how it stands: told until it was heard, perhaps twice, perhaps late. */
  endpointStatus(endpointId: string, state: EndpointState): Promise<void>;
  /**
   * Cron's watchdog for a tenant with withdrawals under way: arms the alarm when it is missing or overdue and
   * reconciles when the last report is old. `isIdle`: nothing is left to look after.
   */
  patrol(): Promise<Patrolled & { readonly isIdle: boolean; readonly unresolved: number; readonly mismatches: number }>;
}

/** An object had something to do and nothing had woken it, when cron looked in. */
export interface OverdueAlarm {
  /** When it should have woken, unix ms; null: nobody knows, no alarm was set. */
  readonly dueAt: number | null;
  /** No alarm was set at all; otherwise one is, and is late. */
  readonly isMissing: boolean;
}

/** What cron found at an object, and takes to the monitor together with what it found at others. */
export interface Patrolled {
  /** How long something was due that nothing had woken the object for; 0: nothing was. */
  readonly overdueMs: number;
  /** null: what was due is well looked after. */
  readonly alarm: OverdueAlarm | null;
  readonly report: Report | null;
}

// ---- scanner ----------------------------------------------------------------------------------

export interface WatchRequest {
  readonly tenantId: string;
  readonly addressId: string;
  /** Canonical. */
  readonly address: string;
  readonly startHeight: number | null;
}

export interface ScannerStatus {
  readonly network: string;
  readonly head: number | null;
  readonly scannedTo: number | null;
  readonly finalized: number | null;
  readonly windowFrom: number | null;
  readonly status: "ok" | "lagging" | "halted";
  readonly internal: "traced" | "untraced" | "off" | "unknown";
  readonly incident: { readonly id: string; readonly reason: string; readonly at: number } | null;
  readonly watchedAddresses: number;
  readonly counters: Readonly<Record<string, number>>;
  readonly lastPollAt: number | null;
  readonly lastError: string | null;
}

export interface ScannerApi {
  /**
   * Watches an address for a tenant, from the next block that will be read, or from `startHeight` by way
   * of a backfill. Refuses `chain_unavailable` when the network's height cannot be learned,
   * `invalid_range` for a start height above the head.
   */
  watch(request: WatchRequest): Promise<Outcome<{ watchedFrom: number; scannedTo: number }>>;
  /**
   * Whether a watch from the next block on would be taken now: a network that nobody watches is started. Refuses
   * `chain_unavailable`.
   */
  ready(): Promise<Outcome<null>>;
  /** Ends a watch. Payments mined inside the reorganisation window from now still count for this tenant. */
  unwatch(tenantId: string, address: string): Promise<void>;
  /** Up to where each address has been read without a gap. */
  scannedTo(tenantId: string, addresses: readonly string[]): Promise<Record<string, number>>;
  /** Lets a tenant's token count, from the next block read on. */
  listToken(tenantId: string, contract: string): Promise<void>;
  /** Symbol and decimals as the chain states them. */
  tokenFacts(contract: string): Promise<Outcome<{ symbol: string; decimals: number }>>;
  /** Queues past heights for a tenant. Refuses a range above what has been read. */
  startBackfill(request: {
    readonly backfillId: string;
    readonly tenantId: string;
    readonly fromHeight: number;
    readonly toHeight: number;
  }): Promise<Outcome<null>>;
  status(): Promise<ScannerStatus>;
  /** Cron's watchdog: arms the alarm when it is missing or overdue, and catches up with the network's settings. */
  patrol(): Promise<Patrolled>;
  /** A person accepts a deep reorganisation. `fromHeight`: first replaced height, null: find it. */
  resume(fromHeight: number | null): Promise<Outcome<{ fromHeight: number }>>;
}

// ---- webhook endpoint -------------------------------------------------------------------------

export interface EndpointConfig {
  readonly tenantId: string;
  readonly endpointId: string;
  readonly url: string;
  readonly apiVersion: string;
  /** Of the first configuration; later ones change nothing of it. */
  readonly signature: SignatureScheme;
}

/** What the tenant shows of an endpoint, and its object decides. */
export interface EndpointState {
  /** Rises with each change. */
  readonly revision: number;
  readonly status: "enabled" | "disabled";
  readonly disabledReason: DisabledReason | null;
  /** Unix ms; of no two changes the same. null: enabled. */
  readonly disabledAt: number | null;
  /** Since when every attempt failed, unix ms; null: the latest one did not. Told once that is long ago, and when it is over. */
  readonly failingSince: number | null;
  /** null: signed with a secret that both sides have. */
  readonly publicKey: string | null;
}

export interface EndpointKeyMade {
  /** null: not made by this call, or there is only a public key to show. */
  readonly secret: string | null;
  readonly state: EndpointState;
}

/** One event as it goes over the wire: `body` is sent byte for byte on every attempt. */
export interface QueuedEvent {
  readonly id: string;
  readonly type: EventType;
  readonly sequence: number;
  readonly subject: string;
  readonly subjectSequence: number;
  readonly body: string;
}

export interface EndpointApi {
  /** Creates or changes the target. The first call makes the key and gives its secret; later calls give null. */
  configure(config: EndpointConfig): Promise<EndpointKeyMade>;
  /** New key; the old one keeps signing beside it for `overlapS`. A repeated request is given the same secret. */
  rotateSecret(overlapS: number, requestId: string): Promise<EndpointKeyMade>;
  /** Adds events in ascending sequence. Ones met before are ignored, unless `replay`: then they are sent again. */
  enqueue(events: readonly QueuedEvent[], options: { readonly replay: boolean }): Promise<void>;
  /** What waited meanwhile goes out, in order and at the usual pace. `before`: perhaps nobody was told of it yet. */
  enable(): Promise<{ readonly before: EndpointState; readonly state: EndpointState }>;
  /** At the owner's word. Events that arrive from now on wait. */
  disable(): Promise<EndpointState>;
  /** The event of this delivery once more, or the wait of one that is pending cut short. Refuses `not_found`. */
  resend(deliveryId: string): Promise<Outcome<DeliveryView>>;
  /** One delivery as it stands now. Refuses `not_found`. */
  delivery(deliveryId: string): Promise<Outcome<DeliveryView>>;
  deliveries(
    filter: { readonly status?: "pending" | "delivered" | "given_up" },
    page: PageRequest,
  ): Promise<Outcome<Page<DeliveryView>>>;
  /** Forgets everything: the endpoint was deleted. */
  close(): Promise<void>;
  /** Cron's watchdog: arms the alarm when it is missing or overdue. */
  patrol(): Promise<Patrolled>;
}
