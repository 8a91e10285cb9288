/**
 * The built-in networks of the Bitcoin family, each number with its reason; see `networks.ts` for what the numbers mean.
 */

import type { BitcoinNetwork } from "./network.ts";

/** Coins are the account: deposits are outputs, and what excludes two payments of one withdrawal is a shared input. */
const bitcoin: BitcoinNetwork = {
  id: "bitcoin",
  family: "bitcoin",
  // The first 32 digits of the genesis block's hash (CAIP-4's bip122).
  caip2: "bip122:000000000019d6689c085ae165831e93",
  nativeAsset: { symbol: "BTC", decimals: 8 },
  // There is no tag: depth is all there is.
  finality: "depth",
  // An hour of work. What is confirmed may be withdrawn at once; six blocks were last replaced in March 2013, by a bug.
  confirmations: 6,
  // Depth is work here, and time stamps may be two hours off: time says nothing that depth does not.
  minConfirmSeconds: 0,
  // A day: above the 101 blocks that a coinbase output waits for, and far above every fork there was (53 blocks in 2010).
  reorgWindow: 144,
  // A block comes every ten minutes; half a minute late is soon.
  pollMs: 15_000,
  native: true,
  internal: false,
  // A pool of a hundred thousand transactions must be read whole: a choice for whoever runs a node of their own.
  pool: false,
  tokens: [],
  addresses: { bech32: "bc", pubKeyHash: 0x00, scriptHash: 0x05, coinType: 0 },
  // Below 2^181 is what a difficulty of 8.8 * 10^12 asks. It was 54 * 10^12 at this height (July 2023) and has grown since: a
  // block that costs less than a sixth of that is nobody's.
  leastWork: { fromHeight: 800_000, highestHash: `${"0".repeat(18)}1${"f".repeat(45)}` },
  payout: {
    kind: "coins",
    // Core's default floor for relaying until version 30, and still that of most nodes.
    minFeeRate: 1,
    // The worst hours (May 2023, April 2024) asked some hundreds; a payment can wait.
    maxFeeRate: 500,
    // Half an hour.
    feeTargetBlocks: 3,
    // Some 3 kB: still cheap to replace, and far below what pools refuse.
    maxBatch: 100,
    replaceAfterBlocks: 6,
    // Blocks come in bursts: six hours pass before lateness means something.
    deadlineS: 21_600,
  },
};

/** A development chain of one's own: its blocks come when somebody asks for them. */
const bitcoinRegtest: BitcoinNetwork = {
  ...withoutWork(bitcoin),
  id: "bitcoin-regtest",
  caip2: "bip122:0f9188f13cb7b2c71f2a335e3a4fc328",
  confirmations: 3,
  pollMs: 1_000,
  pool: true,
  addresses: { bech32: "bcrt", pubKeyHash: 0x6f, scriptHash: 0xc4, coinType: 1 },
  payout: { ...bitcoin.payout, replaceAfterBlocks: 5, deadlineS: 3_600 },
};

function withoutWork({ leastWork: _work, ...rest }: BitcoinNetwork): BitcoinNetwork {
  return rest;
}

export const BITCOIN_NETWORKS: readonly BitcoinNetwork[] = [bitcoin, bitcoinRegtest];
