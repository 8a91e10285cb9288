/**
 * The built-in networks whose transactions expire by themselves: TRON and Solana, each number with its reason; see
 * `networks.ts` for what the numbers mean.
 */

import type { SolanaNetwork, TronNetwork } from "./network.ts";

const tron: TronNetwork = {
  id: "tron",
  family: "tron",
  // The last four bytes of the genesis block's id, as eth_chainId shows them too (CAIP-2).
  caip2: "tron:0x2b6653dc",
  nativeAsset: { symbol: "TRX", decimals: 6 },
  // Only solidified blocks are read: 19 of 27 witnesses have built on them, and no node takes one back.
  finality: "tag",
  // 19 blocks of other witnesses make a block solid.
  confirmations: 19,
  minConfirmSeconds: 57,
  // What is read is final: the window holds what a node behind its own solid block might show again.
  reorgWindow: 64,
  // Two blocks.
  pollMs: 6_000,
  native: true,
  // Contracts send TRX too; nodes show it only where the operator saves internal transactions.
  internal: true,
  pool: false,
  tokens: [{ symbol: "USDT", contract: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", decimals: 6 }],
  payout: {
    kind: "expiring",
    // A transfer of USDT to a fresh address without staked energy: 130,000 energy at 420 sun took 55 TRX; prices fell since.
    maxFee: "100",
    // A minute of 3 s blocks: then the transaction has expired, and another may be signed.
    replaceAfterBlocks: 20,
    deadlineS: 3_600,
  },
};

const tronNile: TronNetwork = {
  ...tron,
  id: "tron-nile",
  caip2: "tron:0xcd8690dc",
  tokens: [],
};

const solana: SolanaNetwork = {
  id: "solana",
  family: "solana",
  caip2: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
  genesis: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
  nativeAsset: { symbol: "SOL", decimals: 9 },
  // Only finalized blocks are read: two thirds of the stake have rooted them.
  finality: "tag",
  confirmations: 32,
  minConfirmSeconds: 12,
  reorgWindow: 150,
  // Five slots of 0.4 s.
  pollMs: 2_000,
  native: true,
  // Transfers by programs are instructions like others: they are always seen.
  internal: false,
  pool: false,
  tokens: [
    { symbol: "USDC", contract: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", decimals: 6 },
    { symbol: "USDT", contract: "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", decimals: 6 },
  ],
  payout: {
    kind: "expiring",
    // A token account for the receiver (0.00204 SOL) and a priority fee of the worst hours.
    maxFee: "0.01",
    // 150 blocks: a blockhash is good for so long.
    replaceAfterBlocks: 150,
    deadlineS: 3_600,
  },
};

const solanaDevnet: SolanaNetwork = {
  ...solana,
  id: "solana-devnet",
  caip2: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
  genesis: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
  tokens: [],
};

/** A development chain: its genesis is another one each time. */
const solanaLocal: SolanaNetwork = {
  ...solana,
  id: "solana-local",
  caip2: "solana:local",
  genesis: null,
  minConfirmSeconds: 0,
  pollMs: 1_000,
  tokens: [],
};

export const EXPIRING_NETWORKS: readonly (TronNetwork | SolanaNetwork)[] = [
  tron,
  tronNile,
  solana,
  solanaDevnet,
  solanaLocal,
];

/** Genesis hashes of Solana's public chains: the main one, devnet, testnet. */
export const SOLANA_CLUSTERS: ReadonlySet<string> = new Set([
  "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
  "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
  "4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY",
]);
