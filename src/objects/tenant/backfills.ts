/** Past ranges a tenant asks for. The scanner reads them; the report and its counts are kept here. */

import { newId } from "../../core/ids.ts";
import { refuse } from "../../core/refusal.ts";
import type { BackfillView } from "../../core/views.ts";
import {
  type BackfillRow,
  backfillById,
  backfillsToHandOver,
  failBackfill,
  insertBackfill,
  markHandedOver,
  toBackfillView,
} from "../../store/tenant/backfill-store.ts";
import { bindKey, useOfKey } from "../../store/tenant/key-store.ts";
import type { Idempotency, TenantApi } from "../api.ts";
import { unknownNetwork } from "./addresses.ts";
import type { Audited } from "./audited-call.ts";
import { type Done, KEY_REUSED, notFound } from "./authorize.ts";
import type { TenantContext } from "./context.ts";
import { scannerOf } from "./peers.ts";

export async function createBackfill(
  c: TenantContext,
  tenantId: string,
  input: Parameters<TenantApi["createBackfill"]>[1],
  idempotency: Idempotency,
  audit: Audited,
): Promise<Done<BackfillView>> {
  if (!c.settings.networks.has(input.network)) return unknownNetwork(input.network);
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  if (use.kind === "replay") {
    const made = backfillById(c.db, use.objectId);
    if (made !== undefined) return { ok: true, value: toBackfillView(made), replayed: true };
  }
  if (input.toHeight < input.fromHeight) {
    return refuse("invalid_range", `from_height ${input.fromHeight} is above to_height ${input.toHeight}.`);
  }
  const status = await scannerOf(c.env, input.network).status();
  if (status.scannedTo === null || input.toHeight > status.scannedTo) {
    const readTo = status.scannedTo === null ? "nothing has been read yet" : `read up to ${status.scannedTo}`;
    return refuse("invalid_range", `to_height ${input.toHeight} has not been read on ${input.network}: ${readTo}.`);
  }

  const meanwhile = useOfKey(c.db, idempotency);
  if (meanwhile.kind === "other_request") return KEY_REUSED;
  const id = meanwhile.kind === "replay" ? meanwhile.objectId : newId("bf", c.random(16));
  if (meanwhile.kind === "fresh") {
    c.storage.transactionSync(() => {
      insertBackfill(c.db, queuedRow(id, input, c.now()));
      bindKey(c.db, idempotency, id);
      audit.done(id);
    });
  }
  const row = backfillById(c.db, id);
  if (row === undefined) throw new Error("a backfill that was just written is not there");
  await handOver(c, tenantId, row);
  return {
    ok: true,
    value: toBackfillView(row),
    created: meanwhile.kind === "fresh",
    replayed: meanwhile.kind === "replay",
  };
}

export function oneBackfill(c: TenantContext, id: string): Done<BackfillView> {
  const row = backfillById(c.db, id);
  return row === undefined ? notFound("backfill") : { ok: true, value: toBackfillView(row) };
}

/** Gives the scanner the jobs it has not taken yet. Called again until it went through. */
export async function handOverBackfills(c: TenantContext, tenantId: string): Promise<void> {
  for (const row of backfillsToHandOver(c.db)) await handOver(c, tenantId, row);
}

async function handOver(c: TenantContext, tenantId: string, row: BackfillRow): Promise<void> {
  const started = await scannerOf(c.env, row.network).startBackfill({
    backfillId: row.id,
    tenantId,
    fromHeight: row.fromHeight,
    toHeight: row.toHeight,
  });
  if (started.ok) markHandedOver(c.db, row.id);
  else failBackfill(c.db, row.id, started.refusal.detail, c.now());
}

function queuedRow(id: string, input: Parameters<TenantApi["createBackfill"]>[1], now: number): BackfillRow {
  return {
    id,
    network: input.network,
    fromHeight: input.fromHeight,
    toHeight: input.toHeight,
    status: "queued",
    nextHeight: input.fromHeight,
    found: 0,
    alreadyKnown: 0,
    added: 0,
    conflicts: 0,
    error: null,
    createdAt: now,
    finishedAt: null,
    handedOver: 0,
  };
}
