/**
 * The networks that are built in, each with its own numbers and a reason beside every number. Where a
 * token's address and decimals were read is in docs/networks.md: two independent sources for each. *
 * Kept by a test: confirmations <= reorgWindow, addresses canonical, one chain under one id.
 *
 * How the numbers are chosen:
 * - `finality`: `tag` wherever the chain has a finalized tag of its own, because a confirmed deposit may be
 *   withdrawn at once and then cannot be called back. A merchant who prefers speed sets a depth, per asset
 *   and amount.
 * - `confirmations`: the depth that comes nearest to the tag, for whoever switches a network to `depth`.
 * - `minConfirmSeconds`: the floor under every depth, also one that a merchant chose. Blocks of a second
 *   or less say little by their number alone.
 * - `reorgWindow`: the usual distance of the finalized tag with room for the worst stall seen so far. What
 *   falls below the window without being final needs a person.
 * - `pollMs`: every few blocks, so that one poll reads at most half of what one reading may hold.
 * - `internal`: on where tracing every block is affordable. Elsewhere `GET /v1/networks` says `off`, and an
 *   operator whose provider includes traces turns it on.
 * - `pool`: off where a pool is too large to be read by everybody.
 * - `payout.maxFeeGwei`: above what the network asked in its worst hours, far below what a slip of a digit or a
 *   lying provider would ask. A payment that needs more waits.
 * - `payout.minFeeRate`, `maxFeeRate`: the floor that nodes relay from, and the same cap in satoshi per virtual byte.
 * - `payout.replaceAfterBlocks`: one and a half to three minutes: a fee that was right is mined long before.
 * - `payout.deadlineS`: an hour. Replacements had twenty chances by then; a person should look.
 */

import { BITCOIN_NETWORKS } from "./bitcoin-networks.ts";
import { EXPIRING_NETWORKS } from "./expiring-networks.ts";
import type { EvmNetwork, NetworkSettings, TokenFacts } from "./network.ts";

const ETHER = { symbol: "ETH", decimals: 18 };

const ethereum: EvmNetwork = {
  id: "ethereum",
  family: "evm",
  caip2: "eip155:1",
  chainId: 1,
  nativeAsset: ETHER,
  finality: "tag",
  // Two epochs, what large exchanges wait for before they let the money out again.
  confirmations: 64,
  // One slot: a block nobody has built on yet is the kind that is replaced now and then.
  minConfirmSeconds: 12,
  // The tag is 64 to 96 blocks behind. In May 2023 it stood still for an hour: 300 more. 3.4 hours.
  reorgWindow: 1_024,
  // A third of a slot.
  pollMs: 4_000,
  native: true,
  // 7,200 blocks a day, and exchanges pay out ETH through contracts: without traces those are missed.
  internal: true,
  pool: false,
  tokens: [
    token("USDC", "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", 6),
    token("USDT", "0xdac17f958d2ee523a2206206994597c13d831ec7", 6),
    token("DAI", "0x6b175474e89094c44da98b954eedeac495271d0f", 18),
    token("WETH", "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2", 18),
    token("WBTC", "0x2260fac5e5542a773aa44fbcfedf7c193bc2c599", 8),
  ],
  payout: {
    kind: "nonces",
    // Base fees above this lasted hours at most since 2021; a payment can wait for hours, a fee never comes back.
    maxFeeGwei: 300,
    feeModel: "eip1559",
    // 3 minutes of 12 s slots.
    replaceAfterBlocks: 15,
    deadlineS: 3_600,
  },
};

const base: EvmNetwork = {
  id: "base",
  family: "evm",
  caip2: "eip155:8453",
  chainId: 8453,
  nativeAsset: ETHER,
  // A sequencer's block is a promise. It is final once its batch is in a finalized block of Ethereum.
  finality: "tag",
  // 30 minutes of 2 s blocks: about what the tag takes.
  confirmations: 900,
  minConfirmSeconds: 20,
  // 4 hours: 30 minutes for the tag, an hour of stalled finality on Ethereum, and a late batch.
  reorgWindow: 7_200,
  pollMs: 4_000,
  native: true,
  // 43,200 traced blocks a day, six times Ethereum's, each larger: a choice for the operator.
  internal: false,
  pool: false,
  tokens: [
    token("USDC", "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", 6),
    token("USDbC", "0xd9aaec86b65d86f6a7b5b1b0c42ffa531710b6ca", 6),
    token("USDT", "0xfde4c96c8593536e31f229ea8f37b2ada2699bb2", 6),
    token("DAI", "0x50c5725949a6f0c72e6c4a641f24049a917db0cb", 18),
    token("WETH", "0x4200000000000000000000000000000000000006", 18),
    token("cbBTC", "0xcbb7c0000ab88b473b1f5afd9ef808440eed33bf", 8),
  ],
  payout: {
    kind: "nonces",
    // Hundreds of times the usual fee, and still cents for a transfer. What the batch costs on Ethereum is apart.
    maxFeeGwei: 10,
    feeModel: "eip1559",
    // 90 seconds of 2 s blocks.
    replaceAfterBlocks: 45,
    deadlineS: 3_600,
  },
};

