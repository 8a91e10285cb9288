/**
 * The tables of one tenant's object. `transfers` is what the chain says and is rewritten by every
 * observation; `deposits` is what was told. Amounts are TEXT, times are unix milliseconds unless a
 * name says seconds. Every index serves a query; each one is a row written per change.
 */

import { sql } from "drizzle-orm";
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import { type Dues, NO_DUES } from "../../core/dues.ts";
import type { AddressType } from "../../core/extended-key.ts";
import type { Evidence, TenantIncidentKind } from "../../core/incident.ts";
import type { SendMeaning } from "../../core/send-answer.ts";
import type { Tallies } from "../../core/tallies.ts";
import type { DepositStatus, EventType, ReconciliationView, Scope, SignatureScheme } from "../../core/views.ts";
import type { DisabledReason } from "../../core/webhook-schedule.ts";
import type { WithdrawalState } from "../../core/withdrawal.ts";

export const tenant = sqliteTable("tenant", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  email: text("email"),
  createdAt: integer("created_at").notNull(),
});

export const apiKeys = sqliteTable("api_keys", {
  seq: integer("seq").primaryKey(),
  id: text("id").notNull().unique(),
  hash: text("hash").notNull().unique(),
  name: text("name").notNull(),
  scopes: text("scopes", { mode: "json" }).$type<Scope[]>().notNull(),
  createdAt: integer("created_at").notNull(),
  expiresAt: integer("expires_at"),
  revokedAt: integer("revoked_at"),
  /** When it ends because another key took its place; apart from `expires_at`, which its successor inherits. */
  replacedAt: integer("replaced_at"),
  /** The first key of the line of rotations that led to this one; null: itself. */
  originId: text("origin_id"),
});

/** Who is signed in, each by the keyed hash of the token; of no use without its key. */
export const sessions = sqliteTable("sessions", {
  hash: text("hash").primaryKey(),
  keyId: text("key_id").notNull(),
  createdAt: integer("created_at").notNull(),
  expiresAt: integer("expires_at").notNull(),
});

/** A key names one request for ever: same fingerprint, same object. */
export const idempotency = sqliteTable("idempotency", {
  key: text("key").primaryKey(),
  fingerprint: text("fingerprint").notNull(),
  objectId: text("object_id").notNull(),
});

/** Tokens this tenant listed itself. Built-in ones come from the network's settings. */
export const assets = sqliteTable(
  "assets",
  {
    network: text("network").notNull(),
    contract: text("contract").notNull(),
    symbol: text("symbol").notNull(),
    decimals: integer("decimals").notNull(),
  },
  (t) => [primaryKey({ columns: [t.network, t.contract] }), uniqueIndex("assets_symbol").on(t.network, t.symbol)],
);

export const addresses = sqliteTable(
  "addresses",
  {
    seq: integer("seq").primaryKey(),
    id: text("id").notNull().unique(),
    network: text("network").notNull(),
    address: text("address").notNull(),
    account: text("account").notNull(),
    label: text("label"),
    metadata: text("metadata", { mode: "json" }).$type<Record<string, string>>().notNull(),
    /** null until the scanner has taken the watch; such a row is not shown. */
    watchedFrom: integer("watched_from"),
    createdAt: integer("created_at").notNull(),
    deletedAt: integer("deleted_at"),
    /** 1 while the watch and the claim of a deleted address are still to be given back. */
    releasePending: integer("release_pending").notNull().default(0),
    /** Where it was derived: the extended public key and the index below its account; both null: given by hand. */
    xpubId: text("xpub_id"),
    derivationIndex: integer("derivation_index"),
  },
  (t) => [
    index("addresses_address").on(t.address, t.network),
    index("addresses_account").on(t.account),
    index("addresses_release").on(t.releasePending).where(sql`release_pending = 1`),
    // One index, one address, also of those that were deleted.
    uniqueIndex("addresses_derived").on(t.xpubId, t.derivationIndex).where(sql`xpub_id IS NOT NULL`),
  ],
);

