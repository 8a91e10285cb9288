/**
 * Applies the operator's `NETWORKS` to the built-in networks. Whatever is not understood is refused, all of
 * it at once: a setting that is silently ignored would decide about money by accident.
 *
 * Kept for every network that comes out: confirmations <= reorgWindow, contracts canonical and symbols
 * unique, one chain under one id.
 */

import { z } from "zod";
import { parseAddress } from "./address.ts";
import type { BitcoinNetwork, EvmNetwork, NetworkFamily, NetworkSettings, TokenFacts } from "./network.ts";
import { BUILT_IN_NETWORKS } from "./networks.ts";

export type ParsedNetworks =
  | { readonly ok: true; readonly networks: Map<string, NetworkSettings> }
  /** Every problem, one a line. Each names the network, the key, what came and what was expected. */
  | { readonly ok: false; readonly detail: string };

const FAMILIES = ["evm", "bitcoin"] as const satisfies readonly NetworkFamily[];
const MAX_REORG_WINDOW = 20_000;
const MIN_POLL_MS = 100;
const MAX_POLL_MS = 3_600_000;
const MAX_CONFIRM_SECONDS = 86_400;
const MAX_DECIMALS = 77;
/** One wei, in gwei. */
const MIN_FEE_GWEI = 0.000000001;
const MAX_FEE_GWEI = 1_000_000;
/** Satoshi per virtual byte: the least that any node relays, and beyond every fee that was ever paid. */
const MIN_FEE_RATE = 0.1;
const MAX_FEE_RATE = 10_000;
const MAX_FEE_TARGET = 1_008;
/** Payments of one transaction: with one input for each it stays under the 100 kB that pools take. */
const MAX_BATCH = 500;
/** A coinbase output counts at 101 confirmations, and must still be inside the window then. */
const MIN_BITCOIN_WINDOW = 101;
const MAX_REPLACE_BLOCKS = 20_000;
const REPLACE_AFTER_MS = 180_000;
const MIN_DEADLINE_S = 10;
const MAX_DEADLINE_S = 604_800;
const MAX_SHOWN_CHARS = 60;
/** Development chains: many of them carry the same id, and nothing on them is worth counting twice. */
const SHARED_CHAIN_IDS: ReadonlySet<number> = new Set([1_337, 31_337]);

// Every message of the schema says what was expected; what came is read from the input beside it.
const SYMBOL = z.string({ error: "a symbol" }).regex(/^[A-Za-z0-9][A-Za-z0-9.+_-]{0,19}$/, {
  error: "1 to 20 of A-Z a-z 0-9 . + _ -, beginning with a letter or digit",
});
const DECIMALS = integer(0, MAX_DECIMALS);
const NATIVE_ASSET = z.strictObject({ symbol: SYMBOL, decimals: DECIMALS }, { error: "an object {symbol, decimals}" });
const TOKEN = z.strictObject(
  { symbol: SYMBOL, contract: z.string({ error: "a contract address" }), decimals: DECIMALS },
  { error: "an object {symbol, contract, decimals}" },
);

const IDENTITY = {
  family: z.enum(FAMILIES, { error: oneOf(FAMILIES) }),
  chain_id: integer(1, Number.MAX_SAFE_INTEGER),
  native_asset: NATIVE_ASSET,
};
/** What decides when a payment counts: a new network must state all of it. */
const PACE = {
  confirmations: integer(1, MAX_REORG_WINDOW),
  reorg_window: integer(1, MAX_REORG_WINDOW),
  poll_ms: integer(MIN_POLL_MS, MAX_POLL_MS),
  finality: z.enum(["depth", "tag"], { error: oneOf(["depth", "tag"]) }),
};
const OPTIONAL = {
  min_confirm_seconds: integer(0, MAX_CONFIRM_SECONDS).optional(),
  native: z.boolean({ error: "true or false" }).optional(),
  internal: z.boolean({ error: "true or false" }).optional(),
  tokens: z.array(TOKEN, { error: "an array of {symbol, contract, decimals}" }).optional(),
  pool: z.boolean({ error: "true or false" }).optional(),
  replace_after_blocks: integer(1, MAX_REPLACE_BLOCKS).optional(),
  withdrawal_deadline_s: integer(MIN_DEADLINE_S, MAX_DEADLINE_S).optional(),
};
/** What a fee is, by family. */
const EVM_FEES = {
  max_fee_gwei: number(MIN_FEE_GWEI, MAX_FEE_GWEI).optional(),
  fee_model: z.enum(["eip1559", "legacy"], { error: oneOf(["eip1559", "legacy"]) }).optional(),
};
const BITCOIN_FEES = {
  min_fee_rate: number(MIN_FEE_RATE, MAX_FEE_RATE).optional(),
  max_fee_rate: number(MIN_FEE_RATE, MAX_FEE_RATE).optional(),
  fee_target_blocks: integer(1, MAX_FEE_TARGET).optional(),
  max_batch: integer(1, MAX_BATCH).optional(),
};
const FEES = { ...EVM_FEES, ...BITCOIN_FEES };
/** Keys that say something about the networks of one family alone. */
const FAMILY_OF_KEY: Readonly<Record<string, NetworkFamily>> = {
  chain_id: "evm",
  internal: "evm",
  tokens: "evm",
  ...Object.fromEntries(Object.keys(EVM_FEES).map((key) => [key, "evm"])),
  pool: "bitcoin",
  ...Object.fromEntries(Object.keys(BITCOIN_FEES).map((key) => [key, "bitcoin"])),
};
const KEYS = Object.keys({ ...PACE, ...OPTIONAL, ...FEES, ...IDENTITY });

