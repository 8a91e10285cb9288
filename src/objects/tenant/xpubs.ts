/**
 * Extended public keys of accounts, from which addresses are derived. A key is registered once for each network and
 * type, whatever its spelling; no private key gets this far. It is never taken back: addresses below it are out.
 */

import {
  accountFingerprint,
  accountHash,
  accountOf,
  firstAddress,
  packAccount,
  shortened,
} from "../../core/derived-address.ts";
import { extendedKeyProblem, readExtendedKey } from "../../core/extended-key.ts";
import { derivedId } from "../../core/ids.ts";
import { refuse } from "../../core/refusal.ts";
import type { Page, XpubView } from "../../core/views.ts";
import { decodeCursor, toPage } from "../../store/cursor.ts";
import { bindKey, useOfKey } from "../../store/tenant/key-store.ts";
import { insertXpub, listXpubs, type XpubRow, xpubById } from "../../store/tenant/xpub-store.ts";
import type { Idempotency, PageRequest, TenantApi } from "../api.ts";
import { unknownNetwork } from "./addresses.ts";
import { BAD_CURSOR, type Done, KEY_REUSED, notFound } from "./authorize.ts";
import type { TenantContext } from "./context.ts";
import { iso } from "./deposit-view.ts";

/** Asking again for a key that is there changes nothing of it. */
export function createXpub(
  c: TenantContext,
  tenantId: string,
  input: Parameters<TenantApi["createXpub"]>[1],
  idempotency: Idempotency,
): Done<XpubView> {
  const network = c.settings.networks.get(input.network)?.settings;
  if (network === undefined) return unknownNetwork(input.network);
  const read = readExtendedKey(input.xpub);
  if (!read.ok) return refusedKey("xpub", extendedKeyProblem(read));
  const checked = accountOf(network, read.key, input.type);
  if (!checked.ok) return refusedKey(checked.field, checked.message);
  const { account } = checked;

  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  const id = derivedId("xpub", tenantId, network.id, accountHash(account));
  const known = xpubById(c.db, id);
  if (known !== undefined) {
    if (use.kind === "fresh") bindKey(c.db, idempotency, id);
    return { ok: true, value: toXpubView(known), replayed: use.kind === "replay" };
  }
  const row = {
    id,
    network: network.id,
    type: account.type,
    path: account.path,
    account: packAccount(account),
    shown: shortened(input.xpub),
    fingerprint: accountFingerprint(account),
    firstAddress: firstAddress(network, account),
    label: input.label,
    nextIndex: input.nextIndex,
    createdAt: c.now(),
  };
  c.storage.transactionSync(() => {
    insertXpub(c.db, row);
    if (use.kind === "fresh") bindKey(c.db, idempotency, id);
  });
  return { ok: true, value: toXpubView(row), created: true };
}

export function oneXpub(c: TenantContext, id: string): Done<XpubView> {
  const row = xpubById(c.db, id);
  return row === undefined ? notFound("extended public key") : { ok: true, value: toXpubView(row) };
}

export function pageOfXpubs(c: TenantContext, page: PageRequest): Done<Page<XpubView>> {
  const before = page.cursor === null ? null : decodeCursor(page.cursor);
  if (page.cursor !== null && before === null) return BAD_CURSOR;
  const rows = listXpubs(c.db, before, page.limit + 1);
  return { ok: true, value: toPage(rows, page.limit, (row) => row.seq, toXpubView) };
}

function toXpubView(row: Omit<XpubRow, "seq">): XpubView {
  return {
    id: row.id,
    network: row.network,
    type: row.type,
    xpub: row.shown,
    path: row.path,
    fingerprint: row.fingerprint,
    label: row.label,
    next_index: row.nextIndex,
    first_address: row.firstAddress,
    created_at: iso(row.createdAt),
  };
}

function refusedKey(path: "xpub" | "type", message: string) {
  return refuse("invalid_fields", `The extended public key is refused: ${message}.`, { errors: [{ path, message }] });
}