/** Extended public keys of accounts. Never deleted: addresses that were handed out stand below them. */
export const xpubs = sqliteTable("xpubs", {
  seq: integer("seq").primaryKey(),
  /** Derived from network and key, so it is their uniqueness as well. */
  id: text("id").notNull().unique(),
  network: text("network").notNull(),
  type: text("type").$type<AddressType>().notNull(),
  path: text("path").notNull(),
  /** Public key and chain code: what the addresses are derived from. */
  account: text("account").notNull(),
  /** The text as it was given, its beginning and its end. */
  shown: text("shown").notNull(),
  fingerprint: text("fingerprint").notNull(),
  firstAddress: text("first_address").notNull(),
  label: text("label"),
  /** No index below this one is handed out. Never lowered. */
  nextIndex: integer("next_index").notNull(),
  createdAt: integer("created_at").notNull(),
});

/** Where this tenant stands on each network. */
export const networks = sqliteTable("networks", {
  network: text("network").primaryKey(),
  /** Version of the last observation committed here. */
  version: integer("version").notNull(),
  head: integer("head").notNull(),
  headTimestampS: integer("head_timestamp_s").notNull(),
  finalized: integer("finalized").notNull(),
  windowFrom: integer("window_from").notNull(),
  /** Payments met again, unchanged, after they were known. */
  duplicatesMet: integer("duplicates_met").notNull(),
  /** How many deposits and ended withdrawals are in each state: nobody counts rows to tell. */
  tallies: text("tallies", { mode: "json" }).$type<Tallies>().notNull().default({ deposits: {}, withdrawals: {} }),
  /** Which deposits are to be decided again, and when: instead of an index, which is a row written for each of them. */
  dues: text("dues", { mode: "json" }).$type<Dues>().notNull().default(NO_DUES),
});

export const transfers = sqliteTable(
  "transfers",
  {
    network: text("network").notNull(),
    txId: text("tx_id").notNull(),
    transferIndex: text("transfer_index").notNull(),
    address: text("address").notNull(),
    asset: text("asset").notNull(),
    amountUnits: text("amount_units").notNull(),
    height: integer("height").notNull(),
    blockHash: text("block_hash").notNull(),
    timestampS: integer("timestamp_s").notNull(),
    leastDepth: integer("least_depth").notNull().default(1),
    memo: text("memo"),
    /** 1: it was on the best chain, as it stands here, and is no more. Kept, so that every key that was told is found here. */
    gone: integer("gone").notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.network, t.txId, t.transferIndex] })],
);

export const deposits = sqliteTable(
  "deposits",
  {
    seq: integer("seq").primaryKey(),
    /** Derived from the key, so it is the key's uniqueness as well. */
    id: text("id").notNull().unique(),
    network: text("network").notNull(),
    txId: text("tx_id").notNull(),
    transferIndex: text("transfer_index").notNull(),
    address: text("address").notNull(),
    account: text("account").notNull(),
    asset: text("asset").notNull(),
    amountUnits: text("amount_units").notNull(),
    status: text("status").$type<DepositStatus>().notNull(),
    epoch: integer("epoch").notNull(),
    /** A depth, or "finalized". */
    rule: text("rule").notNull(),
    /** Depth that the chain itself asks for, whatever the rule says. */
    leastDepth: integer("least_depth").notNull().default(1),
    /** What its sender wrote beside it. */
    memo: text("memo"),
    height: integer("height").notNull(),
    blockHash: text("block_hash").notNull(),
    timestampS: integer("timestamp_s").notNull(),
    /** Decide again when the head, or the finalized height, reaches these. Both null: at rest. */
    dueHeight: integer("due_height"),
    dueFinalized: integer("due_finalized"),
    createdAt: integer("created_at").notNull(),
    confirmedAt: integer("confirmed_at"),
    revertedAt: integer("reverted_at"),
    settledAt: integer("settled_at"),
    /** The backfill that found this payment, or null. */
    backfillId: text("backfill_id"),
    /** Sequences of its events, in `deposit_events`; null: it began when they were kept in `events`, and stays there. */
    events: text("events", { mode: "json" }).$type<readonly number[]>(),
  },
  (t) => [
    // The height `UNMINED`, spelt out.
    index("deposits_unmined").on(t.network).where(sql`height = 4503599627370496 AND status = 'pending'`),
    index("deposits_account").on(t.account),
    index("deposits_address").on(t.address),
  ],
);

