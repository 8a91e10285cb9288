/**
 * What providers say about one hot wallet, and what of it holds when they are taken together. One look is
 * one provider's answers to one question. Where two providers exist, more than half of them, and two at least,
 * must say the same thing before it is believed: a lone provider may lag, sit on a fork, or lie. How deep a
 * transaction stands is said by those alone that have it: a head of one fork says nothing of a block of another.
 */

import type { EvmLog } from "./transfer-log.ts";

export interface WalletQuestion {
  readonly sender: string;
  /** Hashes of every attempt that may still be mined or replaced. */
  readonly hashes: readonly string[];
  /** Heights whose block hash is wanted: where attempts were seen mined. */
  readonly heights: readonly number[];
}

export interface MinedReceipt {
  readonly txId: string;
  readonly height: number;
  readonly blockHash: string;
  readonly success: boolean;
  /** Base units of the native coin that the network took, a rollup's share for its parent chain included. */
  readonly feeUnits: bigint;
  readonly logs: readonly EvmLog[];
}

export interface WalletLook {
  readonly head: number;
  /** Highest height that is final by the network's own rule on this provider; -1 when none is. */
  readonly finalHeight: number;
  /** Transactions of the wallet in blocks up to the head, and with the pool's as far as the provider knows them. */
  readonly nonceLatest: number;
  readonly noncePending: number;
  /** Transactions up to `finalHeight`; null when the provider cannot tell. */
  readonly nonceFinal: number | null;
  /** By hash, and only of blocks that this provider has on its best chain. */
  readonly receipts: ReadonlyMap<string, MinedReceipt>;
  /** Hash of the block at each height asked for, on this provider's best chain; absent when it has none. */
  readonly blocks: ReadonlyMap<number, string>;
}

/** What enough providers say. The numbers are the highest that enough of them reach. */
export interface AgreedLook {
  readonly head: number;
  readonly finalHeight: number;
  readonly nonceLatest: number;
  /** It can raise the wallet's counter and nothing else. */
  readonly noncePending: number;
  readonly nonceFinal: number | null;
  readonly receipts: ReadonlyMap<string, MinedReceipt>;
  /** How deep a receipt of `receipts` stands for those who have it: its own block is 1; below 1 they do not reach it. */
  standingOf(receipt: MinedReceipt): { readonly depth: number; readonly isFinal: boolean };
  /** Whether enough providers have, at a height, a block other than this one. */
  isReplaced(height: number, blockHash: string): boolean;
  /** Whether enough providers whose final nonce is past `nonce` were asked for these hashes and have none of them. */
  isConsumedByAnother(nonce: number, hashes: readonly string[]): boolean;
}

/** How many providers must say the same: two where two exist, and more than half, so that no two answers hold. */
export function quorumOf(providers: number): number {
  return Math.min(providers, Math.max(2, Math.floor(providers / 2) + 1));
}

/**
 * @param providers how many the network has, answering or not
 * @param asked the hashes that everybody was asked for; left out: all that anybody will ever name
 * @returns null when too few looked
 */
export function agree(
  looks: readonly WalletLook[],
  providers: number,
  asked: ReadonlySet<string> | null = null,
): AgreedLook | null {
  const quorum = quorumOf(providers);
  if (looks.length < quorum || quorum === 0) return null;
  const enough = (holds: (look: WalletLook) => boolean) => looks.filter(holds).length >= quorum;
  const nonces = looks.flatMap(({ nonceFinal }) => nonceFinal ?? []);
  return {
    head:
      reached(
        looks.map(({ head }) => head),
        quorum,
      ) ?? -1,
    finalHeight:
      reached(
        looks.map(({ finalHeight }) => finalHeight),
        quorum,
      ) ?? -1,
    nonceLatest:
      reached(
        looks.map(({ nonceLatest }) => nonceLatest),
        quorum,
      ) ?? 0,
    noncePending:
      reached(
        looks.map(({ noncePending }) => noncePending),
        quorum,
      ) ?? 0,
    nonceFinal: reached(nonces, quorum),
    receipts: agreedReceipts(looks, quorum),
    standingOf: (receipt) => {
      const holders = looks.filter((look) => {
        const own = look.receipts.get(receipt.txId);
        return own !== undefined && isSame(own, receipt);
      });
      const head = reached(
        holders.map((look) => look.head),
        quorum,
      );
      const final = reached(
        holders.map((look) => look.finalHeight),
        quorum,
      );
      return { depth: (head ?? -1) - receipt.height + 1, isFinal: receipt.height <= (final ?? -1) };
    },
    isReplaced: (height, blockHash) =>
      enough(({ blocks }) => {
        const found = blocks.get(height);
        return found !== undefined && found !== blockHash;
      }),
    isConsumedByAnother: (nonce, hashes) =>
      hashes.every((hash) => asked === null || asked.has(hash)) &&
      enough(
        ({ nonceFinal, receipts }) =>
          nonceFinal !== null && nonceFinal > nonce && !hashes.some((hash) => receipts.has(hash)),
      ),
  };
}

/** So many blocks one provider may be ahead of another before it says something against either. */
const SPREAD_BLOCKS = 2;

/**
 * What two providers say that cannot both be so on one chain, in words; null: nothing. A fork at the head is among it,
 * and passes.
 */
export function contradictionIn(looks: readonly WalletLook[]): string | null {
  for (const look of looks) {
    for (const receipt of look.receipts.values()) {
      const { txId, height } = receipt;
      for (const other of looks) {
        const own = other.receipts.get(txId);
        if (own !== undefined && !isSame(own, receipt)) return `two accounts of ${txId}`;
        if (own === undefined && other !== look && other.head >= height + SPREAD_BLOCKS)
          return `${txId} is in block ${height} for one, and in none up to ${other.head} for another`;
      }
    }
    for (const other of looks) {
      const isOfOneHeight = other.finalHeight === look.finalHeight && look.nonceFinal !== null;
      if (isOfOneHeight && other.nonceFinal !== null && other.nonceFinal !== look.nonceFinal)
        return `final nonces ${look.nonceFinal} and ${other.nonceFinal} at height ${look.finalHeight}`;
    }
  }
  return null;
}

/** The `quorum`-th highest: so many reach it. */
function reached(values: readonly number[], quorum: number): number | null {
  return [...values].sort((a, b) => b - a)[quorum - 1] ?? null;
}

/** Where two versions of a receipt both have enough providers behind them, neither is believed. */
function agreedReceipts(looks: readonly WalletLook[], quorum: number): ReadonlyMap<string, MinedReceipt> {
  const agreed = new Map<string, MinedReceipt>();
  for (const hash of new Set(looks.flatMap(({ receipts }) => [...receipts.keys()]))) {
    const said = looks.flatMap(({ receipts }) => receipts.get(hash) ?? []);
    const believed = said.filter((receipt) => said.filter((other) => isSame(other, receipt)).length >= quorum);
    const first = believed[0];
    if (first !== undefined && believed.every((receipt) => isSame(receipt, first))) agreed.set(hash, first);
  }
  return agreed;
}

/** All of it: what is paid is read from the logs, and the fee is booked, so neither may be one provider's word. */
function isSame(a: MinedReceipt, b: MinedReceipt): boolean {
  return (
    a.blockHash === b.blockHash &&
    a.height === b.height &&
    a.success === b.success &&
    a.feeUnits === b.feeUnits &&
    JSON.stringify(a.logs.map(logFields)) === JSON.stringify(b.logs.map(logFields))
  );
}

function logFields({ address, topics, data }: EvmLog): readonly unknown[] {
  return [address, topics, data];
}
