/**
 * The objects merchants see, exactly as they go over the wire and into events. The shapes are fixed by
 * the wire contract: fields are only ever added. Times are RFC 3339 UTC with milliseconds; amounts are
 * decimal strings.
 */

import type { AddressType } from "./extended-key.ts";
import type { FeeKind } from "./fee-kind.ts";
import type { IncidentKind, TenantIncidentKind } from "./incident.ts";
import type { DisabledReason } from "./webhook-schedule.ts";
import type { WithdrawalState } from "./withdrawal.ts";

export const SCOPES = [
  "read",
  "addresses:write",
  "withdrawals:write",
  "withdrawals:approve",
  "webhooks:write",
  "admin",
] as const;
/** `admin` includes every other scope. */
export type Scope = (typeof SCOPES)[number];

export interface TenantView {
  id: string;
  name: string;
  email: string | null;
  created_at: string;
}

export interface ApiKeyView {
  id: string;
  name: string;
  scopes: Scope[];
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Only in the answer that creates the key. */
  secret?: string;
}

/** Who is signed in, and until when. */
export interface SessionView {
  tenant: TenantView;
  api_key: ApiKeyView;
  expires_at: string;
  /** Of the newest event: whoever follows the feed from there on hears what comes after this answer. */
  event_sequence: number;
}

export interface AssetView {
  network: string;
  symbol: string;
  /** null for the native coin. */
  contract: string | null;
  decimals: number;
  caip19: string;
}

export interface AddressView {
  id: string;
  network: string;
  address: string;
  account: string;
  label: string | null;
  metadata: Record<string, string>;
  /** First height whose payments count. */
  watched_from: number;
  /** Every height from `watched_from` up to here has been read. */
  scanned_to: number;
  /** The extended public key it was derived from; null: it was given by hand. */
  xpub_id: string | null;
  /** `0/17`, below the account's key; null: it was given by hand. */
  derivation_path: string | null;
  created_at: string;
}

export interface XpubView {
  id: string;
  network: string;
  type: AddressType;
  /** The beginning and the end of it. */
  xpub: string;
  /** `m/84'/0'/0'`. */
  path: string;
  /** Hex, of the account's public key. */
  fingerprint: string;
  label: string | null;
  /** The next address has this index, or a later one. */
  next_index: number;
  first_address: string;
  created_at: string;
}

export type DepositStatus = "pending" | "confirmed" | "settled" | "reverted" | "dropped";

export interface DepositView {
  id: string;
  network: string;
  asset: string;
  tx_id: string;
  transfer_index: string;
  address: string;
  account: string;
  amount: string;
  amount_units: string;
  status: DepositStatus;
  /** How many times this payment was confirmed. */
  epoch: number;
  confirmations: number;
  /** null: the chain's own finalized tag decides. */
  confirmations_required: number | null;
  /** Both null: it waits to be mined, or was dropped while it waited. */
  block_height: number | null;
  block_hash: string | null;
  /** What its sender wrote beside it; null: nothing, or the network has no memos. */
  memo: string | null;
  created_at: string;
  confirmed_at: string | null;
  reverted_at: string | null;
  settled_at: string | null;
}

export interface BalanceView {
  account: string;
  network: string;
  asset: string;
  available: string;
  reserved: string;
  settled: string;
  debt: string;
}

export interface LedgerEntryView {
  id: string;
  /** Entries of one journal were committed together. */
  journal_id: string;
  account: string;
  network: string;
  asset: string;
  from: string;
  to: string;
  amount: string;
  amount_units: string;
  cause: { type: string; id: string; event_id: string | null };
  created_at: string;
}

export interface WithdrawalTransitionView {
  /** null: the first one. */
  from: WithdrawalState | null;
  to: WithdrawalState;
  reason: string;
  /** What shows it: a transaction, a node's words, a person's; null when the reason says all. */
  evidence: string | null;
  at: string;
}