export const ledgerEntries = sqliteTable(
  "ledger_entries",
  {
    seq: integer("seq").primaryKey(),
    journalId: text("journal_id").notNull(),
    line: integer("line").notNull(),
    account: text("account").notNull(),
    network: text("network").notNull(),
    asset: text("asset").notNull(),
    fromBucket: text("from_bucket").notNull(),
    toBucket: text("to_bucket").notNull(),
    amountUnits: text("amount_units").notNull(),
    causeType: text("cause_type").notNull(),
    causeId: text("cause_id").notNull(),
    eventId: text("event_id"),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [
    // A journal's id is derived from its cause: posting one cause twice meets this index. A deposit's is posted with the
    // change of its own row, which is made from the row as it was or not at all.
    uniqueIndex("ledger_entries_cause")
      .on(t.journalId, t.line)
      .where(sql`cause_type NOT IN ('deposit.confirmed', 'deposit.reverted')`),
    index("ledger_entries_account").on(t.account),
  ],
);

export const balances = sqliteTable(
  "balances",
  {
    account: text("account").notNull(),
    network: text("network").notNull(),
    asset: text("asset").notNull(),
    available: text("available").notNull(),
    reserved: text("reserved").notNull(),
    settled: text("settled").notNull(),
    debt: text("debt").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.account, t.network, t.asset] }),
    /** Whoever owes something; a row here is written for nobody else. */
    index("balances_in_debt").on(t.network, t.asset).where(sql`debt <> '0'`),
    check(
      "balances_not_negative",
      sql`available NOT LIKE '-%' AND reserved NOT LIKE '-%' AND settled NOT LIKE '-%' AND debt NOT LIKE '-%'`,
    ),
  ],
);