const ADDITION = z.strictObject({ ...IDENTITY, ...PACE, ...OPTIONAL, ...FEES }, { error: "an object" });
const OVERRIDE = ADDITION.partial();
type Override = z.output<typeof OVERRIDE>;

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

type Parsed =
  | { readonly ok: true; readonly network: NetworkSettings }
  | { readonly ok: false; readonly problems: readonly string[] };

function overridden(built: NetworkSettings, value: unknown): Parsed {
  const parsed = OVERRIDE.safeParse(value);
  if (!parsed.success) return { ok: false, problems: problemsOf(built.id, value, parsed.error.issues) };
  const moved = movedIdentity(built, parsed.data);
  return moved.length > 0 ? { ok: false, problems: moved } : merged(built, parsed.data);
}

function added(id: string, value: unknown): Parsed {
  if (!/^[a-z0-9][a-z0-9-]{0,31}$/.test(id)) {
    const expected = "expected a network id of at most 32 of a-z 0-9 -, beginning with a letter or digit";
    return { ok: false, problems: [`${shown(id)}: ${expected}`] };
  }
  const parsed = ADDITION.safeParse(value);
  if (!parsed.success) return { ok: false, problems: problemsOf(id, value, parsed.error.issues) };
  const { family, chain_id, native_asset, confirmations, reorg_window, poll_ms, finality } = parsed.data;
  if (family !== "evm")
    return {
      ok: false,
      problems: [`${id}.family: expected "evm" for a network that is not built in, got ${shown(family)}`],
    };
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
  return merged(stated, parsed.data);
}

function merged(under: NetworkSettings, given: Override): Parsed {
  const { tokens, problems } = listed(under, given.tokens ?? []);
  problems.push(...keysOfOthers(under, given));
  const common = {
    confirmations: given.confirmations ?? under.confirmations,
    finality: given.finality ?? under.finality,
    minConfirmSeconds: given.min_confirm_seconds ?? under.minConfirmSeconds,
    reorgWindow: given.reorg_window ?? under.reorgWindow,
    pollMs: given.poll_ms ?? under.pollMs,
    native: given.native ?? under.native,
    internal: given.internal ?? under.internal,
    pool: given.pool ?? under.pool,
    tokens,
  };
  const pace = {
    replaceAfterBlocks: given.replace_after_blocks ?? under.payout.replaceAfterBlocks,
    deadlineS: given.withdrawal_deadline_s ?? under.payout.deadlineS,
  };
  const network: NetworkSettings =
    under.family === "evm"
      ? { ...under, ...common, payout: noncePayout(under, given, pace) }
      : { ...under, ...common, payout: coinPayout(under, given, pace) };
  if (network.family === "bitcoin") problems.push(...bitcoinProblems(network));
  if (network.confirmations > network.reorgWindow) {
    const { id, confirmations, reorgWindow } = network;
    problems.push(`${id}.confirmations: expected at most reorg_window (${reorgWindow}), got ${confirmations}`);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, network };
}

function noncePayout({ payout }: EvmNetwork, given: Override, pace: Pace): EvmNetwork["payout"] {
  return {
    kind: "nonces",
    ...pace,
    maxFeeGwei: given.max_fee_gwei ?? payout.maxFeeGwei,
    feeModel: given.fee_model ?? payout.feeModel,
  };
}

function coinPayout({ payout }: BitcoinNetwork, given: Override, pace: Pace): BitcoinNetwork["payout"] {
  return {
    kind: "coins",
    ...pace,
    minFeeRate: given.min_fee_rate ?? payout.minFeeRate,
    maxFeeRate: given.max_fee_rate ?? payout.maxFeeRate,
    feeTargetBlocks: given.fee_target_blocks ?? payout.feeTargetBlocks,
    maxBatch: given.max_batch ?? payout.maxBatch,
  };
}

type Pace = Pick<NetworkSettings["payout"], "replaceAfterBlocks" | "deadlineS">;

