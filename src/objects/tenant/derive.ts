/**
 * The next address below an extended public key. D1 gives the index, then it claims the address; both before the
 * commit that raises the next index, writes the address and binds the request's key to it; and nothing is answered
 * before the scanner watches it. So an index belongs to one address of one tenant for ever: a try that breaks off
 * is completed by the same Idempotency-Key, or its index is passed over.
 */

import { type Account, accountHash, addressAt, MAX_INDEX, unpackAccount } from "../../core/derived-address.ts";
import { derivedId, newId } from "../../core/ids.ts";
import type { NetworkSettings } from "../../core/network.ts";
import { type Refusal, refuse } from "../../core/refusal.ts";
import type { AddressView } from "../../core/views.ts";
import { releaseAddress } from "../../store/d1/claims.ts";
import { type ClaimedIndex, claimDerivedAddress, claimIndex } from "../../store/d1/xpub-indexes.ts";
import {
  type AddressRow,
  addressByIdEver,
  insertAddress,
  setWatchedFrom,
  wasEverWatched,
} from "../../store/tenant/address-store.ts";
import { bindKey, useOfKey } from "../../store/tenant/key-store.ts";
import { passIndex, type XpubRow, xpubById } from "../../store/tenant/xpub-store.ts";
import type { Idempotency, TenantApi } from "../api.ts";
import { inTurn, toAddressView, unknownNetwork, viewOf } from "./addresses.ts";
import type { Audited } from "./audited-call.ts";
import { type Done, KEY_REUSED } from "./authorize.ts";
import type { TenantContext } from "./context.ts";
import { scannerOf } from "./peers.ts";

/** Indexes that one request passes over, because their addresses are somebody's already. */
const MAX_PASSED_OVER = 20;

interface Request {
  readonly c: TenantContext;
  readonly tenantId: string;
  readonly network: NetworkSettings;
  readonly xpub: XpubRow;
  readonly account: Account;
  readonly input: Parameters<TenantApi["deriveAddress"]>[1];
  readonly idempotency: Idempotency;
  readonly audit: Audited;
}

type Refused = { readonly ok: false; readonly refusal: Refusal };
type OwnIndex = Extract<ClaimedIndex, { kind: "own" }>;

export async function deriveAddress(
  c: TenantContext,
  tenantId: string,
  input: Request["input"],
  idempotency: Idempotency,
  audit: Audited,
): Promise<Done<AddressView>> {
  const network = c.settings.networks.get(input.network)?.settings;
  if (network === undefined) return unknownNetwork(input.network);
  const xpub = xpubById(c.db, input.xpubId);
  if (xpub === undefined) return refusedXpub("there is no such key: expected an id of GET /v1/xpubs");
  if (xpub.network !== network.id) {
    return refusedXpub(`the key is registered for ${xpub.network}: register it for ${network.id} as well`);
  }
  const account = unpackAccount(xpub.account, xpub.type, xpub.path);
  const request = { c, tenantId, network, xpub, account, input, idempotency, audit };
  // Equal keys one after the other: the second finds what the first one made.
  return idempotency === null
    ? takeNext(request)
    : c.addressTurns.take(`key:${idempotency.key}`, () => deriveOnce(request, idempotency));
}

async function deriveOnce(request: Request, idempotency: NonNullable<Idempotency>): Promise<Done<AddressView>> {
  const { c, tenantId } = request;
  const use = useOfKey(c.db, idempotency);
  if (use.kind === "other_request") return KEY_REUSED;
  if (use.kind === "fresh") return takeNext(request);
  const row = addressByIdEver(c.db, use.objectId);
  if (row === undefined) throw new Error(`a key stands for address ${use.objectId}, which is not there`);
  if (row.deletedAt !== null) {
    return refuse(
      "state_conflict",
      `This Idempotency-Key was given ${row.address}, which was deleted. It is never given again; use another key.`,
    );
  }
  if (row.watchedFrom === null) return inTurn(c, row, () => watchRow(request, row));
  return { ok: true, value: await viewOf(c, tenantId, row), replayed: true };
}