/** All events but those of deposits that have their own list. */
export const events = sqliteTable(
  "events",
  {
    sequence: integer("sequence").primaryKey(),
    id: text("id").notNull().unique(),
    type: text("type").$type<EventType>().notNull(),
    subject: text("subject").notNull(),
    subjectSequence: integer("subject_sequence").notNull(),
    /** The bytes that are signed and sent. */
    body: text("body").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [uniqueIndex("events_subject").on(t.subject, t.subjectSequence)],
);

/**
 * Events of deposits, those of one commit in as few rows as hold them: a row for each would be most of what a busy block
 * writes. Their sequences lie between the events of the other table; both together have no gap.
 */
export const depositEvents = sqliteTable("deposit_events", {
  /** The highest sequence in it. */
  last: integer("last").primaryKey(),
  first: integer("first").notNull(),
  createdAt: integer("created_at").notNull(),
  /** The bytes that are signed and sent, of each event, in ascending sequence. */
  bodies: text("bodies", { mode: "json" }).$type<readonly string[]>().notNull(),
});

export const endpoints = sqliteTable("endpoints", {
  seq: integer("seq").primaryKey(),
  id: text("id").notNull().unique(),
  url: text("url").notNull(),
  events: text("events", { mode: "json" }).$type<EventType[]>(),
  description: text("description"),
  status: text("status").$type<"enabled" | "disabled">().notNull(),
  disabledReason: text("disabled_reason").$type<DisabledReason>(),
  disabledAt: integer("disabled_at"),
  signature: text("signature").$type<SignatureScheme>().notNull().default("v1"),
  /** Of the newest key, with `v1a`. */
  publicKey: text("public_key"),
  /** The version that its events' bodies have. */
  apiVersion: text("api_version").notNull().default("2026-11-01"),
  /** Of the endpoint's own object, as last heard. */
  revision: integer("revision").notNull().default(0),
  /** Every event up to this sequence was handed to the endpoint's object. */
  handedTo: integer("handed_to").notNull(),
  createdAt: integer("created_at").notNull(),
  deletedAt: integer("deleted_at"),
  /** 1 while the endpoint's object still has to be told of the deletion. */
  closePending: integer("close_pending").notNull().default(0),
  /** 1 while the endpoint's object still has to be told of its present target. */
  configurePending: integer("configure_pending").notNull().default(0),
});

export const backfills = sqliteTable("backfills", {
  id: text("id").primaryKey(),
  network: text("network").notNull(),
  fromHeight: integer("from_height").notNull(),
  toHeight: integer("to_height").notNull(),
  status: text("status").$type<"queued" | "running" | "done" | "failed">().notNull(),
  /** First height whose slice has not been committed here. */
  nextHeight: integer("next_height").notNull(),
  found: integer("found").notNull(),
  alreadyKnown: integer("already_known").notNull(),
  added: integer("added").notNull(),
  conflicts: integer("conflicts").notNull(),
  error: text("error"),
  createdAt: integer("created_at").notNull(),
  finishedAt: integer("finished_at"),
  /** 0 until the scanner has taken the job. */
  handedOver: integer("handed_over").notNull(),
});

export const policies = sqliteTable("policies", {
  /** `confirmations:<network>`. */
  name: text("name").primaryKey(),
  rules: text("rules", { mode: "json" }).notNull(),
});

/** News of a network that was told: an incident is told once when it opens and once when it ends. */
export const notices = sqliteTable(
  "notices",
  { id: text("id").notNull(), type: text("type").$type<EventType>().notNull(), eventId: text("event_id").notNull() },
  (t) => [primaryKey({ columns: [t.id, t.type] })],
);

/** What a merchant asked to be paid out. Never deleted: its key names it for ever. */
export const withdrawals = sqliteTable(
  "withdrawals",
  {
    seq: integer("seq").primaryKey(),
    /** Derived from account and key, so a repeat meets itself. */
    id: text("id").notNull().unique(),
    account: text("account").notNull(),
    idempotencyKey: text("idempotency_key").notNull(),
    fingerprint: text("fingerprint").notNull(),
    network: text("network").notNull(),
    asset: text("asset").notNull(),
    destination: text("destination").notNull(),
    amountUnits: text("amount_units").notNull(),
    externalId: text("external_id"),
    metadata: text("metadata", { mode: "json" }).$type<Record<string, string>>().notNull(),
    /** The API key that asked; another one approves. */
    creatorKeyId: text("creator_key_id").notNull(),
    state: text("state").$type<WithdrawalState>().notNull(),
    /** The slot, or the spend, that pays it, or the wallet and the latest attempt's number; null until there is one. */
    sender: text("sender"),
    nonce: integer("nonce"),
    /** The mined transaction, else the latest signed one. */
    txId: text("tx_id"),
    feeUnits: text("fee_units"),
    /** What it waits for beside the chain; null: nothing else. */
    waitingFor: text("waiting_for"),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    /**
     * Where transactions expire: when it had its turn in vain, in a round that did not get to all; null: never. Since
     * then it waits behind those that had been asked for by then.
     */
    turnAt: integer("turn_at"),
  },
  (t) => [
    uniqueIndex("withdrawals_key").on(t.idempotencyKey, t.account),
    index("withdrawals_account").on(t.account),
    index("withdrawals_external").on(t.externalId).where(sql`external_id IS NOT NULL`),
    /** What waits for a nonce, and what is under way. */
    index("withdrawals_open")
      .on(t.network, t.state)
      .where(sql`state NOT IN ('confirmed', 'failed', 'cancelled', 'rejected')`),
    /** The last day's sum of an asset. */
    index("withdrawals_recent").on(t.asset, t.network, t.createdAt),
  ],
);

export const withdrawalTransitions = sqliteTable(
  "withdrawal_transitions",
  {
    withdrawalId: text("withdrawal_id").notNull(),
    number: integer("number").notNull(),
    from: text("from_state").$type<WithdrawalState>(),
    to: text("to_state").$type<WithdrawalState>().notNull(),
    reason: text("reason").notNull(),
    evidence: text("evidence"),
    at: integer("at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.withdrawalId, t.number] })],
);

/** The tenant's hot wallets. The one whose address the network's signer has is in use. */
export const wallets = sqliteTable(
  "wallets",
  {
    network: text("network").notNull(),
    sender: text("sender").notNull(),
    /** The next nonce to hand out. Never lowered. */
    nextNonce: integer("next_nonce").notNull(),
    /** Nonces below this one are known to be used up on the chain; -1: never looked. Never lowered. */
    usedBelow: integer("used_below").notNull(),
    status: text("status").$type<"active" | "stopped">().notNull(),
    incident: text("incident"),
    /** The kind of incident that stopped it; null: it is not stopped, or by something that has no kind. */
    stoppedFor: text("stopped_for").$type<TenantIncidentKind>(),
    /** When it is looked at again, unix milliseconds; null: nothing is under way. */
    dueAt: integer("due_at"),
    /** Since when nonces below the next one are missing on the chain and here; null: none is. */
    gapSince: integer("gap_since"),
  },
  (t) => [primaryKey({ columns: [t.network, t.sender] })],
);

/** Who signs on a network. No row: the key derived from the seed. */
export const signers = sqliteTable("signers", {
  network: text("network").primaryKey(),
  url: text("url").notNull(),
  address: text("address").notNull(),
  /** Sealed, see `keyVersion`. */
  token: text("token"),
  /** Version of the root key that the token is sealed under; null: there is none, or it is plain text of before. */
  keyVersion: text("key_version"),
});

/** One nonce of one wallet. It carries one withdrawal for ever, or none: then it only fills a gap. */
export const slots = sqliteTable(
  "slots",
  {
    network: text("network").notNull(),
    sender: text("sender").notNull(),
    nonce: integer("nonce").notNull(),
    withdrawalId: text("withdrawal_id"),
    /** `open` until a final transaction has the nonce. */
    status: text("status").$type<"open" | "final">().notNull(),
    /** 1 once D1 says that the nonce is this slot's. Nothing is signed before. */
    claimed: integer("claimed").notNull(),
    /** 1: the next attempt moves nothing; the payment is no longer wanted. */
    burn: integer("burn").notNull(),
    /** 1: a person wants the next attempt now. */
    speedUp: integer("speed_up").notNull(),
    /** Gas of its payment as estimated when the nonce was assigned; null for one that moves nothing. */
    gasLimit: text("gas_limit"),
    minedTxId: text("mined_tx_id"),
    minedHeight: integer("mined_height"),
    minedBlockHash: text("mined_block_hash"),
    createdAt: integer("created_at").notNull(),
    /** When a person is asked, unless it is mined by then. */
    deadlineAt: integer("deadline_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.sender, t.nonce] }),
    index("slots_open").on(t.network, t.sender).where(sql`status = 'open'`),
  ],
);

/** Signed bytes. A row is there before its bytes leave the process, and is never changed but for what became of it. */
export const attempts = sqliteTable(
  "attempts",
  {
    network: text("network").notNull(),
    sender: text("sender").notNull(),
    nonce: integer("nonce").notNull(),
    number: integer("number").notNull(),
    txId: text("tx_id").notNull(),
    kind: text("kind").$type<"payment" | "burn">().notNull(),
    raw: text("raw").notNull(),
    gasLimit: text("gas_limit").notNull(),
    feeKind: text("fee_kind").$type<"eip1559" | "legacy">().notNull(),
    /** `maxFeePerGas` or `gasPrice`, wei. */
    mostPerGas: text("most_per_gas").notNull(),
    /** Wei; null with `legacy`. */
    tipPerGas: text("tip_per_gas"),
    signedAt: integer("signed_at").notNull(),
    /** Head when it was signed, or when its block was replaced: its age in blocks counts from here. */
    signedHeight: integer("signed_height").notNull(),
    firstSentAt: integer("first_sent_at"),
    /** null: to be sent now. */
    lastSentAt: integer("last_sent_at"),
    sends: integer("sends").notNull(),
    outcome: text("outcome").$type<SendMeaning>(),
  },
  (t) => [primaryKey({ columns: [t.network, t.sender, t.nonce, t.number] }), index("attempts_tx").on(t.txId)],
);

/** Addresses of the hot wallets that are sets of coins. What they receive is no deposit. */
export const walletAddresses = sqliteTable(
  "wallet_addresses",
  {
    network: text("network").notNull(),
    address: text("address").notNull(),
    /** The wallet, by the address that it is topped up at. */
    sender: text("sender").notNull(),
    /** Below the wallet's account key: `0/0`, `1/7`. */
    path: text("path").notNull(),
    /** null until the scanner has taken the watch. Nothing is signed that pays here before. */
    watchedFrom: integer("watched_from"),
  },
  (t) => [primaryKey({ columns: [t.network, t.address] })],
);

/** What the chain says about the wallets' own outputs, in blocks alone. Rewritten by every observation. */
export const coins = sqliteTable(
  "coins",
  {
    network: text("network").notNull(),
    txId: text("tx_id").notNull(),
    vout: integer("vout").notNull(),
    address: text("address").notNull(),
    path: text("path").notNull(),
    amountUnits: text("amount_units").notNull(),
    height: integer("height").notNull(),
    /** Depth below which the chain itself keeps it from being spent. */
    leastDepth: integer("least_depth").notNull(),
  },
  (t) => [primaryKey({ columns: [t.network, t.txId, t.vout] })],
);

/** One transaction of a wallet in all its attempts. Each of them spends the pinned output, so one of them is mined at most. */
export const spends = sqliteTable(
  "spends",
  {
    network: text("network").notNull(),
    sender: text("sender").notNull(),
    /** The wallet's own counter. `withdrawals.nonce` holds it; its change goes to the path `1/<number>`. */
    number: integer("number").notNull(),
    pinTxId: text("pin_tx_id").notNull(),
    pinVout: integer("pin_vout").notNull(),
    /** `open` until a final transaction spends the pinned output. */
    status: text("status").$type<"open" | "final">().notNull(),
    /** 1 once D1 says that its members are this spend's. Nothing is signed before. */
    claimed: integer("claimed").notNull(),
    /** 1: a person wants the next attempt now. */
    speedUp: integer("speed_up").notNull(),
    /** Number of the attempt that is in a block, with the id that it has there. */
    minedAttempt: integer("mined_attempt"),
    minedTxId: text("mined_tx_id"),
    minedHeight: integer("mined_height"),
    minedBlockHash: text("mined_block_hash"),
    /** A transaction that is none of its attempts and spends the pinned output, as last seen in a block. */
    foreignTxId: text("foreign_tx_id"),
    createdAt: integer("created_at").notNull(),
    /** When a person is asked, unless it is mined by then. */
    deadlineAt: integer("deadline_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.sender, t.number] }),
    uniqueIndex("spends_pin").on(t.network, t.pinTxId, t.pinVout),
    index("spends_open").on(t.network, t.sender).where(sql`status = 'open'`),
    index("spends_tx").on(t.minedTxId).where(sql`mined_tx_id IS NOT NULL`),
  ],
);

/** What a spend pays, in this order. A withdrawal has one spend for ever. */
export const spendMembers = sqliteTable(
  "spend_members",
  {
    network: text("network").notNull(),
    sender: text("sender").notNull(),
    number: integer("number").notNull(),
    place: integer("place").notNull(),
    withdrawalId: text("withdrawal_id").notNull(),
    /** 1: the next attempt does not pay it. */
    givenUp: integer("given_up").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.sender, t.number, t.place] }),
    uniqueIndex("spend_members_withdrawal").on(t.withdrawalId),
  ],
);

/** Outputs that a spend may use: nobody else may. Complete in itself, since the chain may take a coin's own row away. */
export const spendInputs = sqliteTable(
  "spend_inputs",
  {
    network: text("network").notNull(),
    txId: text("tx_id").notNull(),
    vout: integer("vout").notNull(),
    sender: text("sender").notNull(),
    number: integer("number").notNull(),
    address: text("address").notNull(),
    path: text("path").notNull(),
    amountUnits: text("amount_units").notNull(),
    /** No spender stands below: the block it is in, or one that it was still there in. */
    height: integer("height").notNull(),
    /** 1 once D1 says that it is this spend's. */
    claimed: integer("claimed").notNull(),
    /** `freed`: the final transaction does not spend it. D1 gives it back, then the row goes. */
    status: text("status").$type<"locked" | "spent" | "freed">().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.txId, t.vout] }),
    index("spend_inputs_spend").on(t.network, t.sender, t.number),
    index("spend_inputs_freed").on(t.network, t.sender).where(sql`status = 'freed'`),
  ],
);

