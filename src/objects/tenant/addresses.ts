/**
 * Watched addresses. D1 says whose an address is, this object says which customer it stands for, the
 * scanner says from which height it is read. Each of the three steps may be repeated; a crash between
 * them leaves a claim that the next try completes.
 */

import { type AddressRules, addressProblem, parseAddress } from "../../core/address.ts";
import { derivationPath } from "../../core/derived-address.ts";
import { newId } from "../../core/ids.ts";
import type { BadAddress } from "../../core/parsed-address.ts";
import { type Refusal, refuse } from "../../core/refusal.ts";
import type { AddressView, Page } from "../../core/views.ts";
import { decodeCursor, toPage } from "../../store/cursor.ts";
import { claimAddress, releaseAddress } from "../../store/d1/claims.ts";
import {
  type AddressRow,
  activeAddress,
  addressById,
  addressesToRelease,
  insertAddress,
  listAddresses,
  markDeleted,
  markReleased,
  releasesOf,
  setWatchedFrom,
  updateDetails,
} from "../../store/tenant/address-store.ts";
import { walletAddressRow } from "../../store/tenant/coin-store.ts";
import { bindKey, unbindKey, useOfKey } from "../../store/tenant/key-store.ts";
import type { Idempotency, PageRequest, TenantApi } from "../api.ts";
import type { Audited } from "./audited-call.ts";
import { BAD_CURSOR, type Done, KEY_REUSED, notFound } from "./authorize.ts";
import type { TenantContext } from "./context.ts";
import { iso } from "./deposit-view.ts";
import { scannerOf } from "./peers.ts";

type NewAddress = Parameters<TenantApi["createAddress"]>[1];
type Place = Pick<AddressRow, "network" | "address">;

export async function createAddress(
  c: TenantContext,
  tenantId: string,
  input: NewAddress,
  idempotency: Idempotency,
  audit: Audited,
): Promise<Done<AddressView>> {
  const network = c.settings.networks.get(input.network)?.settings;
  if (network === undefined) return unknownNetwork(input.network);
  const parsed = parseAddress(network, input.address);
  if (!parsed.ok) return invalidAddress(network, parsed.reason);
  const place = { network: network.id, address: parsed.address };
  return inTurn(c, place, () => takeAddress(c, tenantId, place, input, idempotency, audit));
}

async function takeAddress(
  c: TenantContext,
  tenantId: string,
  place: Place,
  input: NewAddress,
  idempotency: Idempotency,
  audit: Audited,
): Promise<Done<AddressView>> {
  const { network, address } = place;
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  if (use.kind === "replay") {
    const made = addressById(c.db, use.objectId);
    if (made !== undefined) return { ok: true, value: await viewOf(c, tenantId, made), replayed: true };
  }
  const known = activeAddress(c.db, network, address);
  if (known !== undefined && known.watchedFrom !== null) {
    bindOnce(c, idempotency, known.id);
    return { ok: true, value: await viewOf(c, tenantId, known), replayed: use.kind === "replay" };
  }

  if (known !== undefined && known.xpubId !== null) {
    const set = `set aside for another request, at ${pathOf(known)} of ${known.xpubId}`;
    return refuse("state_conflict", `${address} on ${network} is ${set}. That request has to be repeated.`);
  }

  if (walletAddressRow(c.db, network, address) !== undefined) {
    return refuse("address_taken", `${address} on ${network} is a hot wallet's own. What it receives is no deposit.`);
  }
  await giveBack(c, tenantId, place);
  const claim = await claimAddress(c.env.DB, { network, address, tenantId, now: c.now() });
  if (claim === "taken") {
    return refuse("address_taken", `${address} on ${network} is watched for another tenant.`);
  }

  // Another request may have used the key while D1 answered.
  const left = activeAddress(c.db, network, address);
  if (useOfKey(c.db, idempotency).kind === "other_request") {
    if (left === undefined) await releaseAddress(c.env.DB, { network, address, tenantId });
    return KEY_REUSED;
  }
  // A try that broke off after this point left its row: it is completed, as this request wants it.
  const row = c.storage.transactionSync(() => {
    if (left !== undefined) {
      const { account, label, metadata } = input;
      updateDetails(c.db, left.id, { account, label, metadata });
    }
    const written = activeAddress(c.db, network, address) ?? insertRow(c, place, input);
    bindOnce(c, idempotency, written.id);
    audit.done(written.id);
    return written;
  });
  const { startHeight } = input;
  const watch = await scannerOf(c.env, network).watch({ tenantId, addressId: row.id, address, startHeight });
  if (!watch.ok) {
    // Refused for good: nothing is left behind.
    if (watch.refusal.code === "invalid_range") {
      markDeleted(c.db, row.id, c.now());
      unbindKey(c.db, idempotency, row.id);
      await giveBack(c, tenantId, place);
    }
    return watch;
  }
  setWatchedFrom(c.db, row.id, watch.value.watchedFrom);
  const view = toAddressView({ ...row, watchedFrom: watch.value.watchedFrom }, watch.value.scannedTo);
  return { ok: true, value: view, created: true };
}

export async function getAddress(c: TenantContext, tenantId: string, id: string): Promise<Done<AddressView>> {
  const row = addressById(c.db, id);
  return row === undefined ? notFound("address") : { ok: true, value: await viewOf(c, tenantId, row) };
}

