/** A source over JSON-RPC providers of one EVM chain. A URL is a secret: no error and no name shows more than its host. */

import { EvmNode } from "../chains/evm/node.ts";
import { parseAddress } from "../core/address.ts";
import type { TokenFacts } from "../core/network.ts";
import { BUILT_IN_NETWORKS } from "../core/networks.ts";
import { type DepositSource, nodeSource, type SourceNetwork } from "./source.ts";

export interface EvmNetwork {
  /** Part of every deposit's identity: choose it once. */
  readonly id: string;
  readonly chainId: number;
  /** ETH with 18 decimals unless given. */
  readonly nativeAsset?: { readonly symbol: string; readonly decimals: number };
}

/** The platform's own `fetch`, where one is declared: these types stand without those of Node or a browser. */
export type PlatformFetch = typeof globalThis extends { fetch: infer Fetch } ? Fetch : never;

export interface EvmSourceOptions {
  /** One or more providers, in order of preference; the order changes with how they answer. */
  readonly urls: readonly string[];
  /** The id of a built-in network (`ethereum`, `base`, ...), with its tokens, or a network of your own. */
  readonly network: string | EvmNetwork;
  /** Tokens beside the built-in ones. Whoever adds one to a watcher at work sees its payments from then on. */
  readonly tokens?: readonly TokenFacts[];
  /** Whether a transaction's own value counts. True unless given. */
  readonly native?: boolean;
  /** Whether coins sent by contracts are read from traces, where a provider offers them. */
  readonly internal?: boolean;
  /** In the place of the platform's own. */
  readonly fetch?: PlatformFetch;
  /** Deadline of one HTTP request; 10 seconds unless given. */
  readonly timeoutMs?: number;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

const TIMEOUT_MS = 10_000;
/** 10^77 is the last power of ten below 2^256. */
const MAX_DECIMALS = 77;

/** @throws Error for settings that cannot be meant; the message does not show a URL. */
export function evmSource(options: EvmSourceOptions): DepositSource {
  const { urls, timeoutMs = TIMEOUT_MS, now = () => Date.now() } = options;
  if (urls.length === 0) throw new Error("a source needs one RPC URL at least, got none");
  const send: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
  const nodes = urls.map((url) => new EvmNode({ url, fetch: send, timeoutMs }));
  return nodeSource(networkOf(options), nodes, now);
}

function networkOf({ network: wanted, tokens = [], native, internal }: EvmSourceOptions): SourceNetwork {
  const base = typeof wanted === "string" ? builtIn(wanted) : ownNetwork(wanted);
  const network = { ...base, native: native ?? base.native, internal: internal ?? base.internal };
  return { ...network, tokens: listed(network, tokens) };
}

function builtIn(id: string): SourceNetwork {
  const networks = BUILT_IN_NETWORKS.filter((network) => network.family === "evm");
  const found = networks.find((network) => network.id === id);
  if (found !== undefined) return found;
  const known = networks.map((network) => network.id).join(", ");
  throw new Error(`no built-in network is called ${JSON.stringify(id)}; expected one of ${known}, or {id, chainId}`);
}

function ownNetwork({ id, chainId, nativeAsset = { symbol: "ETH", decimals: 18 } }: EvmNetwork): SourceNetwork {
  if (!/^[a-z0-9][a-z0-9-]{0,31}$/.test(id))
    throw new Error(`a network id is at most 32 of a-z 0-9 -, got ${JSON.stringify(id)}`);
  if (!Number.isSafeInteger(chainId) || chainId < 1) throw new Error(`a chain id is 1 or more, got ${chainId}`);
  return { id, family: "evm", chainId, nativeAsset, native: true, internal: true, tokens: [] };
}

/** The network's tokens and the given ones, contracts canonical. A symbol names one asset: policies go by it. */
function listed(network: SourceNetwork, given: readonly TokenFacts[]): readonly TokenFacts[] {
  const tokens = [...network.tokens];
  for (const { symbol, contract, decimals } of given) {
    const parsed = parseAddress(network, contract);
    if (!parsed.ok) throw new Error(`token ${symbol}: ${contract} is no address (${parsed.reason})`);
    if (!Number.isSafeInteger(decimals) || decimals < 0 || decimals > MAX_DECIMALS)
      throw new Error(`token ${symbol}: expected 0 to ${MAX_DECIMALS} decimals, got ${decimals}`);
    if (tokens.some((token) => token.contract === parsed.address))
      throw new Error(`token ${symbol}: ${parsed.address} is listed twice on ${network.id}`);
    const same = [network.nativeAsset, ...tokens].find((a) => a.symbol.toLowerCase() === symbol.toLowerCase());
    if (same !== undefined) throw new Error(`token ${symbol}: ${network.id} lists an asset ${same.symbol} already`);
    tokens.push({ symbol, contract: parsed.address, decimals });
  }
  return tokens;
}