/** Signed bytes. A row is there before its bytes leave the process, and is never changed but for what became of it. */
export const spendAttempts = sqliteTable(
  "spend_attempts",
  {
    network: text("network").notNull(),
    sender: text("sender").notNull(),
    number: integer("number").notNull(),
    attempt: integer("attempt").notNull(),
    txId: text("tx_id").notNull(),
    raw: text("raw").notNull(),
    /** `txid:vout` of each input, the pinned one first. */
    inputs: text("inputs", { mode: "json" }).$type<string[]>().notNull(),
    /** Script in hex and satoshi of each output. */
    outputs: text("outputs", { mode: "json" }).$type<[string, string][]>().notNull(),
    /** The withdrawals that it pays: its first outputs, in this order. */
    pays: text("pays", { mode: "json" }).$type<string[]>().notNull(),
    feeUnits: text("fee_units").notNull(),
    vsize: integer("vsize").notNull(),
    signedAt: integer("signed_at").notNull(),
    /** Head when it was signed, or when its block was replaced: its age in blocks counts from here. */
    signedHeight: integer("signed_height").notNull(),
    firstSentAt: integer("first_sent_at"),
    /** null: to be sent now. */
    lastSentAt: integer("last_sent_at"),
    sends: integer("sends").notNull(),
    outcome: text("outcome").$type<SendMeaning>(),
  },
  (t) => [primaryKey({ columns: [t.network, t.sender, t.number, t.attempt] }), index("spend_attempts_tx").on(t.txId)],
);

