/**
 * D1 is the fence across objects: keys that must be unique for everybody, and nothing that one object can
 * own alone.
 */

import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

export const tenants = sqliteTable("tenants", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  email: text("email"),
  createdAt: integer("created_at").notNull(),
});

/** The operator's view of keys and their revocation. Requests are decided by the tenant's object. */
export const apiKeys = sqliteTable("api_keys", {
  id: text("id").primaryKey(),
  tenantId: text("tenant_id").notNull(),
  hash: text("hash").notNull().unique(),
  scopes: text("scopes").notNull(),
  createdAt: integer("created_at").notNull(),
  expiresAt: integer("expires_at"),
  revokedAt: integer("revoked_at"),
});

/** One sign-up per client and idempotency key. */
export const signUpKeys = sqliteTable("sign_up_keys", {
  scopeHash: text("scope_hash").primaryKey(),
  fingerprint: text("fingerprint").notNull(),
  tenantId: text("tenant_id").notNull(),
  keyId: text("key_id").notNull(),
  createdAt: integer("created_at").notNull(),
});

/** An address belongs to one tenant at a time. */
export const addresses = sqliteTable(
  "addresses",
  {
    network: text("network").notNull(),
    address: text("address").notNull(),
    tenantId: text("tenant_id").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.network, t.address] })],
);

/**
 * One index below one account's key is handed out once on a network: also if two tenants have registered the key, and
 * also after an object was restored from an older copy. A row is never deleted.
 */
export const xpubIndexes = sqliteTable(
  "xpub_indexes",
  {
    network: text("network").notNull(),
    /** Of the account and its type; the key itself is not here. */
    keyHash: text("key_hash").notNull(),
    idx: integer("idx").notNull(),
    tenantId: text("tenant_id").notNull(),
    addressId: text("address_id").notNull(),
    /** Hash of the request that named itself by an idempotency key and has this index; null: none has. */
    request: text("request"),
    /** 1: nobody held its address when it was claimed, and the claim in `addresses` was made for this index. */
    hasAddress: integer("has_address").notNull().default(0),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.keyHash, t.idx] }),
    uniqueIndex("xpub_indexes_address").on(t.addressId),
    uniqueIndex("xpub_indexes_request").on(t.request).where(sql`request IS NOT NULL`),
  ],
);

/** One payment is credited to one tenant, whichever object says so. */
export const depositKeys = sqliteTable(
  "deposit_keys",
  {
    network: text("network").notNull(),
    txId: text("tx_id").notNull(),
    transferIndex: text("transfer_index").notNull(),
    tenantId: text("tenant_id").notNull(),
  },
  (t) => [primaryKey({ columns: [t.network, t.txId, t.transferIndex] })],
);

/** Endpoints that wait longer than a minute for their alarm: cron looks whether it is still set. */
export const endpointWaits = sqliteTable(
  "endpoint_waits",
  { endpointId: text("endpoint_id").primaryKey(), dueAt: integer("due_at").notNull() },
  (t) => [index("endpoint_waits_due").on(t.dueAt)],
);

/** A key names one withdrawal for ever, also after the tenant's object was restored from an older copy. */
export const withdrawalKeys = sqliteTable(
  "withdrawal_keys",
  {
    tenantId: text("tenant_id").notNull(),
    account: text("account").notNull(),
    idempotencyKey: text("idempotency_key").notNull(),
    fingerprint: text("fingerprint").notNull(),
    withdrawalId: text("withdrawal_id").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.account, t.idempotencyKey] })],
);

/** One nonce of one hot wallet carries one withdrawal, also if two tenants load the same key. */
export const walletNonces = sqliteTable(
  "wallet_nonces",
  {
    network: text("network").notNull(),
    sender: text("sender").notNull(),
    nonce: integer("nonce").notNull(),
    tenantId: text("tenant_id").notNull(),
    /** What the nonce carries: a withdrawal's id, or a name for one that only fills a gap. */
    subject: text("subject").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.sender, t.nonce] }),
    /** A withdrawal has one nonce for ever, also after its object was restored from a copy that did not know it. */
    uniqueIndex("wallet_nonces_subject").on(t.subject),
  ],
);

/** One output of a hot wallet is for one spend, whatever copy of an object says so. A spend is named by its pinned output. */
export const spentOutputs = sqliteTable(
  "spent_outputs",
  {
    network: text("network").notNull(),
    txId: text("tx_id").notNull(),
    vout: integer("vout").notNull(),
    tenantId: text("tenant_id").notNull(),
    /** `txid:vout` of the pinned output of the spend that may use it; of the pinned one itself, its own. */
    pin: text("pin").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.network, t.txId, t.vout] }), index("spent_outputs_pin").on(t.network, t.pin)],
);

/** A withdrawal has one pinned output for ever, also after its object was restored from a copy that did not know it. */
export const spendMembers = sqliteTable(
  "spend_members",
  {
    withdrawalId: text("withdrawal_id").primaryKey(),
    tenantId: text("tenant_id").notNull(),
    network: text("network").notNull(),
    pin: text("pin").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [index("spend_members_pin").on(t.network, t.pin)],
);

/**
 * Signed transactions that expire by themselves, each before it is sent: a copy of an object that does not know one
 * learns here that it must wait for it. A row is never deleted.
 */
export const liveAttempts = sqliteTable(
  "live_attempts",
  {
    withdrawalId: text("withdrawal_id").notNull(),
    number: integer("number").notNull(),
    tenantId: text("tenant_id").notNull(),
    network: text("network").notNull(),
    sender: text("sender").notNull(),
    /** null: no further attempt is made, whatever copy of the object asks. */
    txId: text("tx_id"),
    /** As the tenant's own row has them; null with `tx_id`. */
    expiresAt: integer("expires_at"),
    signedAbove: integer("signed_above"),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.withdrawalId, t.number] })],
);

/** Tenants with withdrawals under way: cron looks whether their alarm is still set, and reconciles them. */
export const tenantWork = sqliteTable(
  "tenant_work",
  {
    tenantId: text("tenant_id").primaryKey(),
    dueAt: integer("due_at").notNull(),
    /** Both zero, and read by nobody: the monitor is told these. */
    unresolved: integer("unresolved").notNull(),
    mismatches: integer("mismatches").notNull(),
  },
  (t) => [index("tenant_work_due").on(t.dueAt)],
);
