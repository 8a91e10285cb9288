/** What the parts of a tenant's object work with. Clock and randomness are fields, so that tests set them. */

import type { CoinNode, CoinSigner } from "../../chains/coin-payout.ts";
import type { DerivedSigner } from "../../chains/evm/derived-signer.ts";
import type { ExpiringChain, ExpiringSigner } from "../../chains/expiring-payout.ts";
import type { PayoutNode, Signer } from "../../chains/payout.ts";
import { type NetworkSettings, slip44Of, tokenNamespaceOf } from "../../core/network.ts";
import { NATIVE } from "../../core/transfer.ts";
import type { AssetView } from "../../core/views.ts";
import type { Env, Settings } from "../../env.ts";
import { assetByContract, assetsBySymbol, listOwnAssets } from "../../store/tenant/asset-store.ts";
import type { TenantDb } from "../../store/tenant/database.ts";
import type { SecretBox } from "../secret-box.ts";
import type { SteppedStorage } from "../stepped-storage.ts";
import type { Turns } from "./turns.ts";

export interface TenantContext {
  readonly storage: SteppedStorage;
  readonly db: TenantDb;
  readonly env: Env;
  readonly settings: Settings;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** By network and address: a watch is taken, or given back, never both at once. */
  readonly addressTurns: Turns;
  /** Withdrawals with one key, and the wallet of one network: one piece of work after the other. */
  readonly turns: Turns;
  readonly payers: Payers;
  /** By network: when it was last looked at for incidents, unix ms. Lost with the instance. */
  readonly lookedAt: Map<string, number>;
  readonly secrets: SecretBox;
}

/** Lost with the instance: what is asked and who signs, made from settings and rows when first needed. */
export interface Payers {
  readonly nodes: Map<string, readonly PayoutNode[]>;
  readonly derived: Map<string, DerivedSigner>;
  /** By network, with the choice it was made for. */
  readonly signers: Map<string, { readonly choice: string; readonly signer: Signer }>;
  readonly coinNodes: Map<string, readonly CoinNode[]>;
  readonly coinSigners: Map<string, CoinSigner>;
  readonly expiringChains: Map<string, ExpiringChain>;
  readonly expiringSigners: Map<string, ExpiringSigner>;
}

export interface AssetFacts {
  readonly network: string;
  readonly asset: string;
  readonly symbol: string;
  readonly decimals: number;
}

/** What an asset of this tenant is, or null when the tenant does not have it listed. */
export function assetFacts(c: TenantContext, network: string, asset: string): AssetFacts | null {
  const settings = c.settings.knownNetworks.get(network);
  if (settings === undefined) return null;
  if (asset === NATIVE) return { network, asset, ...settings.nativeAsset };
  const builtIn = settings.tokens.find((token) => token.contract === asset);
  if (builtIn !== undefined) return { network, asset, symbol: builtIn.symbol, decimals: builtIn.decimals };
  const own = assetByContract(c.db, network, asset);
  return own === undefined ? null : { network, asset, symbol: own.symbol, decimals: own.decimals };
}

/** For rows that exist: their asset was listed when they were written, and listings are never taken back. */
export function mustFindAsset(c: TenantContext, network: string, asset: string): AssetFacts {
  const facts = assetFacts(c, network, asset);
  if (facts === null) throw new Error(`a stored row names asset ${asset} on ${network}, which is not listed`);
  return facts;
}

/** Every (network, asset) a symbol stands for, on one network or on all. */
export function assetsNamed(c: TenantContext, symbol: string, network?: string): { network: string; asset: string }[] {
  const found: { network: string; asset: string }[] = [];
  for (const settings of c.settings.knownNetworks.values()) {
    if (network !== undefined && settings.id !== network) continue;
    if (settings.nativeAsset.symbol === symbol) found.push({ network: settings.id, asset: NATIVE });
    for (const token of settings.tokens) {
      if (token.symbol === symbol) found.push({ network: settings.id, asset: token.contract });
    }
  }
  for (const own of assetsBySymbol(c.db, symbol)) {
    if (network === undefined || own.network === network) found.push({ network: own.network, asset: own.contract });
  }
  return found;
}

/** All assets that credit this tenant, native coin first, on one network or on all that are switched on. */
export function allAssets(c: TenantContext, network: string | null): AssetView[] {
  const views: AssetView[] = [];
  for (const { settings } of c.settings.networks.values()) {
    if (network !== null && settings.id !== network) continue;
    const add = (asset: string, symbol: string, decimals: number) =>
      views.push(toAssetView(settings, { network: settings.id, asset, symbol, decimals }));
    add(NATIVE, settings.nativeAsset.symbol, settings.nativeAsset.decimals);
    for (const token of settings.tokens) add(token.contract, token.symbol, token.decimals);
    for (const own of listOwnAssets(c.db, settings.id)) add(own.contract, own.symbol, own.decimals);
  }
  return views;
}

/** CAIP-19 names: `slip44` for the coin itself, `erc20` for a token (EVM). */
export function toAssetView(network: NetworkSettings, facts: AssetFacts): AssetView {
  const isNative = facts.asset === NATIVE;
  return {
    network: facts.network,
    symbol: facts.symbol,
    contract: isNative ? null : facts.asset,
    decimals: facts.decimals,
    caip19: isNative
      ? `${network.caip2}/slip44:${slip44Of(network)}`
      : `${network.caip2}/${tokenNamespaceOf(network)}:${facts.asset}`,
  };
}
