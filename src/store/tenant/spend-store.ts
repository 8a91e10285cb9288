/**
 * Spends of coins, what each may use, whom each pays, and the bytes signed for it. A spend is deleted only while
 * nothing can have been signed for it; an attempt never changes but for what became of it.
 */

import { and, asc, desc, eq, sql } from "drizzle-orm";
import type { SendMeaning } from "../../core/send-answer.ts";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { spendAttempts, spendInputs, spendMembers, spends } from "./schema.ts";

export type SpendRow = typeof spends.$inferSelect;
export type SpendMemberRow = typeof spendMembers.$inferSelect;
export type SpendInputRow = typeof spendInputs.$inferSelect;
export type SpendAttemptRow = typeof spendAttempts.$inferSelect;
export type SpendKey = Pick<SpendRow, "network" | "sender" | "number">;

type OfSpend = typeof spends | typeof spendMembers | typeof spendInputs | typeof spendAttempts;

/** One spend of one wallet, to be bound. */
const spendIs = (table: OfSpend) =>
  and(
    eq(table.network, sql.placeholder("network")),
    eq(table.sender, sql.placeholder("sender")),
    eq(table.number, sql.placeholder("number")),
  );
const openOf = prepared((db: TenantDb) =>
  db
    .select()
    .from(spends)
    .where(
      and(
        eq(spends.network, sql.placeholder("network")),
        eq(spends.sender, sql.placeholder("sender")),
        sql`${spends.status} = 'open'`,
      ),
    )
    .orderBy(asc(spends.number))
    .prepare(),
);
const oneSpend = prepared((db: TenantDb) => db.select().from(spends).where(spendIs(spends)).prepare());
const membersAt = prepared((db: TenantDb) =>
  db.select().from(spendMembers).where(spendIs(spendMembers)).orderBy(asc(spendMembers.place)).prepare(),
);
const inputsAt = prepared((db: TenantDb) =>
  db
    .select()
    .from(spendInputs)
    .where(spendIs(spendInputs))
    .orderBy(asc(spendInputs.txId), asc(spendInputs.vout))
    .prepare(),
);
const attemptsAt = prepared((db: TenantDb) =>
  db.select().from(spendAttempts).where(spendIs(spendAttempts)).orderBy(asc(spendAttempts.attempt)).prepare(),
);

export function insertSpend(db: TenantDb, row: SpendRow): void {
  db.insert(spends).values(row).run();
}

export function changeSpend(db: TenantDb, key: SpendKey, changes: Partial<Omit<SpendRow, keyof SpendKey>>): void {
  db.update(spends).set(changes).where(keyIs(spends, key)).run();
}

/** With all that belongs to it but its inputs. Only while nothing was signed for it. */
export function deleteSpend(db: TenantDb, key: SpendKey): void {
  db.delete(spendMembers).where(keyIs(spendMembers, key)).run();
  db.delete(spends).where(keyIs(spends, key)).run();
}

export function spendAt(db: TenantDb, key: SpendKey): SpendRow | undefined {
  const { network, sender, number } = key;
  return oneSpend(db).get({ network, sender, number });
}

/** The spend that this output is pinned for. */
export function spendOfPin(db: TenantDb, network: string, pin: { txId: string; vout: number }): SpendRow | undefined {
  return db
    .select()
    .from(spends)
    .where(and(eq(spends.network, network), eq(spends.pinTxId, pin.txId), eq(spends.pinVout, pin.vout)))
    .get();
}

/** Oldest first. */
export function openSpends(db: TenantDb, network: string, sender: string): SpendRow[] {
  return openOf(db).all({ network, sender });
}

/** Every open one, of every wallet. */
export function allOpenSpends(db: TenantDb): SpendRow[] {
  return db.select().from(spends).where(sql`${spends.status} = 'open'`).all();
}

/** The newest of a wallet, open or not, newest first. */
export function latestSpends(db: TenantDb, network: string, sender: string, limit: number): SpendRow[] {
  return db
    .select()
    .from(spends)
    .where(and(eq(spends.network, network), eq(spends.sender, sender)))
    .orderBy(desc(spends.number))
    .limit(limit)
    .all();
}

export function insertMember(db: TenantDb, row: SpendMemberRow): void {
  db.insert(spendMembers).values(row).run();
}

export function changeMember(db: TenantDb, withdrawalId: string, changes: { readonly givenUp: number }): void {
  db.update(spendMembers).set(changes).where(eq(spendMembers.withdrawalId, withdrawalId)).run();
}