/** The payment of one withdrawal whose transactions expire by themselves: it begins with its first signed attempt. */
export const expiringPayments = sqliteTable(
  "expiring_payments",
  {
    withdrawalId: text("withdrawal_id").primaryKey(),
    network: text("network").notNull(),
    sender: text("sender").notNull(),
    /** `open` until an attempt of it has landed, or all are dead and D1 keeps others from being made. */
    status: text("status").$type<"open" | "final">().notNull(),
    /** 1: no further attempt is signed. */
    givenUp: integer("given_up").notNull(),
    /** 1: a person wants another attempt, whatever the deadline says. */
    hurried: integer("hurried").notNull(),
    createdAt: integer("created_at").notNull(),
    /** When a person is asked, unless it has landed by then. */
    deadlineAt: integer("deadline_at").notNull(),
  },
  (t) => [index("expiring_payments_open").on(t.network, t.sender).where(sql`status = 'open'`)],
);

/** Signed transactions that expire. A row is there before its bytes leave the process; one of a payment is live at most. */
export const expiringAttempts = sqliteTable(
  "expiring_attempts",
  {
    withdrawalId: text("withdrawal_id").notNull(),
    txId: text("tx_id").notNull(),
    /** From 1. Two have the same when another copy of this object had claimed the number: ours is `void` then. */
    number: integer("number").notNull(),
    /** Signed, and what was signed, hex; null: made by a copy of this object that is gone. */
    raw: text("raw"),
    unsigned: text("unsigned"),
    /** The last point at which it can land: milliseconds of block time, or a block height, as the chain has it. */
    expiresAt: integer("expires_at").notNull(),
    /** Final height when it was signed: it stands in no block at or below this one. */
    signedAbove: integer("signed_above").notNull(),
    /** Most that it may cost, base units of the native coin. */
    feeMost: text("fee_most").notNull(),
    /** 1 once D1 says that the number is this attempt's. Nothing is sent before. */
    claimed: integer("claimed").notNull(),
    /** `dead`: in no final block up to its expiry. `void`: its number was another's, and it never left the process. */
    status: text("status").$type<"live" | "landed" | "dead" | "void">().notNull(),
    landedHeight: integer("landed_height"),
    landedHash: text("landed_hash"),
    feeUnits: text("fee_units"),
    /** How far final blocks were when it was found in none of them. */
    deadPoint: integer("dead_point"),
    /** Why it is not sent, as nodes said that tried it; null: nothing speaks against it. */
    refusal: text("refusal"),
    signedAt: integer("signed_at").notNull(),
    firstSentAt: integer("first_sent_at"),
    /** null: to be sent now. */
    lastSentAt: integer("last_sent_at"),
    sends: integer("sends").notNull(),
    outcome: text("outcome").$type<SendMeaning>(),
  },
  (t) => [primaryKey({ columns: [t.withdrawalId, t.txId] }), index("expiring_attempts_tx").on(t.txId)],
);

