/** What the parts of a scanner work with, and what it knows only while it is in memory. */

import type { ChainNodes } from "../../chains/nodes.ts";
import type { BlockRef, ChainNode } from "../../chains/port.ts";
import type { NetworkSettings } from "../../core/network.ts";
import type { Env } from "../../env.ts";
import type { ScannerDb } from "../../store/scanner/database.ts";
import { createState, readState, type ScannerState } from "../../store/scanner/state-store.ts";
import type { OwnedTransfer } from "../../store/scanner/transfer-store.ts";
import type { SteppedStorage } from "../stepped-storage.ts";

export interface ScannerContext {
  readonly storage: SteppedStorage;
  readonly db: ScannerDb;
  readonly env: Env;
  readonly network: NetworkSettings;
  readonly nodes: ChainNodes;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly memory: Memory;
}

/** Lost with the instance; nothing that must hold depends on it. */
export interface Memory {
  /** Highest block any node showed. */
  head: BlockRef | null;
  lastPollAt: number | null;
  lastOkAt: number | null;
  lastError: string | null;
  failedPolls: number;
  /** Since this instance began: polls, those that failed, and blocks read. */
  readonly counted: { polls: number; pollsFailed: number; blocksRead: number };
  lastAdvanceAt: number | null;
  /** Highest block of the reading under way: a watch taken meanwhile begins above it. -1 when none is. */
  readingTo: number;
  /** When the finalized block was asked for last. */
  finalizedAskedAt: number;
  /** The provider that our tip was read from. */
  tipFrom: ChainNode | null;
  /** Height at which another branch as high as ours was followed last. -1: none. */
  evenAt: number;
  /** Polls in a row in which a fork below the window was seen. */
  deepSightings: number;
  /** The poll of the last one. */
  deepSightingAt: number | null;
  /** Transfers of the last commits whose claim is still to be made; null after a start: read them from the rows. */
  unclaimed: OwnedTransfer[] | null;
  /** Keys in the pool that another tenant holds: a claim would be refused again. */
  readonly refusedUnmined: Set<string>;
  /** Payments in the pool for which there was no room, at the last reading. */
  leftOutOfPool: number;
  /** What is counted and told for the operator. */
  readonly sights: ScannerSights;
  /** Listed contracts and who listed them; null: read them from the rows. */
  listed: ReadonlyMap<string, ReadonlySet<number>> | null;
}

export interface ScannerSights {
  /** Claims of the last minutes, oldest first: how many were new, how many met again. */
  readonly claims: { readonly at: number; readonly fresh: number; readonly again: number }[];
  /** By kind: when it was told last, unix ms. */
  readonly toldAt: Map<string, number>;
  /** The halt that the monitor knows of, null: that there is none; undefined: nothing is known of what it knows. */
  toldHalt: string | null | undefined;
  /** Calls of the alarm that go on at this moment. */
  polls: number;
}

function freshSights(): ScannerSights {
  return { claims: [], toldAt: new Map(), toldHalt: undefined, polls: 0 };
}

export function freshMemory(): Memory {
  return {
    head: null,
    lastPollAt: null,
    lastOkAt: null,
    lastError: null,
    failedPolls: 0,
    counted: { polls: 0, pollsFailed: 0, blocksRead: 0 },
    lastAdvanceAt: null,
    readingTo: -1,
    finalizedAskedAt: 0,
    tipFrom: null,
    evenAt: -1,
    deepSightings: 0,
    deepSightingAt: null,
    unclaimed: null,
    refusedUnmined: new Set(),
    leftOutOfPool: 0,
    sights: freshSights(),
    listed: null,
  };
}

export function stateOf(s: Pick<ScannerContext, "db" | "network">): ScannerState {
  return readState(s.db) ?? createState(s.db, s.network.id);
}

/** The highest head any node showed. */
export function noteHead(s: ScannerContext, head: BlockRef): void {
  if (s.memory.head === null || head.height > s.memory.head.height) s.memory.head = head;
}