async function takeNext(request: Request): Promise<Done<AddressView>> {
  const { c, tenantId, network, xpub, account, idempotency } = request;
  // While no watch can be taken no index is used up: wallets look only so far past the last address that was paid.
  const ready = await scannerOf(c.env, network.id).ready();
  if (!ready.ok) return ready;
  const named = idempotency === null ? null : derivedId("req", tenantId, idempotency.key, idempotency.fingerprint);
  let passedOver: number | null = null;
  for (let tries = 0; tries <= MAX_PASSED_OVER; tries++) {
    const claimed: ClaimedIndex = await claimIndex(c.env.DB, {
      network: network.id,
      keyHash: accountHash(account),
      from: xpubById(c.db, xpub.id)?.nextIndex ?? 0,
      tenantId,
      addressId: newId("addr", c.random(16)),
      request: named,
      passedOver,
      now: c.now(),
    });
    if (claimed.kind === "exhausted") {
      return refuse("state_conflict", `The key has no address left: the last index, ${MAX_INDEX}, was reached.`);
    }
    const done = await takeIndex(request, claimed);
    if (done !== "passed_over") return done;
    passedOver = claimed.index;
    passIndex(c.db, xpub.id, claimed.index);
  }
  const detail = `The next ${MAX_PASSED_OVER} addresses of the key are watched already. Ask again to look further.`;
  return refuse("state_conflict", detail);
}

async function takeIndex(request: Request, claimed: OwnIndex): Promise<Done<AddressView> | "passed_over"> {
  const { c, network, account } = request;
  const address = addressAt(network, account, claimed.index);
  if (address === null) return "passed_over";
  const place = { network: network.id, address };
  return inTurn(c, place, async () => {
    const row = await commitAddress(request, claimed, place);
    return row === "passed_over" || "ok" in row ? row : watchRow(request, row);
  });
}

async function commitAddress(
  request: Request,
  claimed: OwnIndex,
  { network, address }: Pick<AddressRow, "network" | "address">,
): Promise<AddressRow | Refused | "passed_over"> {
  const { c, tenantId, xpub, input, idempotency, audit } = request;
  // What was given to a customer by hand is that customer's, also after it was deleted.
  if (wasEverWatched(c.db, network, address)) return "passed_over";
  const { addressId } = claimed;
  const claim = await claimDerivedAddress(c.env.DB, { network, address, tenantId, addressId, now: c.now() });
  if (claim === "taken") return "passed_over";

  // Another request may have used the key while D1 answered.
  if (useOfKey(c.db, idempotency).kind !== "fresh") {
    await releaseAddress(c.env.DB, { network, address, tenantId });
    return KEY_REUSED;
  }
  const { account, label, metadata } = input;
  c.storage.transactionSync(() => {
    passIndex(c.db, xpub.id, claimed.index);
    insertAddress(c.db, {
      id: addressId,
      network,
      address,
      account,
      label,
      metadata,
      watchedFrom: null,
      createdAt: c.now(),
      deletedAt: null,
      releasePending: 0,
      xpubId: xpub.id,
      derivationIndex: claimed.index,
    });
    bindKey(c.db, idempotency, addressId);
    audit.done(addressId);
  });
  const row = addressByIdEver(c.db, addressId);
  if (row === undefined) throw new Error("an address that was just written is not there");
  return row;
}

/** Its claims are held and its row is written: the last step before anybody sees it. */
async function watchRow({ c, tenantId, network }: Request, row: AddressRow): Promise<Done<AddressView>> {
  const { id: addressId, address } = row;
  const watch = await scannerOf(c.env, network.id).watch({ tenantId, addressId, address, startHeight: null });
  if (!watch.ok) return watch;
  const { watchedFrom, scannedTo } = watch.value;
  setWatchedFrom(c.db, row.id, watchedFrom);
  return { ok: true, value: toAddressView({ ...row, watchedFrom }, scannedTo), created: true };
}

function refusedXpub(message: string): Refused {
  return refuse("invalid_fields", "The extended public key is not one for this network.", {
    errors: [{ path: "xpub_id", message }],
  });
}
