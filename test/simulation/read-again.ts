/** I17: everything that was ever read is read again, and nothing comes of it. */

import { EVENT_LOG } from "../support/event-log.ts";
import type { Town } from "./run.ts";

export async function readAgain({ service, merchants, life, complaints }: Town): Promise<void> {
  for (const merchant of merchants) {
    const { disk } = service.object("tenant", merchant.id);
    const count = (sql: string) => Number(disk.rows(sql)[0]?.n ?? 0);
    const eventsOf = () => count(`SELECT count(*) AS n FROM ${EVENT_LOG} WHERE type LIKE 'deposit.%'`);
    // A fork may have moved a payment below the beginning of its watch.
    const first = count(
      "SELECT min(n) AS n FROM (SELECT min(watched_from) AS n FROM addresses UNION SELECT min(height) FROM deposits)",
    );
    const to = life.chain.head - 2;
    // The first may find what a fork had moved below the beginning of its watch.
    await merchant.backfill(first, to, `read-again-1-${merchant.name}`);
    const before = eventsOf();
    const {
      status,
      added,
      found,
      already_known: known,
      error,
    } = await merchant.backfill(first, to, `read-again-2-${merchant.name}`);
    const told = eventsOf() - before;
    if (status !== "done" || added !== 0 || found !== known || told !== 0) {
      const report = JSON.stringify({ status, found, known, added, told, error });
      complaints.add(`I17 ${merchant.name}: a backfill of what is known ended as ${report}`);
    }
    // Of what it has given up nothing is read again for it.
    const deposits = count(
      `SELECT count(*) AS n FROM deposits WHERE status = 'settled'
       AND address IN (SELECT address FROM addresses WHERE deleted_at IS NULL)`,
    );
    if (Number(found) < deposits)
      complaints.add(`I17 ${merchant.name}: a backfill found ${found} of ${deposits} payments`);
  }
}