export interface WithdrawalAttemptView {
  tx_id: string;
  /**
   * All attempts of a withdrawal share one. null where wallets are sets of coins (all attempts spend one coin), and where
   * transactions expire (one lives at a time).
   */
  nonce: number | null;
  /** `payment`, or `burn`: does not pay it, and makes void what does, since it has the same nonce or spends the same coin. */
  kind: "payment" | "burn";
  /** `signed`: stored, not sent yet. `sent`: at least once. `mined`: on the best chain. `void`: another one of its nonce, or coin, is final; or it expired, and can never land. */
  status: "signed" | "sent" | "mined" | "void";
  sent_at: string | null;
  /** What the last answer to a send meant; null before the first. */
  outcome: string | null;
}

export interface WithdrawalView {
  id: string;
  network: string;
  asset: string;
  account: string;
  destination: string;
  amount: string;
  amount_units: string;
  state: WithdrawalState;
  idempotency_key: string;
  external_id: string | null;
  metadata: Record<string, string>;
  /** The payment that is mined, else the latest that was signed; null before the first. A burn is in `attempts` alone. */
  tx_id: string | null;
  /** What the payment took, in the network's native coin; null until it is mined. Paid by the hot wallet. */
  fee: string | null;
  fee_units: string | null;
  /** What it waits for when that is not the chain alone: a top-up, a lower fee, a person; null otherwise. */
  waiting_for: string | null;
  created_at: string;
  updated_at: string;
  transitions: WithdrawalTransitionView[];
  attempts: WithdrawalAttemptView[];
}

export interface FeePartView {
  kind: FeeKind;
  /** How much is used of what the fee is for, stake or free allowance included: bytes, units of energy; null: it is one thing. */
  quantity: number | null;
  /** In `fee_asset`. */
  fee: string;
}

export interface EstimateView {
  network: string;
  asset: string;
  destination: string;
  amount: string;
  amount_units: string;
  /** What the network would take now, and the most that would be signed; in `fee_asset`. null: the chain is out of reach. */
  fee: string | null;
  max_fee: string | null;
  /** What `fee` is made of where a network takes fees of several kinds; empty elsewhere. */
  fee_parts: FeePartView[];
  fee_asset: string;
  /** Whether the same request would be accepted now. Accepted is not yet paid: see `warning`. */
  accepted: boolean;
  /** What would keep it from being paid at once; null: nothing that is known. */
  warning: string | null;
  needs_approval: boolean;
  refusal: { code: string; detail: string } | null;
}

export interface WalletView {
  network: string;
  address: string;
  signer: { type: "derived"; path: string } | { type: "remote"; url: string };
  /** null: the chain is out of reach. */
  balances: { asset: string; amount: string; amount_units: string }[] | null;
  next_nonce: number | null;
  in_flight: number;
  /** `stopped`: nothing is signed until a person lets it go on. */
  status: "active" | "stopped";
  incident: string | null;
}

/** One difference between two sources that should agree. */
export interface DifferenceView {
  kind: string;
  /** The withdrawal, deposit, account or nonce it concerns. */
  subject: string;
  expected: string;
  found: string;
}

export interface ReconciliationView {
  id: string;
  created_at: string;
  /** `matched`: everything compared agrees. `incomplete`: a source was out of reach; the rest agrees. */
  status: "matched" | "mismatched" | "incomplete";
  compared: Record<string, number>;
  differences: DifferenceView[];
  /** Sources that did not answer. */
  unreachable: string[];
  counters: Record<string, number>;
}

export interface IncidentView {
  id: string;
  kind: TenantIncidentKind;
  /** A network's, a withdrawal's or an endpoint's id; of a wallet `<network>/<address>`. */
  subject: string;
  /** null: it is of no network. */
  network: string | null;
  status: "open" | "closed";
  opened_at: string;
  closed_at: string | null;
  /** One sentence. */
  summary: string;
  /** What shows it, as it stood when it was last looked at. */
  evidence: Record<string, string | number | null>;
  /** The page that says what to do, in the documentation's folder. */
  runbook: string;
}

