/** A tenant's own rules, one row per network. */

import { eq, like } from "drizzle-orm";
import type { ConfirmationRules } from "../../core/policy.ts";
import type { TenantDb } from "./database.ts";
import { policies } from "./schema.ts";

const CONFIRMATIONS = "confirmations:";

export function confirmationRules(db: TenantDb, network: string): ConfirmationRules | null {
  const row = db
    .select()
    .from(policies)
    .where(eq(policies.name, CONFIRMATIONS + network))
    .get();
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