const arbitrum: EvmNetwork = {
  id: "arbitrum",
  family: "evm",
  caip2: "eip155:42161",
  chainId: 42161,
  nativeAsset: ETHER,
  // As on Base: the sequencer's order is soft until its batch is final on Ethereum.
  finality: "tag",
  // 30 minutes at 4 blocks a second.
  confirmations: 7_200,
  // 80 blocks. A depth of 30, as some services use here, would be over in 7 seconds.
  minConfirmSeconds: 20,
  // The largest window there is, 83 minutes: 20 for the tag and an hour of stalled finality on Ethereum.
  reorgWindow: 20_000,
  // 12 blocks.
  pollMs: 3_000,
  native: true,
  // 345,600 traced blocks a day.
  internal: false,
  pool: false,
  tokens: [
    token("USDC", "0xaf88d065e77c8cc2239327c5edb3a432268e5831", 6),
    token("USDC.e", "0xff970a61a04b1ca14834a43f5de4533ebddb5cc8", 6),
    token("USDT", "0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9", 6),
    token("DAI", "0xda10009cbd5d07dd0cecc66161fc93d7c9000da1", 18),
    token("WETH", "0x82af49447d8a07e3bd95bd0d56f35241523fbab1", 18),
    token("WBTC", "0x2f2a2543b76a4166549f7aab2e75bef0aefc5b0f", 8),
  ],
  payout: {
    kind: "nonces",
    // The floor is a hundredth of a gwei; a crowd (inscriptions, December 2023) drove it to a few.
    maxFeeGwei: 10,
    feeModel: "eip1559",
    // 90 seconds at 4 blocks a second.
    replaceAfterBlocks: 360,
    deadlineS: 3_600,
  },
};

/** The same software and pace as Base; its numbers are kept apart so that one can move without the other. */
const optimism: EvmNetwork = {
  id: "optimism",
  family: "evm",
  caip2: "eip155:10",
  chainId: 10,
  nativeAsset: ETHER,
  finality: "tag",
  confirmations: 900,
  minConfirmSeconds: 20,
  reorgWindow: 7_200,
  pollMs: 4_000,
  native: true,
  internal: false,
  pool: false,
  tokens: [
    token("USDC", "0x0b2c639c533813f4aa9d7837caf62653d097ff85", 6),
    token("USDC.e", "0x7f5c764cbc14f9669b88837ca1490cca17c31607", 6),
    token("USDT", "0x94b008aa00579c1307b0ef2c499ad98a8ce58e58", 6),
    token("USDT0", "0x01bff41798a0bcf287b996046ca68b395dbc1071", 6),
    token("DAI", "0xda10009cbd5d07dd0cecc66161fc93d7c9000da1", 18),
    token("WETH", "0x4200000000000000000000000000000000000006", 18),
    token("WBTC", "0x68f180fcce6836688e9084f035309e29bf0a2095", 8),
  ],
  payout: { kind: "nonces", maxFeeGwei: 10, feeModel: "eip1559", replaceAfterBlocks: 45, deadlineS: 3_600 },
};

const polygon: EvmNetwork = {
  id: "polygon",
  family: "evm",
  caip2: "eip155:137",
  chainId: 137,
  nativeAsset: { symbol: "POL", decimals: 18 },
  // Milestones (PIP-11): validators vote, and nodes refuse to reorganise past one. Usually seconds behind.
  finality: "tag",
  // Before milestones 157 blocks were once replaced; 128 was not enough.
  confirmations: 256,
  // A depth chosen by a merchant may be short; a minute is still some 30 blocks.
  minConfirmSeconds: 60,
  // 68 minutes: thirteen times the 157 blocks, and milestones once came 15 minutes late (September 2025).
  reorgWindow: 2_048,
  pollMs: 4_000,
  native: true,
  // 43,200 traced blocks a day, and providers are withdrawing `trace_*` here.
  internal: false,
  pool: false,
  tokens: [
    token("USDC", "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359", 6),
    token("USDC.e", "0x2791bca1f2de4661ed88a30c99a7a9449aa84174", 6),
    token("USDT", "0xc2132d05d31c914a87c6611c10748aeb04b58e8f", 6),
    token("DAI", "0x8f3cf7ad23cd3cadbd9735aff958023239c6a063", 18),
    token("WETH", "0x7ceb23fd6bc0add59e62ac25578270cff1b9f619", 18),
    token("WBTC", "0x1bfd67037b42cf73acf2047067bd4f2c47d9bfd6", 8),
  ],
  payout: {
    kind: "nonces",
    // Nodes take no tip under 25 gwei, and crowds drive the base fee past a thousand: a few cents all the same.
    maxFeeGwei: 1_500,
    feeModel: "eip1559",
    // 2 minutes of 2 s blocks.
    replaceAfterBlocks: 60,
    deadlineS: 3_600,
  },
};