/** Of every tenant, and of the service as a whole. */
export interface OperatorIncidentView extends Omit<IncidentView, "kind"> {
  kind: IncidentKind;
  /** null: no tenant's. */
  tenant_id: string | null;
}

export const EVENT_TYPES = [
  "deposit.pending",
  "deposit.dropped",
  "deposit.confirmed",
  "deposit.reverted",
  "deposit.settled",
  "withdrawal.updated",
  "account.debt_opened",
  "account.debt_cleared",
  "network.halted",
  "network.resumed",
  "webhook.test",
  "endpoint.disabled",
  "incident.opened",
  "incident.closed",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export interface EventView {
  id: string;
  type: EventType;
  api_version: string;
  sequence: number;
  subject: string;
  subject_sequence: number;
  created_at: string;
  data: object;
}

/** What a caller did, or tried to: one entry of the tenant's audit log. */
export interface AuditEntryView {
  sequence: number;
  created_at: string;
  api_key_id: string;
  via: "api_key" | "session";
  request_id: string;
  call: string;
  subject: string | null;
  outcome: string;
  client_address: string | null;
  user_agent: string | null;
  hash: string;
}

export const SIGNATURE_SCHEMES = ["v1", "v1a"] as const;
/** Standard Webhooks 1.0.0: symmetric and asymmetric. */
export type SignatureScheme = (typeof SIGNATURE_SCHEMES)[number];

export interface EndpointView {
  id: string;
  url: string;
  /** null: every type but `deposit.pending` and `deposit.dropped`. */
  events: EventType[] | null;
  description: string | null;
  /** `v1`: HMAC-SHA256 with `secret`. `v1a`: Ed25519, verified with `public_key`. */
  signature: SignatureScheme;
  /** `whpk_` and base64: of the newest key. null with `v1`. */
  public_key: string | null;
  /** The version its events' bodies have, whatever version is the newest by now. */
  api_version: string;
  status: "enabled" | "disabled";
  disabled_reason: DisabledReason | null;
  disabled_at: string | null;
  created_at: string;
  /** Only at creation and rotation, and only with `v1`. */
  secret?: string;
}

export interface DeliveryView {
  id: string;
  event_id: string;
  event_type: EventType;
  sequence: number;
  status: "pending" | "delivered" | "given_up";
  next_attempt_at: string | null;
  created_at: string;
  attempts: DeliveryAttemptView[];
}

export interface DeliveryAttemptView {
  at: string;
  /** HTTP status, or null when no answer came. */
  status: number | null;
  outcome: string;
  duration_ms: number;
  /** First 1 KiB of the answer, as text. */
  response: string | null;
  /** Why it failed, in a sentence; null: it did not, or it was made before this was kept. */
  error: string | null;
}

export interface BackfillView {
  id: string;
  network: string;
  from_height: number;
  to_height: number;
  status: "queued" | "running" | "done" | "failed";
  progress: { scanned_to: number | null; of: number };
  found: number;
  already_known: number;
  added: number;
  /** Keys that belong to another tenant by an earlier claim; never credited here. */
  conflicts: number;
  error: string | null;
  created_at: string;
  finished_at: string | null;
}

export interface NetworkView {
  id: string;
  caip2: string;
  family: string;
  native_asset: { symbol: string; decimals: number };
  head: number | null;
  scanned_to: number | null;
  finalized: number | null;
  status: "ok" | "lagging" | "halted";
  confirmations: number | null;
  finality: "depth" | "tag";
  /** What is seen of the native coin here. `internal: "untraced"` means payments sent by contracts are not seen. */
  native_transfers: { own_value: boolean; internal: "traced" | "untraced" | "off" | "unknown" };
  /** Payments met again after they were known, for this tenant: steady under healthy re-reading. */
  duplicates_met: number;
  assets: AssetView[];
}

/** Which rows of a list are asked for. */
export interface PageRequest {
  readonly limit: number;
  /** What the page before gave; null: from the beginning. */
  readonly cursor: string | null;
}

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}
