/** What a watcher tells: deposits, and the result of one poll. */

import type { TokenFacts } from "../core/network.ts";
import { NATIVE, type TransferKey } from "../core/transfer.ts";
import type { Told } from "../core/watcher.ts";
import type { SourceNetwork } from "./source.ts";
import type { WatcherState } from "./state.ts";

/** One payment. Its identity is (network, txId, transferIndex); where it was mined may change, that does not. */
export interface WatchedDeposit extends TransferKey {
  /** Id of the source's network. */
  readonly network: string;
  /** Receiver, canonical form: lower case on EVM chains. */
  readonly address: string;
  /** Symbol. */
  readonly asset: string;
  /** The token's contract, canonical; null for the chain's own coin. */
  readonly contract: string | null;
  readonly decimals: number;
  /** Base units, above zero. */
  readonly amountUnits: bigint;
  readonly height: number;
  readonly blockHash: string;
  /** Time stamp of its block, unix seconds. */
  readonly timestamp: number;
  /** How many times it has been, or is about to be, confirmed: 1, and one more after each reversal. */
  readonly epoch: number;
}

/** The lists are of what happened in this poll, each deposit once in each. Book `reverted` before `confirmed`. */
export interface PollResult {
  /** Confirmed before, and not on the best chain any more, or there with other contents or not deep enough. */
  readonly reverted: readonly WatchedDeposit[];
  /** As deep as the policy asks. */
  readonly confirmed: readonly WatchedDeposit[];
  /** Seen, and not deep enough yet. For display: it may go. */
  readonly pending: readonly WatchedDeposit[];
  /** Gone before it was confirmed. */
  readonly dropped: readonly WatchedDeposit[];
  /** Below the window: it cannot be reverted any more, and the watcher forgets it. */
  readonly settled: readonly WatchedDeposit[];
  /** Newest height that a provider showed. */
  readonly head: number;
  /** Everything up to here was read, apart from the past of addresses that were added with a start height. */
  readonly readTo: number;
  /** First height that may still be replaced. */
  readonly windowFrom: number;
  /** Blocks of addresses' past that are still to be read. */
  readonly pastBlocks: number;
  /** There is more to read at once: poll again without a wait. */
  readonly more: boolean;
  /** Whether coins sent by contracts were seen in the newest blocks read. `off`: not asked for. Null: no new block. */
  readonly internal: "traced" | "untraced" | "off" | null;
  /** Whether `state` differs from the one before. */
  readonly changed: boolean;
  /** Whether `state.watches` differs from the one before: kept apart, a large set need not be written every time. */
  readonly watchesChanged: boolean;
  /** Revision of the state this poll began with. Commit only over that one. */
  readonly baseRevision: number;
  /** What to store with the changes, in the same transaction. Plain JSON. */
  readonly state: WatcherState;
}

export interface AssetFacts {
  readonly symbol: string;
  readonly decimals: number;
}

/** Null when the source does not list this contract. */
export function assetOf(network: Pick<SourceNetwork, "nativeAsset" | "tokens">, asset: string): AssetFacts | null {
  if (asset === NATIVE) return network.nativeAsset;
  return network.tokens.find((token: TokenFacts) => token.contract === asset) ?? null;
}

export function toDeposit(network: SourceNetwork, key: TransferKey, told: Told): WatchedDeposit {
  const facts = assetOf(network, told.asset);
  if (facts === null) throw new Error(`a deposit is in ${told.asset}, which ${network.id} does not list`);
  return {
    network: network.id,
    txId: key.txId,
    transferIndex: key.transferIndex,
    address: told.address,
    asset: facts.symbol,
    contract: told.asset === NATIVE ? null : told.asset,
    decimals: facts.decimals,
    amountUnits: told.amountUnits,
    height: told.height,
    blockHash: told.blockHash,
    timestamp: told.timestamp,
    epoch: told.epoch,
  };
}
