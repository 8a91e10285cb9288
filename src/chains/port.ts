/**
 * What a chain adapter offers to the scanner. One `ChainNode` is one provider: everything a node says
 * is believed only as far as its own answers agree with each other, and links are proven by one node,
 * never stitched from two.
 */

import type { TokenFacts } from "../core/network.ts";
import type { Transfer } from "../core/transfer.ts";
import type { BlockRef } from "../core/window.ts";

export type { BlockRef };

export interface ChainTip {
  readonly head: BlockRef;
  /** The chain's finalized block, or null where the chain or the node has none. */
  readonly finalized: { readonly height: number; readonly hash: string } | null;
}

/** What else is of interest when a node is asked where its chain stands. It may come along in the same request. */
export interface AskedWithTip {
  /** Height that will be read next, should the node have it. The reading that begins there asks for its block no more. */
  readonly next: number | null;
  /** As in the `Interest` of that reading. */
  readonly native: boolean;
  /** false: the finalized block need not be asked for, and may be null. */
  readonly finalized: boolean;
}

/** What the reader is looking for. */
export interface Interest {
  /** Listed token contracts, canonical. Empty: no log is asked for at all. */
  readonly contracts: ReadonlySet<string>;
  readonly native: boolean;
  readonly internal: boolean;
  /**
   * Which of these receivers are watched. Synchronous; any number of addresses in one call.
   * A reading asks once about each receiver, about as many in one call as it knows by then.
   */
  watched(addresses: ReadonlySet<string>): ReadonlySet<string>;
}

export interface Reading {
  /**
   * Headers read, ascending from the height asked for, each the parent of the next. May be shorter
   * than asked: `stopped` says why, or is null when this is as much as is read in one go; then there is
   * one at least, and callers go on after the last. Every listed height is completely read.
   */
  readonly blocks: readonly BlockRef[];
  /** Transfers to watched receivers in exactly these blocks, in chain order. Amounts above zero only. */
  readonly transfers: readonly Transfer[];
  /** What kept the reading from going on; null when nothing did. */
  readonly stopped: Stopped | null;
  /** Whether coins sent by contracts were seen in these blocks. `off`: the network does not ask for them. */
  readonly internal: "traced" | "untraced" | "off";
  /** Token payments that count for less than their log says, since less arrived. */
  readonly shortTransfers: number;
  /** Token payments taken by their log alone: the node could not tell the receiver's balance. */
  readonly unweighedTransfers: number;
  /** Transfer-like logs of listed contracts that do not have the standard form and were not credited. */
  readonly irregularLogs: number;
}

/** A pool at one moment. It says what may come, never what has been paid. */
export interface PoolReading {
  /** The node's head, the same before and after the pool was read; null: it moved, and this reading tells nothing. */
  readonly head: string | null;
  /** Payments to watched receivers that wait. Amounts above zero only. */
  readonly transfers: readonly PoolTransfer[];
  /** Whether everything that waits was looked at. If not, what is missing here may wait all the same. */
  readonly isWhole: boolean;
  /** Everything that waits, looked at or not; null: the node does not know it yet. What is not among them does not wait. */
  readonly txIds: ReadonlySet<string> | null;
}

export type PoolTransfer = Omit<Transfer, "height" | "blockHash">;

export type Stopped =
  /** The node does not have the block, or has it without what belongs to it. Ask again, or ask another. */
  | { readonly reason: "not_known"; readonly height: number; readonly detail: string }
  /** The node's answers contradict each other (bloom, receipts, hash, links). Ask again, or ask another. */
  | { readonly reason: "inconsistent"; readonly height: number; readonly detail: string };

export interface ChainNode {
  /** Host of the provider, without path, query or credentials: safe to log. */
  readonly name: string;
  /** Whether it is known by now to offer no traces. Absent: its family has none. */
  readonly lacksTraces?: boolean;
  /** @throws ChainFault */
  tip(also?: AskedWithTip): Promise<ChainTip>;
  /** Headers alone, ascending, linked; a shorter list when the node does not have them all. @throws ChainFault */
  headers(from: number, to: number): Promise<readonly BlockRef[]>;
  /**
   * Reads blocks near the head, each by its own hash, its receipts proven against its header.
   * At most `MAX_BLOCKS_PER_READ` heights. @throws ChainFault
   */
  readBlocks(from: number, to: number, interest: Interest): Promise<Reading>;
  /**
   * Reads a long final range: headers in batches, logs in ranges that split on any limit. Every header is
   * linked, and a block whose bloom contradicts the answer is read through its receipts. The node must
   * show that it has `to`. At most `MAX_BLOCKS_PER_RANGE` heights, of which it may read fewer at a time. @throws ChainFault
   */
  readRange(from: number, to: number, interest: Interest): Promise<Reading>;
  /** Symbol and decimals as the contract states them, or null when there is no such token. @throws ChainFault */
  token(contract: string): Promise<TokenFacts | null>;
  /**
   * What waits to be mined, as this node's pool has it. Absent: its family has no pool that could be read whole.
   * @throws ChainFault
   */
  readonly pool?: ((interest: Interest) => Promise<PoolReading>) | undefined;
  /** The chain that the node shows, as CAIP-2 names it. @throws ChainFault */
  chain(): Promise<string>;
}

export const MAX_BLOCKS_PER_READ = 32;
export const MAX_BLOCKS_PER_RANGE = 2_048;

/** A provider failed. `retryable` says whether the same call may succeed later or elsewhere. */
export class ChainFault extends Error {
  override readonly name = "ChainFault";
  readonly retryable: boolean;
  readonly node: string;

  constructor(message: string, retryable: boolean, node: string, options?: { cause?: unknown }) {
    super(message, options);
    this.retryable = retryable;
    this.node = node;
  }
}
