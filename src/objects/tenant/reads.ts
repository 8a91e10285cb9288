/** Lists and single objects of deposits, balances, ledger entries and events. Nothing here writes. */

import { parseAddress } from "../../core/address.ts";
import { fromBase64, toBase64 } from "../../core/base64.ts";
import { canonicalTxId } from "../../core/tx-id.ts";
import type { AuditEntryView, BalanceView, DepositView, EventView, LedgerEntryView, Page } from "../../core/views.ts";
import { decodeCursor, toPage } from "../../store/cursor.ts";
import { auditEntriesAfter } from "../../store/tenant/audit-store.ts";
import { type DepositQuery, type DepositRow, depositById, listDeposits } from "../../store/tenant/deposit-store.ts";
import { type EventFilter, eventById, eventsAfter, toEventView } from "../../store/tenant/event-store.ts";
import { tenantRow } from "../../store/tenant/key-store.ts";
import { type BalanceKey, listBalances, listEntries, toBalance } from "../../store/tenant/ledger-store.ts";
import { networkState } from "../../store/tenant/network-store.ts";
import type { AuditFilter, DepositFilter, PageRequest } from "../api.ts";
import { soon } from "../soon.ts";
import { BAD_CURSOR, type Done, notFound } from "./authorize.ts";
import { toBalanceView, toEntryView } from "./balance-view.ts";
import { assetsNamed, mustFindAsset, type TenantContext } from "./context.ts";
import { toDepositView } from "./deposit-view.ts";
import { scannerOf } from "./peers.ts";

/** A list is worth more now without the newest count of confirmations than later with it. */
const HEAD_DEADLINE_MS = 1_000;

export async function pageOfDeposits(
  c: TenantContext,
  filter: DepositFilter,
  page: PageRequest,
): Promise<Done<Page<DepositView>>> {
  const before = page.cursor === null ? null : decodeCursor(page.cursor);
  if (page.cursor !== null && before === null) return BAD_CURSOR;
  const rows = listDeposits(c.db, queryOf(c, filter), before, page.limit + 1);
  const heads = await headsOf(c, rows);
  const view = (row: DepositRow) => viewOf(c, row, heads);
  return { ok: true, value: toPage(rows, page.limit, (row) => row.seq, view) };
}

export async function oneDeposit(c: TenantContext, id: string): Promise<Done<DepositView>> {
  const row = depositById(c.db, id);
  if (row === undefined) return notFound("deposit");
  return { ok: true, value: viewOf(c, row, await headsOf(c, [row])) };
}

export function pageOfBalances(
  c: TenantContext,
  filter: { readonly account?: string; readonly asset?: string; readonly network?: string },
  page: PageRequest,
): Done<Page<BalanceView>> {
  const after = page.cursor === null ? null : decodeBalanceCursor(page.cursor);
  if (page.cursor !== null && after === null) return BAD_CURSOR;
  const rows = listBalances(c.db, ledgerFilter(c, filter), after, page.limit + 1);
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  const data = shown.map((row) => toBalanceView(row.account, mustFindAsset(c, row.network, row.asset), toBalance(row)));
  const more = rows.length > page.limit && last !== undefined;
  return { ok: true, value: { data, next_cursor: more ? encodeBalanceCursor(last) : null } };
}

export function pageOfEntries(
  c: TenantContext,
  filter: { readonly account?: string; readonly asset?: string; readonly network?: string },
  page: PageRequest,
): Done<Page<LedgerEntryView>> {
  const before = page.cursor === null ? null : decodeCursor(page.cursor);
  if (page.cursor !== null && before === null) return BAD_CURSOR;
  const rows = listEntries(c.db, ledgerFilter(c, filter), before, page.limit + 1);
  const view = (row: (typeof rows)[number]) => toEntryView(row, mustFindAsset(c, row.network, row.asset));
  return { ok: true, value: toPage(rows, page.limit, (row) => row.seq, view) };
}

