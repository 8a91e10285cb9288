/**
 * A watcher's state as plain JSON, and back. No bigint, no Map: it goes through `JSON.stringify` unchanged. What
 * comes back was stored by somebody else, so every field is looked at.
 */

import { unitsFromText } from "../core/amount.ts";
import { keyText } from "../core/transfer.ts";
import type { ConfirmationRule, Told } from "../core/watcher.ts";
import type { Book, Held } from "./book.ts";
import type { SourceNetwork } from "./source.ts";
import type { Interval, Watches } from "./watches.ts";

export interface WatcherState {
  readonly format: 1;
  /** Grows by one with each poll that changed something. */
  readonly revision: number;
  readonly network: string;
  readonly chainId: number;
  /** Null before the first block. */
  readonly chain: {
    readonly windowFrom: number;
    readonly finalized: number;
    readonly tipTimestamp: number;
    /** From height `windowFrom - 1` on. */
    readonly hashes: readonly string[];
  } | null;
  readonly deposits: readonly StoredDeposit[];
  /** Address, first and last height that are still to be read. */
  readonly gaps: readonly (readonly [address: string, from: number, to: number])[];
  /** By address: first and last height that count. The same object as before while no address changed. */
  readonly watches: Readonly<Record<string, readonly Interval[]>>;
}

export type StoredDeposit = Omit<Held, "amountUnits"> & {
  /** Base units, decimal. */
  readonly amountUnits: string;
};

const STATUSES: readonly Told["status"][] = ["pending", "confirmed", "settled", "reverted", "dropped"];

const watchesAsJson = new WeakMap<Watches, WatcherState["watches"]>();

export function toState(network: SourceNetwork, book: Book): WatcherState {
  return {
    format: 1,
    revision: book.revision,
    network: network.id,
    chainId: network.chainId,
    chain: book.chain,
    deposits: [...book.deposits.values()].map((held) => ({ ...held, amountUnits: held.amountUnits.toString() })),
    gaps: book.gaps.map(({ address, from, to }) => [address, from, to]),
    watches: watchesOf(book.watches),
  };
}

function watchesOf(watches: Watches): WatcherState["watches"] {
  const known = watchesAsJson.get(watches);
  if (known !== undefined) return known;
  const made = Object.fromEntries(watches);
  watchesAsJson.set(watches, made);
  return made;
}

/** @throws Error that says what is wrong: a state that is not understood is never read as an empty one. */
export function fromState(network: SourceNetwork, state: WatcherState): Book {
  const s = object(state, "state");
  if (s.format !== 1) throw wrong("state.format", "1", s.format);
  if (s.network !== network.id) throw wrong("state.network", network.id, s.network);
  if (s.chainId !== network.chainId) throw wrong("state.chainId", String(network.chainId), s.chainId);
  const deposits = list(s.deposits, "state.deposits").map((entry, i) => heldOf(entry, `state.deposits.${i}`));
  const watches = new Map(
    Object.entries(object(s.watches, "state.watches")).map(([address, intervals]) => [
      address,
      list(intervals, `state.watches.${address}`).map((pair) => intervalOf(pair, `state.watches.${address}`)),
    ]),
  );
  const gaps = list(s.gaps, "state.gaps").map((entry) => {
    const [address, from, to] = list(entry, "state.gaps");
    return { address: text(address, "state.gaps"), from: height(from, "state.gaps"), to: height(to, "state.gaps") };
  });
  watchesAsJson.set(watches, state.watches);
  return {
    revision: height(s.revision, "state.revision"),
    chain: s.chain === null ? null : chainOf(object(s.chain, "state.chain")),
    deposits: new Map(deposits.map((held) => [keyText(held), held])),
    watches,
    gaps,
  };
}

function chainOf(chain: Record<string, unknown>): NonNullable<Book["chain"]> {
  const hashes = list(chain.hashes, "state.chain.hashes").map((hash) => text(hash, "state.chain.hashes"));
  if (hashes.length === 0) throw wrong("state.chain.hashes", "one hash at least", hashes);
  return {
    windowFrom: height(chain.windowFrom, "state.chain.windowFrom"),
    hashes,
    tipTimestamp: height(chain.tipTimestamp, "state.chain.tipTimestamp"),
    finalized: chain.finalized === -1 ? -1 : height(chain.finalized, "state.chain.finalized"),
  };
}

function heldOf(value: unknown, path: string): Held {
  const d = object(value, path);
  const status = STATUSES.find((known) => known === d.status);
  if (status === undefined) throw wrong(`${path}.status`, `one of ${STATUSES.join(", ")}`, d.status);
  const rule: ConfirmationRule = d.rule === "finalized" ? "finalized" : height(d.rule, `${path}.rule`);
  return {
    txId: text(d.txId, `${path}.txId`),
    transferIndex: text(d.transferIndex, `${path}.transferIndex`),
    address: text(d.address, `${path}.address`),
    asset: text(d.asset, `${path}.asset`),
    amountUnits: unitsFromText(text(d.amountUnits, `${path}.amountUnits`)),
    height: height(d.height, `${path}.height`),
    blockHash: text(d.blockHash, `${path}.blockHash`),
    timestamp: height(d.timestamp, `${path}.timestamp`),
    ...(d.leastDepth === undefined ? {} : { leastDepth: height(d.leastDepth, `${path}.leastDepth`) }),
    ...(d.memo === undefined ? {} : { memo: text(d.memo, `${path}.memo`) }),
    status,
    epoch: height(d.epoch, `${path}.epoch`),
    rule,
  };
}

function intervalOf(value: unknown, path: string): Interval {
  const [from, until] = list(value, path);
  return [height(from, path), until === null ? null : height(until, path)];
}

function object(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(path, "an object", value);
  return value as Record<string, unknown>;
}

function list(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(path, "a list", value);
  return value;
}

function text(value: unknown, path: string): string {
  if (typeof value !== "string") throw wrong(path, "text", value);
  return value;
}

function height(value: unknown, path: string): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw wrong(path, "an integer, 0 or more", value);
  return value;
}

function wrong(path: string, expected: string, got: unknown): Error {
  const shown = typeof got === "object" && got !== null ? "an object or list" : String(got);
  return new Error(`${path}: expected ${expected}, got ${shown.slice(0, 80)}`);
}
