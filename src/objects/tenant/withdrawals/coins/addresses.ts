/**
 * The wallet's own addresses. Each is claimed in D1 and watched by the scanner before anybody is told of it or
 * anything is signed that pays to it, so that no coin of the wallet is missed. Every step may be repeated.
 */

import { type Outcome, refuse } from "../../../../core/refusal.ts";
import { log } from "../../../../log.ts";
import { claimAddress } from "../../../../store/d1/claims.ts";
import { activeAddress } from "../../../../store/tenant/address-store.ts";
import { insertWalletAddress, setWalletWatched, walletAddressRow } from "../../../../store/tenant/coin-store.ts";
import type { TenantContext } from "../../context.ts";
import { scannerOf } from "../../peers.ts";
import { coinSigner } from "./signing.ts";

const TOP_UP = "0/0";

/** The address to which the change of a spend goes: a new one for each. */
export function changePath(number: number): string {
  return `1/${number}`;
}

/** The address at which the wallet is topped up. Whatever cannot be reached is a refusal: it is asked for again. */
export async function watchTopUp(c: TenantContext, tenantId: string, network: string): Promise<Outcome<string>> {
  try {
    return await watchWalletAddress(c, tenantId, network, TOP_UP);
  } catch (error) {
    log("warn", "wallet_call_failed", { tenant: tenantId, network, call: "watch" }, error);
    return refuse("chain_unavailable", `The hot wallet on ${network} cannot be watched now.`, { retryAfterS: 5 });
  }
}

/** @returns the address, once it is watched */
export async function watchWalletAddress(
  c: TenantContext,
  tenantId: string,
  network: string,
  path: string,
): Promise<Outcome<string>> {
  const signer = coinSigner(c, tenantId, network);
  const address = path === TOP_UP ? signer.address : signer.addressAt(path);
  if (isWatched(c, network, address)) return { ok: true, value: address };
  return c.addressTurns.take(`${network}/${address}`, async () => {
    if (isWatched(c, network, address)) return { ok: true, value: address };
    const claim = await claimAddress(c.env.DB, { network, address, tenantId, now: c.now() });
    if (claim === "taken" || activeAddress(c.db, network, address) !== undefined)
      return refuse("address_taken", `${address} on ${network} is the hot wallet's, and is watched for deposits.`);
    insertWalletAddress(c.db, { network, address, sender: signer.address, path });
    const request = { tenantId, addressId: `wallet/${address}`, address, startHeight: null };
    const watched = await scannerOf(c.env, network).watch(request);
    if (!watched.ok) return watched;
    setWalletWatched(c.db, { network, address }, watched.value.watchedFrom);
    return { ok: true, value: address };
  });
}

export function isWatched(c: TenantContext, network: string, address: string): boolean {
  return (walletAddressRow(c.db, network, address)?.watchedFrom ?? null) !== null;
}
