/** Withdrawals and the steps they took. A state changes only together with the row of its step. */

import { and, asc, desc, eq, gte, inArray, isNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import { unitsFromText } from "../../core/amount.ts";
import { OPEN_STATES, type WithdrawalState } from "../../core/withdrawal.ts";
import { insertionInto, prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { idempotency, withdrawals, withdrawalTransitions } from "./schema.ts";

export type WithdrawalRow = typeof withdrawals.$inferSelect;
export type TransitionRow = typeof withdrawalTransitions.$inferSelect;

export interface Step {
  readonly from: WithdrawalState | null;
  readonly to: WithdrawalState;
  readonly reason: string;
  readonly evidence: string | null;
  readonly at: number;
}

/** Columns that may change with a step. */
export type Changes = Partial<Pick<WithdrawalRow, "sender" | "nonce" | "txId" | "feeUnits" | "waitingFor">>;

const byId = prepared((db: TenantDb) =>
  db
    .select()
    .from(withdrawals)
    .where(eq(withdrawals.id, sql.placeholder("id")))
    .prepare(),
);
const byKey = prepared((db: TenantDb) =>
  db
    .select()
    .from(withdrawals)
    .where(
      and(eq(withdrawals.idempotencyKey, sql.placeholder("key")), eq(withdrawals.account, sql.placeholder("account"))),
    )
    .prepare(),
);
const useOfKey = prepared((db: TenantDb) => {
  const own = sql<string | null>`(SELECT ${withdrawals.id} FROM ${withdrawals}
    WHERE ${withdrawals.idempotencyKey} = ${sql.placeholder("key")} AND ${withdrawals.account} = ${sql.placeholder("account")})`;
  const other = sql<string | null>`(SELECT ${idempotency.key} FROM ${idempotency}
    WHERE ${idempotency.key} = ${sql.placeholder("key")})`;
  return db.select({ id: own, other }).from(sql`(SELECT 1)`).prepare();
});
const lastStep = prepared((db: TenantDb) =>
  db
    .select({ number: sql<number>`coalesce(max(number), 0)` })
    .from(withdrawalTransitions)
    .where(eq(withdrawalTransitions.withdrawalId, sql.placeholder("withdrawalId")))
    .prepare(),
);
const steps = prepared((db: TenantDb) =>
  db
    .select()
    .from(withdrawalTransitions)
    .where(eq(withdrawalTransitions.withdrawalId, sql.placeholder("withdrawalId")))
    .orderBy(asc(withdrawalTransitions.number))
    .prepare(),
);

const newWithdrawal = insertionInto(withdrawals);
const newStep = insertionInto(withdrawalTransitions);

export function insertWithdrawal(db: TenantDb, row: Omit<WithdrawalRow, "seq">): void {
  newWithdrawal(db, { ...row, seq: null });
}

/** @param number the step's place in the record, from 1 */
export function insertStep(db: TenantDb, withdrawalId: string, number: number, step: Step): void {
  newStep(db, { withdrawalId, number, ...step });
}

/** Appends a step to the record. The caller has changed the state in the same commit. */
export function appendStep(db: TenantDb, withdrawalId: string, step: Step): void {
  const last = lastStep(db).get({ withdrawalId });
  insertStep(db, withdrawalId, (last?.number ?? 0) + 1, step);
}

/** Changes the state only from the one it is believed to be in. @returns whether it was */
export function changeState(
  db: TenantDb,
  id: string,
  step: { readonly from: WithdrawalState; readonly to: WithdrawalState; readonly at: number },
  changes: Changes,
): boolean {
  const changed = db
    .update(withdrawals)
    .set({ ...changes, state: step.to, updatedAt: step.at })
    .where(and(eq(withdrawals.id, id), eq(withdrawals.state, step.from)))
    .returning({ id: withdrawals.id })
    .all();
  return changed.length === 1;
}

/** What is not a step: what it waits for, its latest transaction. */
export function changeWithdrawal(db: TenantDb, id: string, changes: Changes): void {
  db.update(withdrawals).set(changes).where(eq(withdrawals.id, id)).run();
}

export function withdrawalById(db: TenantDb, id: string): WithdrawalRow | undefined {
  return byId(db).get({ id });
}

export function withdrawalByKey(db: TenantDb, account: string, key: string): WithdrawalRow | undefined {
  return byKey(db).get({ key, account });
}

/** What a key that is sent with a withdrawal names already, in one look: its withdrawal, another call, or nothing. */
export function useOfWithdrawalKey(db: TenantDb, account: string, key: string): WithdrawalRow | "other_call" | null {
  const { id, other } = useOfKey(db).get({ key, account }) ?? { id: null, other: null };
  if (id !== null) return withdrawalById(db, id) ?? null;
  return other === null ? null : "other_call";
}

/** Whether any account used this key for a withdrawal. */
export function isWithdrawalKey(db: TenantDb, key: string): boolean {
  return (
    db.select({ id: withdrawals.id }).from(withdrawals).where(eq(withdrawals.idempotencyKey, key)).limit(1).get() !==
    undefined
  );
}

export function stepsOf(db: TenantDb, withdrawalId: string): TransitionRow[] {
  return steps(db).all({ withdrawalId });
}

/** In the order they were asked for. */
export function withdrawalsIn(
  db: TenantDb,
  network: string,
  states: readonly WithdrawalState[],
  limit: number,
): WithdrawalRow[] {
  return db
    .select()
    .from(withdrawals)
    .where(and(eq(withdrawals.network, network), inOpenStates(states)))
    .orderBy(asc(withdrawals.seq))
    .limit(limit)
    .all();
}

/** Reserved and not given a nonce, in the order they were asked for. */
export function withdrawalsWithoutNonce(db: TenantDb, network: string, limit: number): WithdrawalRow[] {
  return db
    .select()
    .from(withdrawals)
    .where(and(eq(withdrawals.network, network), inOpenStates(["funds_reserved"]), isNull(withdrawals.nonce)))
    .orderBy(asc(withdrawals.seq))
    .limit(limit)
    .all();
}

/** The same, but those that had their turn in vain behind those that were there by then. */
export function withdrawalsInTurn(db: TenantDb, network: string, limit: number): WithdrawalRow[] {
  return db
    .select()
    .from(withdrawals)
    .where(and(eq(withdrawals.network, network), inOpenStates(["funds_reserved"]), isNull(withdrawals.nonce)))
    .orderBy(sql`coalesce(${withdrawals.turnAt}, ${withdrawals.createdAt})`, asc(withdrawals.seq))
    .limit(limit)
    .all();
}

/** They had their turn, in vain. @param ids a hundred at most */
export function noteTurn(db: TenantDb, ids: readonly string[], at: number): void {
  if (ids.length > 0)
    db.update(withdrawals)
      .set({ turnAt: at })
      .where(inArray(withdrawals.id, [...ids]))
      .run();
}

/** In a person's hands, or in their present state since before a moment and not waiting for an approval. */
export function withdrawalsUnmoved(db: TenantDb, network: string, before: number, limit: number): WithdrawalRow[] {
  const isUnmoved = and(
    inOpenStates(["funds_reserved", "broadcast_pending", "confirmation_tracking"]),
    lte(withdrawals.updatedAt, before),
  );
  return db
    .select()
    .from(withdrawals)
    .where(and(eq(withdrawals.network, network), or(inOpenStates(["manual_review"]), isUnmoved)))
    .orderBy(asc(withdrawals.seq))
    .limit(limit)
    .all();
}

export function withdrawalsThatWaitFor(
  db: TenantDb,
  network: string,
  waitingFor: string,
  limit: number,
): WithdrawalRow[] {
  return db
    .select()
    .from(withdrawals)
    .where(and(eq(withdrawals.network, network), inOpenStates(OPEN_STATES), eq(withdrawals.waitingFor, waitingFor)))
    .orderBy(asc(withdrawals.seq))
    .limit(limit)
    .all();
}

/** Every open one, on all networks. */
export function openWithdrawals(db: TenantDb): WithdrawalRow[] {
  return db.select().from(withdrawals).where(inOpenStates(OPEN_STATES)).orderBy(asc(withdrawals.seq)).all();
}

/** Open ones by network and state, with the moment the oldest of them was asked for, unix ms. */
export function openByState(db: TenantDb): { network: string; state: WithdrawalState; n: number; oldest: number }[] {
  return db
    .select({
      network: withdrawals.network,
      state: withdrawals.state,
      n: sql<number>`count(*)`,
      oldest: sql<number>`min(${withdrawals.createdAt})`,
    })
    .from(withdrawals)
    .where(inOpenStates(OPEN_STATES))
    .groupBy(withdrawals.network, withdrawals.state)
    .all();
}

/** Repeats the partial index's own condition, without which SQLite would not use it. */
function inOpenStates(states: readonly WithdrawalState[]): SQL | undefined {
  return and(
    sql`${withdrawals.state} NOT IN ('confirmed', 'failed', 'cancelled', 'rejected')`,
    inArray(withdrawals.state, [...states]),
  );
}

export interface WithdrawalQuery {
  readonly network?: string;
  readonly account?: string;
  readonly assets?: readonly { readonly network: string; readonly asset: string }[];
  readonly state?: WithdrawalState;
  readonly externalId?: string;
  readonly idempotencyKey?: string;
  /** Ids of withdrawals that have an attempt asked for. */
  readonly ids?: readonly string[];
}

/** Newest first, strictly below `before`. */
export function listWithdrawals(
  db: TenantDb,
  query: WithdrawalQuery,
  before: number | null,
  limit: number,
): WithdrawalRow[] {
  const conditions: (SQL | undefined)[] = [];
  if (before !== null) conditions.push(lt(withdrawals.seq, before));
  if (query.network !== undefined) conditions.push(eq(withdrawals.network, query.network));
  if (query.account !== undefined) conditions.push(eq(withdrawals.account, query.account));
  if (query.state !== undefined) conditions.push(eq(withdrawals.state, query.state));
  if (query.externalId !== undefined) conditions.push(eq(withdrawals.externalId, query.externalId));
  if (query.idempotencyKey !== undefined) conditions.push(eq(withdrawals.idempotencyKey, query.idempotencyKey));
  if (query.ids !== undefined) {
    conditions.push(sql`${withdrawals.id} IN (SELECT value FROM json_each(${JSON.stringify(query.ids)}))`);
  }
  if (query.assets !== undefined) {
    const list = JSON.stringify(query.assets.map((a) => [a.network, a.asset]));
    conditions.push(sql`(${withdrawals.network}, ${withdrawals.asset}) IN
      (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(${list}))`);
  }
  return db
    .select()
    .from(withdrawals)
    .where(and(...conditions))
    .orderBy(desc(withdrawals.seq))
    .limit(limit)
    .all();
}

/** What was asked for of an asset since a moment, and not refused or given back. Base units. */
export function askedSince(db: TenantDb, network: string, asset: string, since: number): bigint {
  const rows = db
    .select({ amountUnits: withdrawals.amountUnits })
    .from(withdrawals)
    .where(
      and(
        eq(withdrawals.asset, asset),
        eq(withdrawals.network, network),
        gte(withdrawals.createdAt, since),
        sql`${withdrawals.state} NOT IN ('failed', 'cancelled', 'rejected')`,
      ),
    )
    .all();
  return rows.reduce((sum, row) => sum + unitsFromText(row.amountUnits), 0n);
}