function bitcoinProblems({ id, finality, reorgWindow, payout }: BitcoinNetwork): readonly string[] {
  const problems: string[] = [];
  if (finality !== "depth")
    problems.push(`${id}.finality: expected "depth", as Bitcoin has no tag, got ${shown(finality)}`);
  if (reorgWindow < MIN_BITCOIN_WINDOW) {
    const why = "a coinbase output waits for so many blocks";
    problems.push(`${id}.reorg_window: expected ${MIN_BITCOIN_WINDOW} at least (${why}), got ${reorgWindow}`);
  }
  if (payout.minFeeRate > payout.maxFeeRate) {
    problems.push(`${id}.min_fee_rate: expected at most max_fee_rate (${payout.maxFeeRate}), got ${payout.minFeeRate}`);
  }
  return problems;
}

/** A key that does nothing here would be believed to do something. */
function keysOfOthers({ id, family }: NetworkSettings, given: Override): readonly string[] {
  return Object.keys(given).flatMap((key) => {
    const other = FAMILY_OF_KEY[key];
    return other === undefined || other === family
      ? []
      : [`${id}.${key}: only networks of the ${other} family have it`];
  });
}

/** The network's tokens with the given ones behind them. */
function listed(
  under: NetworkSettings,
  given: readonly TokenFacts[],
): { tokens: readonly TokenFacts[]; problems: string[] } {
  const problems: string[] = [];
  const tokens = [...under.tokens];
  const contracts = new Set(tokens.map((token) => token.contract));
  // Two spellings of one symbol would be told apart by nobody but us.
  const symbols = new Set([under.nativeAsset, ...tokens].map((asset) => asset.symbol.toLowerCase()));
  for (const [i, { symbol, contract: text, decimals }] of given.entries()) {
    const where = `${under.id}.tokens.${i}`;
    const contract = parseAddress(under, text);
    if (!contract.ok) {
      problems.push(`${where}.contract: expected an address of this network, got ${shown(text)} (${contract.reason})`);
      continue;
    }
    if (contracts.has(contract.address)) problems.push(`${where}.contract: ${contract.address} is listed twice`);
    if (symbols.has(symbol.toLowerCase())) problems.push(`${where}.symbol: ${shown(symbol)} is listed twice`);
    contracts.add(contract.address);
    symbols.add(symbol.toLowerCase());
    tokens.push({ symbol, contract: contract.address, decimals });
  }
  return { tokens, problems };
}

/** Another chain under a built-in id would be credited with the built-in network's name. */
function movedIdentity(built: NetworkSettings, given: Override): readonly string[] {
  const pairs = [
    ["family", built.family, given.family],
    ["chain_id", built.family === "evm" ? built.chainId : undefined, given.chain_id],
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

function problemsOf(id: string, value: unknown, issues: readonly z.core.$ZodIssue[]): readonly string[] {
  return issues.flatMap((issue) => {
    const where = [id, ...issue.path].join(".");
    if (issue.code === "unrecognized_keys") {
      const expected = issue.path.length === 0 ? `; expected one of ${KEYS.join(", ")}` : "";
      return issue.keys.map((key) => `${where}: unknown key ${shown(key)}${expected}`);
    }
    return [`${where}: expected ${issue.message}, got ${shown(at(value, issue.path))}`];
  });
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (isObject(inner) || Array.isArray(inner) ? Reflect.get(inner, key) : undefined),
    value,
  );
}

/**
 * The first key that an object in this JSON text names twice, as a dotted path, or null. `JSON.parse` keeps
 * the last one and says nothing. The text must already have parsed.
 */
function repeatedKey(json: string): string | null {
  const open: { readonly keys: Set<string>; at: string }[] = [];
  let string = "";
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    const inner = open.at(-1);
    if (token === "{" || token === "[") open.push({ keys: new Set(), at: "" });
    else if (token === "}" || token === "]") open.pop();
    else if (token !== ":") string = token;
    else if (inner !== undefined) {
      inner.at = String(JSON.parse(string));
      if (inner.keys.has(inner.at)) return open.flatMap((object) => (object.at === "" ? [] : [object.at])).join(".");
      inner.keys.add(inner.at);
    }
  }
  return null;
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? typeof value;
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}...`;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function integer(least: number, most: number) {
  const error = `an integer from ${least} to ${most}`;
  return z.int({ error }).min(least, { error }).max(most, { error });
}

function number(least: number, most: number) {
  const error = `a number from ${least < 1e-6 ? least.toFixed(9) : least} to ${most}`;
  return z.number({ error }).min(least, { error }).max(most, { error });
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? `${shown(values[0])}` : `one of ${values.map(shown).join(", ")}`;
}

function refusal(problems: readonly string[]): { readonly ok: false; readonly detail: string } {
  return { ok: false, detail: problems.map((problem) => `NETWORKS: ${problem}`).join("\n") };
}