export async function pageOfAddresses(
  c: TenantContext,
  tenantId: string,
  filter: { network?: string; account?: string },
  page: PageRequest,
): Promise<Done<Page<AddressView>>> {
  const before = page.cursor === null ? null : decodeCursor(page.cursor);
  if (page.cursor !== null && before === null) return BAD_CURSOR;
  const rows = listAddresses(c.db, filter, before, page.limit + 1);
  const heights = await scannedHeights(c, tenantId, rows);
  const view = (row: AddressRow) => toAddressView(row, heights.get(row.id) ?? null);
  return { ok: true, value: toPage(rows, page.limit, (row) => row.seq, view) };
}

/** Ends the watch. What was mined inside the reorganisation window still counts for this tenant. */
export async function deleteAddress(
  c: TenantContext,
  tenantId: string,
  id: string,
  audit: Audited,
): Promise<Done<null>> {
  const row = addressById(c.db, id);
  if (row === undefined) return notFound("address");
  c.storage.transactionSync(() => {
    markDeleted(c.db, id, c.now());
    audit.done();
  });
  await inTurn(c, row, () => giveBack(c, tenantId, row));
  return { ok: true, value: null };
}

/** Gives back the watch and the claim of deleted addresses. Called again until it went through. */
export async function releaseDeleted(c: TenantContext, tenantId: string): Promise<void> {
  for (const row of addressesToRelease(c.db)) await inTurn(c, row, () => giveBack(c, tenantId, row));
}

/** In its turn: an address that was taken again meanwhile has nothing left to give back. */
async function giveBack(c: TenantContext, tenantId: string, { network, address }: Place): Promise<void> {
  const rows = releasesOf(c.db, network, address);
  if (rows.length === 0) return;
  // A hot wallet has it meanwhile: watch and claim are the wallet's now.
  if (walletAddressRow(c.db, network, address) === undefined) {
    await scannerOf(c.env, network).unwatch(tenantId, address);
    await releaseAddress(c.env.DB, { network, address, tenantId });
  }
  for (const row of rows) markReleased(c.db, row.id);
}

export function inTurn<T>(c: TenantContext, { network, address }: Place, work: () => Promise<T>): Promise<T> {
  return c.addressTurns.take(`${network}/${address}`, work);
}

function insertRow(c: TenantContext, { network, address }: Place, input: NewAddress): AddressRow {
  insertAddress(c.db, {
    id: newId("addr", c.random(16)),
    network,
    address,
    account: input.account,
    label: input.label,
    metadata: input.metadata,
    watchedFrom: null,
    createdAt: c.now(),
    deletedAt: null,
    releasePending: 0,
    xpubId: null,
    derivationIndex: null,
  });
  const row = activeAddress(c.db, network, address);
  if (row === undefined) throw new Error("an address that was just written is not there");
  return row;
}

function bindOnce(c: TenantContext, idempotency: Idempotency, id: string): void {
  if (useOfKey(c.db, idempotency).kind === "fresh") bindKey(c.db, idempotency, id);
}

export async function viewOf(c: TenantContext, tenantId: string, row: AddressRow): Promise<AddressView> {
  const heights = await scannedHeights(c, tenantId, [row]);
  return toAddressView(row, heights.get(row.id) ?? null);
}

/** Asks each network's scanner once for all rows. One that does not answer leaves its rows out. */
async function scannedHeights(
  c: TenantContext,
  tenantId: string,
  rows: readonly AddressRow[],
): Promise<Map<string, number>> {
  const heights = new Map<string, number>();
  const byNetwork = Map.groupBy(rows, (row) => row.network);
  await Promise.all(
    [...byNetwork].map(async ([network, ofNetwork]) => {
      try {
        const asked = ofNetwork.map((row) => row.address);
        const answer = await scannerOf(c.env, network).scannedTo(tenantId, asked);
        for (const row of ofNetwork) {
          const height = answer[row.address];
          if (height !== undefined) heights.set(row.id, height);
        }
      } catch {
        // Shown as not yet read past the start of the watch; the next read tells more.
      }
    }),
  );
  return heights;
}

export function toAddressView(row: AddressRow, scannedTo: number | null): AddressView {
  if (row.watchedFrom === null) throw new Error(`address ${row.id} is shown before it is watched`);
  return {
    id: row.id,
    network: row.network,
    address: row.address,
    account: row.account,
    label: row.label,
    metadata: row.metadata,
    watched_from: row.watchedFrom,
    scanned_to: Math.max(scannedTo ?? 0, row.watchedFrom - 1),
    xpub_id: row.xpubId,
    derivation_path: pathOf(row),
    created_at: iso(row.createdAt),
  };
}

function pathOf({ derivationIndex }: AddressRow): string | null {
  return derivationIndex === null ? null : derivationPath(derivationIndex);
}

export function unknownNetwork(id: string): { ok: false; refusal: Refusal } {
  return refuse("unknown_network", `The network ${JSON.stringify(id.slice(0, 64))} is not switched on here.`, {
    errors: [{ path: "network", message: "expected one of GET /v1/networks" }],
  });
}

function invalidAddress(rules: AddressRules, reason: BadAddress): { ok: false; refusal: Refusal } {
  const message = addressProblem(rules, reason);
  return refuse("invalid_address", `The address is refused: ${message}.`, { errors: [{ path: "address", message }] });
}
