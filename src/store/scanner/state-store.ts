/** The scanner's one row, its headers and its counters. */

import { and, desc, eq, gt, gte, lt, sql } from "drizzle-orm";
import type { BlockRef } from "../../core/window.ts";
import { insertAll } from "../insert-all.ts";
import { prepared } from "../prepared.ts";
import type { ScannerDb } from "./database.ts";
import { blocks, counters, scanner } from "./schema.ts";

export type ScannerState = Omit<typeof scanner.$inferSelect, "id">;

/** Below the window only every 32nd header is kept, this far back. */
const ANCHOR_SPACING = 32;
const ANCHOR_DEPTH = 8_192;

const theRow = prepared((db: ScannerDb) => db.select().from(scanner).prepare());
const theBlock = prepared((db: ScannerDb) =>
  db
    .select()
    .from(blocks)
    .where(eq(blocks.height, sql.placeholder("height")))
    .prepare(),
);

export function readState(db: ScannerDb): ScannerState | undefined {
  const row = theRow(db).get();
  if (row === undefined) return undefined;
  const { id: _id, ...state } = row;
  return state;
}

export function createState(db: ScannerDb, network: string): ScannerState {
  const state: ScannerState = {
    network,
    version: 0,
    claimedVersion: 0,
    scannedTo: null,
    windowFrom: null,
    finalized: -1,
    holdUntil: null,
    reopenedFrom: null,
    status: "ok",
    incidentId: null,
    incidentReason: null,
    incidentAt: null,
    internal: "unknown",
  };
  db.insert(scanner)
    .values({ id: 1, ...state })
    .run();
  return state;
}

export function updateState(db: ScannerDb, set: Partial<ScannerState>): void {
  db.update(scanner).set(set).where(eq(scanner.id, 1)).run();
}

export function blockAt(db: ScannerDb, height: number): BlockRef | undefined {
  const row = theBlock(db).get({ height });
  return row === undefined ? undefined : toBlock(row);
}

/** Headers from a height up, ascending. */
export function blocksFrom(db: ScannerDb, height: number, limit: number): BlockRef[] {
  return db
    .select()
    .from(blocks)
    .where(gte(blocks.height, height))
    .orderBy(blocks.height)
    .limit(limit)
    .all()
    .map(toBlock);
}

/** Every header kept, highest first: the window's and the anchors below it. */
export function allBlocksDescending(db: ScannerDb): BlockRef[] {
  return db.select().from(blocks).orderBy(desc(blocks.height)).all().map(toBlock);
}

export function insertBlocks(db: ScannerDb, list: readonly BlockRef[]): void {
  insertAll(
    db,
    blocks,
    list.map(({ height, hash, parentHash, timestamp }) => ({ height, hash, parentHash, timestampS: timestamp })),
  );
}

export function deleteBlocksAbove(db: ScannerDb, height: number): void {
  db.delete(blocks).where(gt(blocks.height, height)).run();
}

export function deleteAllBlocks(db: ScannerDb): void {
  db.delete(blocks).run();
}

/** Whether a header below the window is kept as an anchor. */
export function isAnchor(height: number): boolean {
  return height % ANCHOR_SPACING === 0;
}

/** Lets go of what lies below the window, but for its parent and the anchors. */
export function pruneBlocks(db: ScannerDb, windowBefore: number, windowFrom: number): void {
  db.delete(blocks)
    .where(
      and(
        gte(blocks.height, windowBefore - 1),
        lt(blocks.height, windowFrom - 1),
        sql`${blocks.height} % ${ANCHOR_SPACING} <> 0`,
      ),
    )
    .run();
  db.delete(blocks)
    .where(lt(blocks.height, windowFrom - ANCHOR_DEPTH))
    .run();
}

export function countUp(db: ScannerDb, name: string, by: number): void {
  if (by === 0) return;
  db.insert(counters)
    .values({ name, value: by })
    .onConflictDoUpdate({ target: counters.name, set: { value: sql`value + ${by}` } })
    .run();
}

export function allCounters(db: ScannerDb): Record<string, number> {
  return Object.fromEntries(
    db
      .select()
      .from(counters)
      .all()
      .map((row) => [row.name, row.value]),
  );
}

function toBlock(row: typeof blocks.$inferSelect): BlockRef {
  return { height: row.height, hash: row.hash, parentHash: row.parentHash, timestamp: row.timestampS };
}
