/** What is exported as `sluice/watcher`. */

export {
  type BlockRef,
  ChainFault,
  type ChainNode,
  type ChainTip,
  type Interest,
  type Reading,
  type Stopped,
} from "../chains/port.ts";
export type { TokenFacts } from "../core/network.ts";
export type { Transfer } from "../core/transfer.ts";
export type { ConfirmationRule } from "../core/watcher.ts";
export type { PollResult, WatchedDeposit } from "./deposit.ts";
export { DepositWatcher, type WatchedAddress, type WatcherOptions } from "./deposit-watcher.ts";
export { type EvmNetwork, type EvmSourceOptions, evmSource } from "./evm-source.ts";
export type { AssetPolicy, WatcherPolicy } from "./rules.ts";
export { type DepositSource, nodeSource, type SourceNetwork } from "./source.ts";
export type { StoredDeposit, WatcherState } from "./state.ts";
export { DeepReorganisation } from "./turn.ts";
