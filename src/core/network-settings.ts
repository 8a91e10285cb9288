/**
 * Applies the operator's `NETWORKS` to the built-in networks. Whatever is not understood is refused, all of
 * it at once: a setting that is silently ignored would decide about money by accident.
 *
 * Kept over all networks that come out: one chain under one id, and a built-in id stays with its chain.
 */

import type { EvmNetwork, NetworkSettings } from "./network.ts";
import { type Changed, changed } from "./network-change.ts";
import {
  additionFrom,
  isObject,
  MAX_CONFIRM_SECONDS,
  MAX_REPLACE_BLOCKS,
  type Override,
  overrideFrom,
  shown,
} from "./network-keys.ts";
import { BUILT_IN_NETWORKS } from "./networks.ts";
import { repeatedKey } from "./repeated-key.ts";

export type ParsedNetworks =
  | { readonly ok: true; readonly networks: Map<string, NetworkSettings> }
  /** Every problem, one a line. Each names the network, the key, what came and what was expected. */
  | { readonly ok: false; readonly detail: string };

const REPLACE_AFTER_MS = 180_000;
/** Development chains: many of them carry the same id, and nothing on them is worth counting twice. */
const SHARED_CHAIN_IDS: ReadonlySet<number> = new Set([1_337, 31_337]);

/**
 * @param json the value of `NETWORKS`, an object by network id; absent or empty: the built-in networks as they are
 */
export function networksFrom(json: string | undefined): ParsedNetworks {
  const networks = new Map(BUILT_IN_NETWORKS.map((network) => [network.id, network]));
  if (json === undefined || json.trim() === "") return { ok: true, networks };

  let given: unknown;
  try {
    given = JSON.parse(json);
  } catch {
    return refusal(["expected a JSON object by network id, got text that is not JSON"]);
  }
  if (!isObject(given)) return refusal([`expected a JSON object by network id, got ${shown(given)}`]);
  const repeated = repeatedKey(json);
  if (repeated !== null) return refusal([`${repeated}: this key is named twice`]);

  const problems: string[] = [];
  for (const [id, value] of Object.entries(given)) {
    const built = networks.get(id);
    const parsed = built === undefined ? added(id, value) : overridden(built, value);
    if (parsed.ok) networks.set(id, parsed.network);
    else problems.push(...parsed.problems);
  }
  problems.push(...sharedChains(networks));
  return problems.length === 0 ? { ok: true, networks } : refusal(problems);
}

function overridden(built: NetworkSettings, value: unknown): Changed {
  const parsed = overrideFrom(built.id, value);
  if (!parsed.ok) return parsed;
  const moved = movedIdentity(built, parsed.keys);
  return moved.length > 0 ? { ok: false, problems: moved } : changed(built, parsed.keys);
}

function added(id: string, value: unknown): Changed {
  if (!/^[a-z0-9][a-z0-9-]{0,31}$/.test(id)) {
    const expected = "expected a network id of at most 32 of a-z 0-9 -, beginning with a letter or digit";
    return { ok: false, problems: [`${shown(id)}: ${expected}`] };
  }
  const parsed = additionFrom(id, value);
  if (!parsed.ok) return parsed;
  const { family, chain_id, native_asset, confirmations, reorg_window, poll_ms, finality } = parsed.keys;
  if (family !== "evm") {
    const problem = `${id}.family: expected "evm" for a network that is not built in, got ${shown(family)}`;
    return { ok: false, problems: [problem] };
  }
  const stated: EvmNetwork = {
    id,
    family,
    caip2: `eip155:${chain_id}`,
    chainId: chain_id,
    nativeAsset: native_asset,
    confirmations,
    finality,
    // Not a number of ours: what the stated depth takes at one block per poll. On a chain with many blocks
    // a second it is a floor in time, on a slow one it changes nothing.
    minConfirmSeconds: Math.min(MAX_CONFIRM_SECONDS, Math.ceil(((confirmations - 1) * poll_ms) / 1_000)),
    reorgWindow: reorg_window,
    pollMs: poll_ms,
    // Seeing too much costs a call, seeing too little loses a payment. A node without traces is shown as such.
    native: true,
    internal: true,
    pool: false,
    tokens: [],
    payout: {
      kind: "nonces",
      // Above what any network we know asks in its worst hours.
      maxFeeGwei: 500,
      feeModel: "eip1559",
      // Three minutes at one block per poll.
      replaceAfterBlocks: Math.min(MAX_REPLACE_BLOCKS, Math.ceil(REPLACE_AFTER_MS / poll_ms)),
      deadlineS: 3_600,
    },
  };
  return changed(stated, parsed.keys);
}

/** Another chain under a built-in id would be credited with the built-in network's name. */
function movedIdentity(built: NetworkSettings, given: Override): readonly string[] {
  const pairs = [
    ["family", built.family, given.family],
    ...(built.family === "evm" ? [["chain_id", built.chainId, given.chain_id] as const] : []),
    ["native_asset.symbol", built.nativeAsset.symbol, given.native_asset?.symbol],
    ["native_asset.decimals", built.nativeAsset.decimals, given.native_asset?.decimals],
  ] as const;
  return pairs
    .filter(([, own, other]) => other !== undefined && other !== own)
    .map(([key, own, other]) => `${built.id}.${key}: a built-in network keeps ${shown(own)}, got ${shown(other)}`);
}

/** One chain under two ids: its payments would be credited once under each. */
function sharedChains(networks: ReadonlyMap<string, NetworkSettings>): readonly string[] {
  const firstId = new Map<string, string>();
  const problems: string[] = [];
  for (const network of networks.values()) {
    // Only EVM networks can be added.
    if (network.family !== "evm") continue;
    const { id, chainId, caip2 } = network;
    const first = firstId.get(caip2);
    if (first === undefined) firstId.set(caip2, id);
    else if (!SHARED_CHAIN_IDS.has(chainId)) problems.push(`${id}.chain_id: ${chainId} is already network ${first}`);
  }
  return problems;
}

function refusal(problems: readonly string[]): { readonly ok: false; readonly detail: string } {
  return { ok: false, detail: problems.map((problem) => `NETWORKS: ${problem}`).join("\n") };
}
