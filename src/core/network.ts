/**
 * What a network is to this service: its identity and the settings that say when a payment counts.
 * There is no default across networks: each one carries its own numbers.
 */

/** `depth`: a number of blocks, the block itself being the first. `tag`: the chain's own finalized tag. */
export type Finality = "depth" | "tag";

export type NetworkSettings = EvmNetwork | BitcoinNetwork | TronNetwork | SolanaNetwork;
export type NetworkFamily = NetworkSettings["family"];

interface NetworkBase {
  /** Our id, as merchants write it: `ethereum`, `local`. */
  readonly id: string;
  /** CAIP-2, e.g. `eip155:1`. What a node shows of itself is compared with it. */
  readonly caip2: string;
  readonly nativeAsset: NativeAsset;
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
  /** Whether payments that wait to be mined are told as pending, from what a node's pool holds. */
  readonly pool: boolean;
  /** Tokens every tenant may receive here, addresses canonical. */
  readonly tokens: readonly TokenFacts[];
}

export interface EvmNetwork extends NetworkBase {
  readonly family: "evm";
  /** EIP-155. */
  readonly chainId: number;
  readonly payout: NoncePayout;
}

export interface BitcoinNetwork extends NetworkBase {
  readonly family: "bitcoin";
  readonly addresses: BitcoinAddressForm;
  /** Left out: blocks may cost nothing, as on a development chain. */
  readonly leastWork?: LeastWork;
  readonly payout: CoinPayout;
}

export interface TronNetwork extends NetworkBase {
  readonly family: "tron";
  readonly payout: ExpiringPayout;
}

export interface SolanaNetwork extends NetworkBase {
  readonly family: "solana";
  /** Base58 hash of the genesis block; null: a development chain, which has another one each time. */
  readonly genesis: string | null;
  readonly payout: ExpiringPayout;
}

export interface NativeAsset {
  readonly symbol: string;
  readonly decimals: number;
}

/** What a block must have cost, whoever shows it. */
export interface LeastWork {
  /** Below, blocks were cheaper. */
  readonly fromHeight: number;
  /** No hash of a block is higher: 64 digits in lower-case hex, as people write it. */
  readonly highestHash: string;
}

/** How a Bitcoin chain spells its addresses and extended keys. */
export interface BitcoinAddressForm {
  /** Human-readable part of segwit addresses (BIP-173, BIP-350). */
  readonly bech32: string;
  /** Version bytes of base58check addresses. */
  readonly pubKeyHash: number;
  readonly scriptHash: number;
  /** Coin type in derivation paths (SLIP-44): 0 on the main chain, 1 on every test chain. */
  readonly coinType: number;
}

/** How withdrawals are paid out where a wallet counts its transactions: one nonce carries one of them. */
export interface NoncePayout extends PayoutPace {
  readonly kind: "nonces";
  /** Highest fee per gas that is ever signed, in gwei (10^9 wei). Whole or fractional, above zero. */
  readonly maxFeeGwei: number;
  /** `eip1559`: base fee and tip. `legacy`: one gas price. */
  readonly feeModel: "eip1559" | "legacy";
}

/** How withdrawals are paid out where a wallet is a set of coins: an input is spent by one transaction. */
export interface CoinPayout extends PayoutPace {
  readonly kind: "coins";
  /** Lowest and highest fee rate that is ever signed, satoshi per virtual byte. Whole or fractional. */
  readonly minFeeRate: number;
  readonly maxFeeRate: number;
  /** Within how many blocks a first attempt should be mined: what the node's estimate is asked for. */
  readonly feeTargetBlocks: number;
  /** Withdrawals that share one transaction at most. */
  readonly maxBatch: number;
}

/**
 * How withdrawals are paid out where a signed transaction expires by itself: one lives at a time, and another is
 * signed only when the chain's final blocks show that the one before can never land.
 */
export interface ExpiringPayout extends PayoutPace {
  readonly kind: "expiring";
  /** Most of the native coin that one payment may cost in fees of every kind, decimal, in the coin's unit. */
  readonly maxFee: string;
}

interface PayoutPace {
  /** An attempt that is not mined after so many blocks is replaced with a higher fee. */
  readonly replaceAfterBlocks: number;
  /** Seconds from the nonce's allocation, or the choice of coins, after which a withdrawal that is not mined asks for a person. */
  readonly deadlineS: number;
}

/** Whether wallets there count their transactions. */
export function countsNonces(network: NetworkSettings): network is EvmNetwork {
  return network.payout.kind === "nonces";
}

/** Whether wallets there are sets of coins. */
export function holdsCoins(network: NetworkSettings): network is BitcoinNetwork {
  return network.payout.kind === "coins";
}

/** Whether transactions there expire by themselves, and exclude each other by nothing else. */
export function expiresByItself(network: NetworkSettings): network is TronNetwork | SolanaNetwork {
  return network.payout.kind === "expiring";
}

/** The coin's number in SLIP-44, as CAIP-19 names it. */
export function slip44Of(network: NetworkSettings): number {
  switch (network.family) {
    case "evm":
      return 60;
    case "bitcoin":
      return network.addresses.coinType;
    case "tron":
      return 195;
    case "solana":
      return 501;
  }
}

/** What CAIP-19 calls the tokens of a family; null: there are none. */
export function tokenNamespaceOf({ family }: Pick<NetworkSettings, "family">): string | null {
  switch (family) {
    case "evm":
      return "erc20";
    case "tron":
      return "trc20";
    case "solana":
      return "token";
    case "bitcoin":
      return null;
  }
}

export interface TokenFacts {
  readonly symbol: string;
  readonly contract: string;
  readonly decimals: number;
}
