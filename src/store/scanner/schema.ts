/**
 * The tables of one network's scanner. Blocks and transfers live here only as long as they may still be
 * replaced or are not yet acknowledged; what merchants are told lives with the tenants.
 */

import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** One row. */
export const scanner = sqliteTable("scanner", {
  id: integer("id").primaryKey(),
  network: text("network").notNull(),
  /** Counts commits that changed what the chain says. */
  version: integer("version").notNull(),
  /** Every transfer added at or below this version holds its claim in D1. */
  claimedVersion: integer("claimed_version").notNull(),
  /** Highest block read; null before the first. Its header is in `blocks`. */
  scannedTo: integer("scanned_to"),
  /** First height that may still be replaced. */
  windowFrom: integer("window_from"),
  finalized: integer("finalized").notNull(),
  /** Nothing is delivered before `scanned_to` reaches this again, after a person reopened final heights. */
  holdUntil: integer("hold_until"),
  reopenedFrom: integer("reopened_from"),
  status: text("status").$type<"ok" | "halted">().notNull(),
  incidentId: text("incident_id"),
  incidentReason: text("incident_reason"),
  incidentAt: integer("incident_at"),
  internal: text("internal").$type<"traced" | "untraced" | "off" | "unknown">().notNull(),
});

/**
 * Headers from one below the window to the tip, without a gap, each the parent of the next; below that
 * only every 32nd one, as anchors for the case that a person reopens what was final.
 */
export const blocks = sqliteTable("blocks", {
  height: integer("height").primaryKey(),
  hash: text("hash").notNull(),
  parentHash: text("parent_hash").notNull(),
  timestampS: integer("timestamp_s").notNull(),
});

export const tenants = sqliteTable(
  "tenants",
  {
    n: integer("n").primaryKey(),
    tenantId: text("tenant_id").notNull().unique(),
    /** Version the tenant acknowledged last; null: it needs the whole. */
    ackedVersion: integer("acked_version"),
    /** 1 while something changed for this tenant since `acked_version`. */
    dirty: integer("dirty").notNull(),
    /** Window start when the tenant became dirty: its transfers from here on are kept. */
    keptFrom: integer("kept_from").notNull(),
    /** Nothing that was added for it since `acked_version` lies below this height. Means something while `dirty` is 1. */
    changedFrom: integer("changed_from").notNull().default(0),
    nextHeight: integer("next_height"),
    nextFinalized: integer("next_finalized"),
    /** Not called before this moment, unix milliseconds: it could not be told lately. */
    retryAt: integer("retry_at").notNull().default(0),
    /** How often in a row it could not be told. */
    failures: integer("failures").notNull().default(0),
  },
  (t) => [
    index("tenants_dirty").on(t.dirty).where(sql`dirty = 1`),
    index("tenants_next_height").on(t.nextHeight).where(sql`next_height IS NOT NULL`),
    index("tenants_next_finalized").on(t.nextFinalized).where(sql`next_finalized IS NOT NULL`),
  ],
);

/** Who owned an address over which heights. Intervals of one address do not overlap. */
export const addresses = sqliteTable(
  "addresses",
  {
    address: text("address").notNull(),
    fromHeight: integer("from_height").notNull(),
    tenant: integer("tenant").notNull(),
    /** Last height that counts; null: still watched. */
    untilHeight: integer("until_height"),
  },
  (t) => [
    primaryKey({ columns: [t.address, t.fromHeight] }),
    index("addresses_tenant").on(t.tenant),
    index("addresses_until").on(t.untilHeight).where(sql`until_height IS NOT NULL`),
  ],
);

/** Tokens listed by single tenants; built-in ones come from the settings. */
export const tokens = sqliteTable(
  "tokens",
  { contract: text("contract").notNull(), tenant: integer("tenant").notNull() },
  (t) => [primaryKey({ columns: [t.contract, t.tenant] })],
);

/**
 * Payments to watched addresses on the best chain, inside the window or not yet acknowledged: those of one tenant in one
 * block in one row, or in as few as hold them. One entry at most for each key.
 */
export const payments = sqliteTable(
  "payments",
  {
    height: integer("height").notNull(),
    tenant: integer("tenant").notNull(),
    part: integer("part").notNull(),
    addedVersion: integer("added_version").notNull(),
    blockHash: text("block_hash").notNull(),
    timestampS: integer("timestamp_s").notNull(),
    list: text("list", { mode: "json" }).$type<readonly PaymentEntry[]>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.height, t.tenant, t.part] })],
);

/** Amount in base units as text. */
export type PaymentEntry = readonly [
  txId: string,
  transferIndex: string,
  address: string,
  asset: string,
  amountUnits: string,
  leastDepth: number,
  memo: string | null,
];

/** Payments that wait to be mined, at the height `UNMINED`: they come and go one by one. */
export const transfers = sqliteTable(
  "transfers",
  {
    height: integer("height").notNull(),
    txId: text("tx_id").notNull(),
    transferIndex: text("transfer_index").notNull(),
    tenant: integer("tenant").notNull(),
    address: text("address").notNull(),
    asset: text("asset").notNull(),
    amountUnits: text("amount_units").notNull(),
    blockHash: text("block_hash").notNull(),
    timestampS: integer("timestamp_s").notNull(),
    addedVersion: integer("added_version").notNull(),
    leastDepth: integer("least_depth").notNull().default(1),
    memo: text("memo"),
  },
  (t) => [
    primaryKey({ columns: [t.height, t.txId, t.transferIndex] }),
    index("transfers_tenant").on(t.tenant, t.addedVersion),
  ],
);

/** Keys taken off the best chain, or gone from where they waited, until their tenant acknowledged it. */
export const removals = sqliteTable(
  "removals",
  {
    tenant: integer("tenant").notNull(),
    version: integer("version").notNull(),
    txId: text("tx_id").notNull(),
    transferIndex: text("transfer_index").notNull(),
    /** 1: it waited to be mined. It says nothing against a payment that is in a block. */
    wasUnmined: integer("was_unmined").notNull().default(0),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.version, t.txId, t.transferIndex] })],
);

/** Past heights still to be read for a tenant. */
export const backfills = sqliteTable(
  "backfills",
  {
    seq: integer("seq").primaryKey(),
    id: text("id").notNull().unique(),
    tenant: integer("tenant").notNull(),
    /** One address alone, or null for all of the tenant's. */
    address: text("address"),
    toHeight: integer("to_height").notNull(),
    nextHeight: integer("next_height").notNull(),
    /** Slices in a row that failed. */
    failures: integer("failures").notNull(),
    dueAt: integer("due_at").notNull(),
  },
  (t) => [index("backfills_due").on(t.dueAt), index("backfills_tenant").on(t.tenant, t.address)],
);

/** What a tenant still has to hear about the network itself. */
export const notices = sqliteTable(
  "notices",
  {
    tenant: integer("tenant").notNull(),
    id: text("id").notNull(),
    type: text("type").$type<"network.halted" | "network.resumed">().notNull(),
    reason: text("reason").notNull(),
    height: integer("height"),
    at: integer("at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.id, t.type] })],
);

export const counters = sqliteTable("counters", {
  name: text("name").primaryKey(),
  value: integer("value").notNull(),
});
