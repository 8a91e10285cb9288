/**
 * What the scanner tells about addresses of the tenant's own hot wallets: coins, and no deposits. They credit
 * nobody, and there is no event of them.
 */

import { holdsCoins } from "../../core/network.ts";
import { keyText, type TransferKey, UNMINED } from "../../core/transfer.ts";
import { wasEverWatched } from "../../store/tenant/address-store.ts";
import {
  type CoinKey,
  coinAt,
  coinsFrom,
  insertWalletAddress,
  putCoin,
  removeCoin,
  setWalletWatched,
  walletAddressRow,
} from "../../store/tenant/coin-store.ts";
import { changeInput, inputAt } from "../../store/tenant/spend-store.ts";
import { insertWallet, raiseWallet, walletRow } from "../../store/tenant/wallet-store.ts";
import type { Observation, SeenTransfer } from "../api.ts";
import type { TenantContext } from "./context.ts";
import { changePath } from "./withdrawals/coins/addresses.ts";
import { coinSigner } from "./withdrawals/coins/signing.ts";

/** Change addresses looked through beyond those that are known: a copy of this object that is gone may have made them. */
const LOOK_AHEAD = 200;

export interface WalletCoin {
  readonly transfer: SeenTransfer;
  readonly sender: string;
  readonly path: string;
}

/** Takes apart what is told about wallets and what is told about deposits. Reads only. */
export function apart(
  c: TenantContext,
  tenantId: string,
  network: string,
  transfers: readonly SeenTransfer[],
): { readonly payments: readonly SeenTransfer[]; readonly coins: readonly WalletCoin[] } {
  const settings = c.settings.knownNetworks.get(network);
  if (settings === undefined || !holdsCoins(settings)) return { payments: transfers, coins: [] };
  const payments: SeenTransfer[] = [];
  const coins: WalletCoin[] = [];
  for (const transfer of transfers) {
    const place = placeOf(c, tenantId, network, transfer.address);
    if (place === null) payments.push(transfer);
    else coins.push({ transfer, ...place });
  }
  return { payments, coins };
}

function placeOf(c: TenantContext, tenantId: string, network: string, address: string) {
  const known = walletAddressRow(c.db, network, address);
  if (known !== undefined) return { sender: known.sender, path: known.path };
  if (wasEverWatched(c.db, network, address)) return null;
  const signer = coinSigner(c, tenantId, network);
  const sender = signer.address;
  if (address === sender) return { sender, path: "0/0" };
  const below = (walletRow(c.db, network, sender)?.nextNonce ?? 0) + LOOK_AHEAD;
  for (let number = 0; number < below; number++) {
    const path = changePath(number);
    if (signer.addressAt(path) === address) return { sender, path };
  }
  return null;
}

/** In the observation's commit. */
export function takeCoins(c: TenantContext, o: Observation, coins: readonly WalletCoin[]): void {
  const { db } = c;
  const { network } = o;
  const mined = new Set(coins.flatMap(({ transfer: t }) => (t.height === UNMINED ? [] : [keyText(t)])));
  const takenOut = new Set<string>();
  for (const key of o.removed) {
    if (key.wasUnmined === true || mined.has(keyText(key))) continue;
    takenOut.add(keyText(key));
    removeIfCoin(c, network, key);
  }
  if (o.base === null) {
    for (const row of coinsFrom(db, network, o.windowFrom)) {
      if (!mined.has(keyText({ txId: row.txId, transferIndex: `out:${row.vout}` }))) removeCoin(db, row);
    }
  }
  for (const coin of coins) {
    const { transfer } = coin;
    if (transfer.height !== UNMINED) {
      takeCoin(c, network, coin);
      continue;
    }
    // It waits again: its block was replaced, unless what is kept here is too deep for that.
    const key = coinKey(network, transfer);
    const height = key === null ? -1 : (coinAt(db, key)?.height ?? -1);
    if (height >= o.windowFrom && !takenOut.has(keyText(transfer))) removeIfCoin(c, network, transfer);
  }
}

/** What a past range holds. Never removes. In the slice's commit. */
export function takePastCoins(
  c: TenantContext,
  slice: { readonly network: string; readonly windowFrom: number },
  coins: readonly WalletCoin[],
): void {
  for (const coin of coins) {
    if (coin.transfer.height < slice.windowFrom) takeCoin(c, slice.network, coin);
  }
}

function takeCoin({ db }: TenantContext, network: string, { transfer, sender, path }: WalletCoin): void {
  const key = coinKey(network, transfer);
  if (key === null) return;
  const { address, height } = transfer;
  if (walletAddressRow(db, network, address) === undefined) {
    insertWalletAddress(db, { network, address, sender, path });
    setWalletWatched(db, { network, address }, height);
    insertWallet(db, network, sender);
    const [branch, index] = path.split("/").map(Number);
    if (branch === 1) raiseWallet(db, { network, sender }, { nextNonce: (index ?? 0) + 1 });
  }
  const amountUnits = transfer.amountUnits.toString();
  putCoin(db, { ...key, address, path, amountUnits, height, leastDepth: transfer.leastDepth ?? 1 });
  if (inputAt(db, key) !== undefined) changeInput(db, key, { height });
}

function removeIfCoin({ db }: TenantContext, network: string, key: TransferKey): void {
  const coin = coinKey(network, key);
  if (coin !== null) removeCoin(db, coin);
}

/** Null for what is no output. */
function coinKey(network: string, { txId, transferIndex }: TransferKey): CoinKey | null {
  const vout = /^out:(\d+)$/.exec(transferIndex)?.[1];
  return vout === undefined ? null : { network, txId, vout: Number(vout) };
}