/** Things that happen and leave no other row. */
export const counters = sqliteTable("counters", {
  name: text("name").primaryKey(),
  value: integer("value").notNull(),
});

/** What callers did and tried. Rows are only ever added; each one's hash covers the row before. */
export const auditLog = sqliteTable("audit_log", {
  seq: integer("seq").primaryKey(),
  at: integer("at").notNull(),
  keyId: text("key_id").notNull(),
  via: text("via").$type<"api_key" | "session">().notNull(),
  requestId: text("request_id").notNull(),
  call: text("call").notNull(),
  subject: text("subject"),
  outcome: text("outcome").notNull(),
  clientAddress: text("client_address"),
  userAgent: text("user_agent"),
  hash: text("hash").notNull(),
});

export const reconciliations = sqliteTable("reconciliations", {
  seq: integer("seq").primaryKey(),
  at: integer("at").notNull(),
  report: text("report", { mode: "json" }).$type<ReconciliationView>().notNull(),
});

/** Incidents of this tenant, and what may become one. Nothing is here while all is well. */
export const incidents = sqliteTable(
  "incidents",
  {
    seq: integer("seq").primaryKey(),
    id: text("id").notNull().unique(),
    kind: text("kind").$type<TenantIncidentKind>().notNull(),
    subject: text("subject").notNull(),
    network: text("network"),
    firstSeenAt: integer("first_seen_at").notNull(),
    looks: integer("looks").notNull(),
    /** null: suspected. */
    openedAt: integer("opened_at"),
    /** Since when it is well again; null: it is not. */
    wellSince: integer("well_since"),
    closedAt: integer("closed_at"),
    summary: text("summary").notNull(),
    evidence: text("evidence", { mode: "json" }).$type<Evidence>().notNull(),
    /** When summary and evidence were written. */
    shownAt: integer("shown_at").notNull(),
    /** Rises with what others are to hear of; up to which they have. */
    revision: integer("revision").notNull(),
    toldRevision: integer("told_revision").notNull(),
  },
  (t) => [
    uniqueIndex("incidents_current").on(t.kind, t.subject).where(sql`closed_at IS NULL`),
    index("incidents_untold").on(t.seq).where(sql`told_revision < revision`),
  ],
);
