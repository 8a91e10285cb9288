/**
 * Nonces and the bytes signed for them. A slot is never deleted, and an attempt never changes but for what
 * became of it: what has left the process stays known.
 */

import { and, asc, eq, sql } from "drizzle-orm";
import type { SendMeaning } from "../../core/send-answer.ts";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { attempts, slots } from "./schema.ts";

export type SlotRow = typeof slots.$inferSelect;
export type AttemptRow = typeof attempts.$inferSelect;
export type SlotKey = Pick<SlotRow, "network" | "sender" | "nonce">;

/** One nonce of one wallet, to be bound. */
const nonceIs = (table: typeof slots | typeof attempts) =>
  and(
    eq(table.network, sql.placeholder("network")),
    eq(table.sender, sql.placeholder("sender")),
    eq(table.nonce, sql.placeholder("nonce")),
  );
const openOf = prepared((db: TenantDb) =>
  db
    .select()
    .from(slots)
    .where(
      and(
        eq(slots.network, sql.placeholder("network")),
        eq(slots.sender, sql.placeholder("sender")),
        sql`${slots.status} = 'open'`,
      ),
    )
    .orderBy(asc(slots.nonce))
    .prepare(),
);
const oneSlot = prepared((db: TenantDb) => db.select().from(slots).where(nonceIs(slots)).prepare());
const attemptsAt = prepared((db: TenantDb) =>
  db.select().from(attempts).where(nonceIs(attempts)).orderBy(asc(attempts.number)).prepare(),
);

export function insertSlot(db: TenantDb, row: SlotRow): void {
  db.insert(slots).values(row).run();
}

export function changeSlot(db: TenantDb, key: SlotKey, changes: Partial<Omit<SlotRow, keyof SlotKey>>): void {
  db.update(slots).set(changes).where(slotIs(key)).run();
}

export function slotAt(db: TenantDb, key: SlotKey): SlotRow | undefined {
  const { network, sender, nonce } = key;
  return oneSlot(db).get({ network, sender, nonce });
}

/** Lowest nonce first: a later one cannot be mined before an earlier one. */
export function openSlots(db: TenantDb, network: string, sender: string): SlotRow[] {
  return openOf(db).all({ network, sender });
}

/** Which of the nonces `from..below` have a slot. */
export function knownNonces(db: TenantDb, network: string, sender: string, from: number, below: number): Set<number> {
  const rows = db
    .select({ nonce: slots.nonce })
    .from(slots)
    .where(
      and(
        eq(slots.network, network),
        eq(slots.sender, sender),
        sql`${slots.nonce} >= ${from} AND ${slots.nonce} < ${below}`,
      ),
    )
    .all();
  return new Set(rows.map(({ nonce }) => nonce));
}

/** Every open one, of every wallet. */
export function allOpenSlots(db: TenantDb): SlotRow[] {
  return db.select().from(slots).where(sql`${slots.status} = 'open'`).all();
}

/** Slots of a wallet from a nonce on, lowest first. */
export function slotsFrom(db: TenantDb, network: string, sender: string, from: number, limit: number): SlotRow[] {
  return db
    .select()
    .from(slots)
    .where(and(eq(slots.network, network), eq(slots.sender, sender), sql`${slots.nonce} >= ${from}`))
    .orderBy(asc(slots.nonce))
    .limit(limit)
    .all();
}

/** The first nonce that a wallet was ever given here; null when it was given none. */
export function firstNonce(db: TenantDb, network: string, sender: string): number | null {
  return slotsFrom(db, network, sender, 0, 1)[0]?.nonce ?? null;
}

export function insertAttempt(db: TenantDb, row: AttemptRow): void {
  db.insert(attempts).values(row).run();
}

/** In the order they were signed. */
export function attemptsOf(db: TenantDb, key: SlotKey): AttemptRow[] {
  const { network, sender, nonce } = key;
  return attemptsAt(db).all({ network, sender, nonce });
}

/** The withdrawals whose slot has an attempt with this hash. */
export function withdrawalsOfTx(db: TenantDb, txId: string): string[] {
  const rows = db
    .select({ id: slots.withdrawalId })
    .from(attempts)
    .innerJoin(
      slots,
      and(eq(slots.network, attempts.network), eq(slots.sender, attempts.sender), eq(slots.nonce, attempts.nonce)),
    )
    .where(eq(attempts.txId, txId))
    .all();
  return rows.flatMap(({ id }) => id ?? []);
}

/** Writes down that these bytes are about to leave, before they do. Their age in blocks counts from the first time. */
export function noteSend(db: TenantDb, attempt: AttemptRow, at: number, head: number): void {
  const first = attempt.firstSentAt === null ? { firstSentAt: at, signedHeight: head } : {};
  db.update(attempts)
    .set({ ...first, lastSentAt: at, sends: attempt.sends + 1 })
    .where(attemptIs(attempt))
    .run();
}

/** Its block is gone: the same bytes go out again, at once, and are as good as new at this head. */
export function sendAgain(db: TenantDb, key: SlotKey, head: number): void {
  db.update(attempts)
    .set({ lastSentAt: null, signedHeight: head })
    .where(and(eq(attempts.network, key.network), eq(attempts.sender, key.sender), eq(attempts.nonce, key.nonce)))
    .run();
}

export function noteOutcome(db: TenantDb, attempt: AttemptRow, outcome: SendMeaning): void {
  db.update(attempts).set({ outcome }).where(attemptIs(attempt)).run();
}

function slotIs(key: SlotKey) {
  return and(eq(slots.network, key.network), eq(slots.sender, key.sender), eq(slots.nonce, key.nonce));
}

function attemptIs(row: AttemptRow) {
  return and(
    eq(attempts.network, row.network),
    eq(attempts.sender, row.sender),
    eq(attempts.nonce, row.nonce),
    eq(attempts.number, row.number),
  );
}
