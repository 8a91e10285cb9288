/** A tenant's own rules: one row per network for confirmations, one for withdrawals. */

import { eq, like, sql } from "drizzle-orm";
import type { ConfirmationRules } from "../../core/policy.ts";
import { type HeldRules, NO_WITHDRAWAL_RULES, rulesFromText, rulesToText } from "../../core/withdrawal-policy.ts";
import { prepared } from "../prepared.ts";
import type { TenantDb } from "./database.ts";
import { policies } from "./schema.ts";

const CONFIRMATIONS = "confirmations:";
const WITHDRAWALS = "withdrawals";

const byName = prepared((db: TenantDb) =>
  db
    .select()
    .from(policies)
    .where(eq(policies.name, sql.placeholder("name")))
    .prepare(),
);

export function confirmationRules(db: TenantDb, network: string): ConfirmationRules | null {
  const row = byName(db).get({ name: CONFIRMATIONS + network });
  return row === undefined ? null : (row.rules as ConfirmationRules);
}

export function allConfirmationRules(db: TenantDb): Record<string, ConfirmationRules> {
  const rows = db
    .select()
    .from(policies)
    .where(like(policies.name, `${CONFIRMATIONS}%`))
    .all();
  return Object.fromEntries(rows.map((row) => [row.name.slice(CONFIRMATIONS.length), row.rules as ConfirmationRules]));
}

export function putConfirmationRules(db: TenantDb, network: string, rules: ConfirmationRules): void {
  db.insert(policies)
    .values({ name: CONFIRMATIONS + network, rules })
    .onConflictDoUpdate({ target: policies.name, set: { rules } })
    .run();
}

export function heldWithdrawalRules(db: TenantDb): HeldRules {
  const row = byName(db).get({ name: WITHDRAWALS });
  return row === undefined ? NO_WITHDRAWAL_RULES : rulesFromText(row.rules as string);
}

export function putHeldWithdrawalRules(db: TenantDb, held: HeldRules): void {
  const rules = rulesToText(held);
  db.insert(policies)
    .values({ name: WITHDRAWALS, rules })
    .onConflictDoUpdate({ target: policies.name, set: { rules } })
    .run();
}