export function removeMember(db: TenantDb, withdrawalId: string): void {
  db.delete(spendMembers).where(eq(spendMembers.withdrawalId, withdrawalId)).run();
}

/** In the order in which they are paid. */
export function membersOf(db: TenantDb, { network, sender, number }: SpendKey): SpendMemberRow[] {
  return membersAt(db).all({ network, sender, number });
}

export function memberOf(db: TenantDb, withdrawalId: string): SpendMemberRow | undefined {
  return db.select().from(spendMembers).where(eq(spendMembers.withdrawalId, withdrawalId)).get();
}

export function insertInput(db: TenantDb, row: SpendInputRow): void {
  db.insert(spendInputs).values(row).run();
}

export function changeInput(
  db: TenantDb,
  { network, txId, vout }: Pick<SpendInputRow, "network" | "txId" | "vout">,
  changes: Partial<Pick<SpendInputRow, "claimed" | "status" | "height">>,
): void {
  db.update(spendInputs)
    .set(changes)
    .where(and(eq(spendInputs.network, network), eq(spendInputs.txId, txId), eq(spendInputs.vout, vout)))
    .run();
}

export function removeInput(
  db: TenantDb,
  { network, txId, vout }: Pick<SpendInputRow, "network" | "txId" | "vout">,
): void {
  db.delete(spendInputs)
    .where(and(eq(spendInputs.network, network), eq(spendInputs.txId, txId), eq(spendInputs.vout, vout)))
    .run();
}

export function inputsOf(db: TenantDb, { network, sender, number }: SpendKey): SpendInputRow[] {
  return inputsAt(db).all({ network, sender, number });
}

export function inputAt(
  db: TenantDb,
  { network, txId, vout }: Pick<SpendInputRow, "network" | "txId" | "vout">,
): SpendInputRow | undefined {
  return db
    .select()
    .from(spendInputs)
    .where(and(eq(spendInputs.network, network), eq(spendInputs.txId, txId), eq(spendInputs.vout, vout)))
    .get();
}

/** What a final transaction left over, and D1 has still to give back. */
export function freedInputs(db: TenantDb, network: string, sender: string): SpendInputRow[] {
  return db
    .select()
    .from(spendInputs)
    .where(and(eq(spendInputs.network, network), eq(spendInputs.sender, sender), sql`${spendInputs.status} = 'freed'`))
    .all();
}

export function insertSpendAttempt(db: TenantDb, row: SpendAttemptRow): void {
  db.insert(spendAttempts).values(row).run();
}

/** In the order they were signed. */
export function spendAttemptsOf(db: TenantDb, { network, sender, number }: SpendKey): SpendAttemptRow[] {
  return attemptsAt(db).all({ network, sender, number });
}

/** Spends with an attempt of this id, or mined under it. */
export function spendsOfTx(db: TenantDb, txId: string): SpendKey[] {
  const signed = db.select().from(spendAttempts).where(eq(spendAttempts.txId, txId)).all();
  const mined = db
    .select()
    .from(spends)
    .where(and(sql`${spends.minedTxId} IS NOT NULL`, eq(spends.minedTxId, txId)))
    .all();
  return [...signed, ...mined].map(({ network, sender, number }) => ({ network, sender, number }));
}

/** Writes down that these bytes are about to leave, before they do. Their age in blocks counts from the first time. */
export function noteSpendSend(db: TenantDb, row: SpendAttemptRow, at: number, head: number): void {
  const first = row.firstSentAt === null ? { firstSentAt: at, signedHeight: head } : {};
  db.update(spendAttempts)
    .set({ ...first, lastSentAt: at, sends: row.sends + 1 })
    .where(attemptIs(row))
    .run();
}

/** Its block is gone: the same bytes go out again, at once, and are as good as new at this head. */
export function sendSpendAgain(db: TenantDb, key: SpendKey, head: number): void {
  db.update(spendAttempts).set({ lastSentAt: null, signedHeight: head }).where(keyIs(spendAttempts, key)).run();
}

export function noteSpendOutcome(db: TenantDb, row: SpendAttemptRow, outcome: SendMeaning): void {
  db.update(spendAttempts).set({ outcome }).where(attemptIs(row)).run();
}

function keyIs(table: OfSpend, { network, sender, number }: SpendKey) {
  return and(eq(table.network, network), eq(table.sender, sender), eq(table.number, number));
}

function attemptIs(row: SpendAttemptRow) {
  return and(keyIs(spendAttempts, row), eq(spendAttempts.attempt, row.attempt));
}
