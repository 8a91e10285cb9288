/** An object that comes back from an older copy of itself, in tests of payments that expire. */

import type { TenantContext } from "../../src/objects/tenant/context.ts";
import type { ExpiringMerchant } from "./expiring-line.ts";
import { time } from "./line.ts";

const TABLES = [
  "withdrawals",
  "withdrawal_transitions",
  "wallets",
  "expiring_payments",
  "expiring_attempts",
  "balances",
  "ledger_entries",
  "events",
  "deposit_events",
] as const;

/** @returns how to put the object's rows back to what they are now */
export async function copyOf(merchant: ExpiringMerchant): Promise<() => Promise<void>> {
  const rows = await merchant.inside((_, sql) => TABLES.map((table) => sql.exec(`SELECT * FROM ${table}`).toArray()));
  return () =>
    merchant.inside(async (object, sql) => {
      // What starts again looks when its rows say so.
      await (object as unknown as { c: TenantContext }).c.storage.setAlarm(time.now);
      for (const [i, table] of TABLES.entries()) {
        sql.exec(`DELETE FROM ${table}`);
        for (const row of rows[i] ?? []) {
          const columns = Object.keys(row).map((name) => `"${name}"`);
          const places = columns.map(() => "?").join();
          sql.exec(`INSERT INTO ${table} (${columns.join()}) VALUES (${places})`, ...Object.values(row));
        }
      }
    });
}
