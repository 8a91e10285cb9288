/**
 * Payments whose transactions expire by themselves, and what was signed for each. Nothing is deleted, and an attempt
 * never changes but for what became of it.
 */

import { and, asc, eq, sql } from "drizzle-orm";
import type { SendMeaning } from "../../core/send-answer.ts";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { expiringAttempts, expiringPayments } from "./schema.ts";

export type ExpiringPaymentRow = typeof expiringPayments.$inferSelect;
export type ExpiringAttemptRow = typeof expiringAttempts.$inferSelect;

const openOf = prepared((db: TenantDb) =>
  db
    .select()
    .from(expiringPayments)
    .where(
      and(
        eq(expiringPayments.network, sql.placeholder("network")),
        eq(expiringPayments.sender, sql.placeholder("sender")),
        sql`${expiringPayments.status} = 'open'`,
      ),
    )
    .orderBy(asc(expiringPayments.createdAt), asc(expiringPayments.withdrawalId))
    .prepare(),
);
const onePayment = prepared((db: TenantDb) =>
  db
    .select()
    .from(expiringPayments)
    .where(eq(expiringPayments.withdrawalId, sql.placeholder("withdrawalId")))
    .prepare(),
);
const attemptsAt = prepared((db: TenantDb) =>
  db
    .select()
    .from(expiringAttempts)
    .where(eq(expiringAttempts.withdrawalId, sql.placeholder("withdrawalId")))
    .orderBy(asc(expiringAttempts.number), asc(expiringAttempts.signedAt), asc(expiringAttempts.txId))
    .prepare(),
);

export function insertExpiringPayment(db: TenantDb, row: ExpiringPaymentRow): void {
  db.insert(expiringPayments).values(row).run();
}

export function changeExpiringPayment(
  db: TenantDb,
  withdrawalId: string,
  changes: Partial<Pick<ExpiringPaymentRow, "status" | "givenUp" | "hurried" | "deadlineAt">>,
): void {
  db.update(expiringPayments).set(changes).where(eq(expiringPayments.withdrawalId, withdrawalId)).run();
}

export function expiringPaymentOf(db: TenantDb, withdrawalId: string): ExpiringPaymentRow | undefined {
  return onePayment(db).get({ withdrawalId });
}

/** Oldest first. */
export function openExpiringPayments(db: TenantDb, network: string, sender: string): ExpiringPaymentRow[] {
  return openOf(db).all({ network, sender });
}

/** Every open one, of every wallet. */
export function allOpenExpiringPayments(db: TenantDb): ExpiringPaymentRow[] {
  return db.select().from(expiringPayments).where(sql`${expiringPayments.status} = 'open'`).all();
}

export function insertExpiringAttempt(db: TenantDb, row: ExpiringAttemptRow): void {
  db.insert(expiringAttempts).values(row).run();
}

/** In the order of their numbers. */
export function expiringAttemptsOf(db: TenantDb, withdrawalId: string): ExpiringAttemptRow[] {
  return attemptsAt(db).all({ withdrawalId });
}

export function changeExpiringAttempt(
  db: TenantDb,
  { withdrawalId, txId }: Pick<ExpiringAttemptRow, "withdrawalId" | "txId">,
  changes: Partial<
    Pick<
      ExpiringAttemptRow,
      "claimed" | "status" | "landedHeight" | "landedHash" | "feeUnits" | "deadPoint" | "refusal"
    >
  >,
): void {
  db.update(expiringAttempts).set(changes).where(attemptIs({ withdrawalId, txId })).run();
}

/** Withdrawals for which a transaction with this id was signed. */
export function withdrawalsOfExpiringTx(db: TenantDb, txId: string): string[] {
  return db
    .select({ id: expiringAttempts.withdrawalId })
    .from(expiringAttempts)
    .where(eq(expiringAttempts.txId, txId))
    .all()
    .map(({ id }) => id);
}

/** Writes down that these bytes are about to leave, before they do. */
export function noteExpiringSend(db: TenantDb, row: ExpiringAttemptRow, at: number): void {
  db.update(expiringAttempts)
    .set({ firstSentAt: row.firstSentAt ?? at, lastSentAt: at, sends: row.sends + 1 })
    .where(attemptIs(row))
    .run();
}

export function noteExpiringOutcome(db: TenantDb, row: ExpiringAttemptRow, outcome: SendMeaning): void {
  db.update(expiringAttempts).set({ outcome }).where(attemptIs(row)).run();
}

function attemptIs({ withdrawalId, txId }: Pick<ExpiringAttemptRow, "withdrawalId" | "txId">) {
  return and(eq(expiringAttempts.withdrawalId, withdrawalId), eq(expiringAttempts.txId, txId));
}
