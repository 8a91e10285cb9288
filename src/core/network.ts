/**
 * What a network is to this service: its identity and the settings that say when a payment counts.
 * There is no default across networks: each one carries its own numbers.
 */

export type NetworkFamily = "evm";

/** `depth`: a number of blocks, the block itself being the first. `tag`: the chain's own finalized tag. */
export type Finality = "depth" | "tag";

export interface NetworkSettings {
  /** Our id, as merchants write it: `ethereum`, `local`. */
  readonly id: string;
  readonly family: NetworkFamily;
  /** CAIP-2, e.g. `eip155:1`. */
  readonly caip2: string;
  readonly chainId: number;
  readonly nativeAsset: { readonly symbol: string; readonly decimals: number };
  /** Depth at which a payment counts under `finality: "depth"`; the block itself is the first. */
  readonly confirmations: number;
  readonly finality: Finality;
  /**
   * Least time in seconds between a block's own time stamp and the confirmation of its payments. On a
   * chain with ten blocks a second, a count of blocks alone says nothing.
   */
  readonly minConfirmSeconds: number;
  /** How many blocks below the tip are kept hash-linked and may still be replaced. */
  readonly reorgWindow: number;
  readonly pollMs: number;
  /** Whether transactions' own value counts as a deposit. */
  readonly native: boolean;
  /** Whether coins sent by contracts are read from traces, where the node offers them. */
  readonly internal: boolean;
  /** Tokens every tenant may receive here, addresses canonical. */
  readonly tokens: readonly TokenFacts[];
  readonly payout: PayoutSettings;
}

/** How withdrawals are paid out on a network. */
export interface PayoutSettings {
  /** Highest fee per gas that is ever signed, in gwei (10^9 wei). Whole or fractional, above zero. */
  readonly maxFeeGwei: number;
  /** `eip1559`: base fee and tip. `legacy`: one gas price. */
  readonly feeModel: "eip1559" | "legacy";
  /** An attempt that is not mined after so many blocks is replaced with a higher fee. */
  readonly replaceAfterBlocks: number;
  /** Seconds from the nonce's allocation after which a withdrawal that is not mined asks for a person. */
  readonly deadlineS: number;
}

export interface TokenFacts {
  readonly symbol: string;
  readonly contract: string;
  readonly decimals: number;
}