const bsc: EvmNetwork = {
  id: "bsc",
  family: "evm",
  caip2: "eip155:56",
  chainId: 56,
  nativeAsset: { symbol: "BNB", decimals: 18 },
  // Fast finality (BEP-126): two votes of the validators, usually two blocks behind.
  finality: "tag",
  // Without votes a block is safe once more than half of the 21 validators built on it, each of them
  // sealing up to 16 blocks in a row: 176, and some.
  confirmations: 256,
  // What 15 blocks meant here for years, when a block took three seconds.
  minConfirmSeconds: 45,
  // 31 minutes of 0.45 s blocks, for the days when the votes are missing.
  reorgWindow: 4_096,
  // Seven blocks.
  pollMs: 3_000,
  native: true,
  // 192,000 traced blocks a day.
  internal: false,
  pool: false,
  // Binance-Peg tokens have 18 decimals here, also USDC and USDT.
  tokens: [
    token("USDC", "0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d", 18),
    token("USDT", "0x55d398326f99059ff775485246999027b3197955", 18),
    token("ETH", "0x2170ed0880ac9a755fd29b2688956bd959f933f8", 18),
    token("BTCB", "0x7130d2a12b9bcbfae4f2634d864a1ee1ce3ead9c", 18),
  ],
  payout: {
    kind: "nonces",
    // Twice the 5 gwei that everybody paid before validators lowered their floor, now a fraction of a gwei.
    maxFeeGwei: 10,
    // Since BEP-226, with a base fee of 0: the tip is the whole price.
    feeModel: "eip1559",
    // 90 seconds of 0.45 s blocks.
    replaceAfterBlocks: 200,
    deadlineS: 3_600,
  },
};

const sepolia: EvmNetwork = {
  id: "sepolia",
  family: "evm",
  caip2: "eip155:11155111",
  chainId: 11155111,
  nativeAsset: ETHER,
  // Nothing of value is here: whoever builds against it wants an answer in a minute, not in a quarter of an hour.
  finality: "depth",
  confirmations: 6,
  minConfirmSeconds: 12,
  // 51 minutes; test networks reorganise more freely than the real one.
  reorgWindow: 256,
  pollMs: 4_000,
  native: true,
  internal: true,
  pool: false,
  tokens: [
    token("USDC", "0x1c7d4b196cb0c7b01d743fbc6116a902379c7238", 6),
    token("WETH", "0xfff9976782d46cc05630d1f6ebab18b2324d6b14", 18),
  ],
  // As on Ethereum: what is tried here is to behave alike there.
  payout: { kind: "nonces", maxFeeGwei: 300, feeModel: "eip1559", replaceAfterBlocks: 15, deadlineS: 3_600 },
};

/** A development chain (anvil, hardhat). Its blocks come when somebody asks for them: time says nothing. */
const local: EvmNetwork = {
  id: "local",
  family: "evm",
  caip2: "eip155:31337",
  chainId: 31337,
  nativeAsset: ETHER,
  finality: "depth",
  confirmations: 3,
  minConfirmSeconds: 0,
  reorgWindow: 20,
  pollMs: 1_000,
  native: true,
  internal: true,
  pool: false,
  tokens: [],
  payout: {
    kind: "nonces",
    // Coins from nowhere: the cap is there to be reached on purpose.
    maxFeeGwei: 1_000,
    feeModel: "eip1559",
    // Above the three confirmations, so that somebody who mines by hand sees replacements without waiting.
    replaceAfterBlocks: 5,
    deadlineS: 3_600,
  },
};

export const BUILT_IN_NETWORKS: readonly NetworkSettings[] = [
  ethereum,
  base,
  arbitrum,
  optimism,
  polygon,
  bsc,
  sepolia,
  local,
  ...BITCOIN_NETWORKS,
  ...EXPIRING_NETWORKS,
];

function token(symbol: string, contract: string, decimals: number): TokenFacts {
  return { symbol, contract, decimals };
}
