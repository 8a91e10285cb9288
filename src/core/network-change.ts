/**
 * A network with some of its settings changed. Kept for whatever comes out: confirmations <= reorgWindow, contracts
 * canonical, symbols unique, and what the family alone demands.
 */

import { parseAddress } from "./address.ts";
import { parseAmount } from "./amount.ts";
import {
  type BitcoinNetwork,
  type EvmNetwork,
  expiresByItself,
  type NetworkSettings,
  type SolanaNetwork,
  type TokenFacts,
  type TronNetwork,
} from "./network.ts";
import { keysOfOthers, type Override, shown } from "./network-keys.ts";

/** A coinbase output counts at 101 confirmations, and must still be inside the window then. */
const MIN_BITCOIN_WINDOW = 101;

/** Ten minutes. A look reads twice as many blocks at most. */
const MAX_TRON_LIFE_BLOCKS = 200;

export type Changed =
  | { readonly ok: true; readonly network: NetworkSettings }
  | { readonly ok: false; readonly problems: readonly string[] };

export function changed(under: NetworkSettings, given: Override): Changed {
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
  const network = withPayout(under, common, given, pace);
  if (network.family === "bitcoin") problems.push(...bitcoinProblems(network));
  if (expiresByItself(network)) problems.push(...expiringProblems(network));
  if (network.confirmations > network.reorgWindow) {
    const { id, confirmations, reorgWindow } = network;
    problems.push(`${id}.confirmations: expected at most reorg_window (${reorgWindow}), got ${confirmations}`);
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, network };
}

function withPayout(
  under: NetworkSettings,
  common: Partial<Omit<NetworkSettings, "family" | "payout">>,
  given: Override,
  pace: Pace,
): NetworkSettings {
  switch (under.family) {
    case "evm":
      return { ...under, ...common, payout: noncePayout(under, given, pace) };
    case "bitcoin":
      return { ...under, ...common, payout: coinPayout(under, given, pace) };
    case "tron":
    case "solana":
      return {
        ...under,
        ...common,
        payout: { kind: "expiring", ...pace, maxFee: given.max_fee ?? under.payout.maxFee },
      };
  }
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

function expiringProblems(network: TronNetwork | SolanaNetwork): readonly string[] {
  const { id, family, finality, nativeAsset, payout } = network;
  const problems: string[] = [];
  const { symbol, decimals } = nativeAsset;
  if (finality !== "tag")
    problems.push(`${id}.finality: expected "tag", as only final blocks are read, got ${shown(finality)}`);
  if (family === "tron" && payout.replaceAfterBlocks > MAX_TRON_LIFE_BLOCKS) {
    const why = "all blocks that could hold a payment are read before another is signed";
    problems.push(
      `${id}.replace_after_blocks: expected ${MAX_TRON_LIFE_BLOCKS} at most (${why}), got ${payout.replaceAfterBlocks}`,
    );
  }
  const fee = parseAmount(payout.maxFee, decimals);
  if (!fee.ok || fee.units === 0n) {
    const expected = `more than nothing, with at most ${decimals} decimals of ${symbol}`;
    problems.push(`${id}.max_fee: expected ${expected}, got ${shown(payout.maxFee)}`);
  }
  return problems;
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