/** Oldest first, as events are. */
export function pageOfAuditLog(c: TenantContext, filter: AuditFilter, limit: number): Done<Page<AuditEntryView>> {
  const entries = auditEntriesAfter(c.db, filter, limit + 1);
  const data = entries.slice(0, limit);
  const last = data.at(-1);
  const more = entries.length > limit && last !== undefined;
  return { ok: true, value: { data, next_cursor: more ? String(last.sequence) : null } };
}

/** Oldest first. `next_cursor` is the sequence to go on after, null when this was all there is now. */
export function pageOfEvents(c: TenantContext, filter: EventFilter, limit: number): Page<EventView> {
  const rows = eventsAfter(c.db, filter, limit + 1);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next = rows.length > limit && last !== undefined ? String(last.sequence) : null;
  return { data: shown.map(toEventView), next_cursor: next };
}

export function oneEvent(c: TenantContext, id: string): Done<EventView> {
  const row = eventById(c.db, id);
  return row === undefined ? notFound("event") : { ok: true, value: toEventView(row) };
}

function viewOf(c: TenantContext, row: DepositRow, heads: ReadonlyMap<string, number>): DepositView {
  return toDepositView(row, mustFindAsset(c, row.network, row.asset), heads.get(row.network) ?? row.height);
}

/**
 * The height each network has been read to. This object hears of a network only when something happened
 * to it, so the count of confirmations is asked of the scanner; one that does not answer leaves the last
 * height heard of.
 */
async function headsOf(c: TenantContext, rows: readonly DepositRow[]): Promise<Map<string, number>> {
  const heads = new Map<string, number>();
  await Promise.all(
    [...new Set(rows.map((row) => row.network))].map(async (network) => {
      let head = networkState(c.db, network)?.head;
      try {
        if (c.settings.networks.has(network)) {
          head = Math.max(head ?? 0, (await soon(scannerOf(c.env, network).status(), HEAD_DEADLINE_MS)).scannedTo ?? 0);
        }
      } catch {
        // The last height heard of stands.
      }
      if (head !== undefined) heads.set(network, head);
    }),
  );
  return heads;
}

function queryOf(c: TenantContext, filter: DepositFilter): DepositQuery {
  const { asset, address, tx_id: txId, ...rest } = filter;
  return {
    ...rest,
    tenantId: tenantRow(c.db)?.id ?? "",
    networks: [...c.settings.knownNetworks.keys()],
    // Hashes are kept in lower case, however they are written.
    ...(txId === undefined ? {} : { tx_id: canonicalTxId(txId) }),
    ...(asset === undefined ? {} : { assets: assetsNamed(c, asset, filter.network) }),
    ...(address === undefined ? {} : { address: canonical(c, address) }),
  };
}

/** Any spelling finds its address; one that is no address finds nothing. */
function canonical(c: TenantContext, address: string): string {
  for (const network of c.settings.knownNetworks.values()) {
    const parsed = parseAddress(network, address);
    if (parsed.ok) return parsed.address;
  }
  return address;
}

function ledgerFilter(
  c: TenantContext,
  filter: { readonly account?: string; readonly asset?: string; readonly network?: string },
) {
  const { asset, ...rest } = filter;
  return asset === undefined ? rest : { ...rest, assets: assetsNamed(c, asset, filter.network) };
}

function encodeBalanceCursor(key: BalanceKey): string {
  const bytes = new TextEncoder().encode(JSON.stringify([key.account, key.network, key.asset]));
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decodeBalanceCursor(cursor: string): BalanceKey | null {
  try {
    const bytes = fromBase64(cursor.replaceAll("-", "+").replaceAll("_", "/"));
    const parts: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    if (!Array.isArray(parts) || parts.length !== 3) return null;
    const [account, network, asset] = parts as unknown[];
    if (typeof account !== "string" || typeof network !== "string" || typeof asset !== "string") return null;
    return { account, network, asset };
  } catch {
    return null;
  }
}
