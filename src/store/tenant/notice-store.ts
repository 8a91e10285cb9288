/** Which incidents of a network this tenant was told of. */

import { and, eq } from "drizzle-orm";
import type { EventType } from "../../core/views.ts";
import type { TenantDb } from "./database.ts";
import { notices } from "./schema.ts";

export function wasTold(db: TenantDb, id: string, type: EventType): boolean {
  return (
    db
      .select({ id: notices.id })
      .from(notices)
      .where(and(eq(notices.id, id), eq(notices.type, type)))
      .get() !== undefined
  );
}

export function markTold(db: TenantDb, id: string, type: EventType, eventId: string): void {
  db.insert(notices).values({ id, type, eventId }).run();
}
