/**
 * Watches addresses for whoever brings a store of their own.
 *
 * Invariant: changes and state come out of a poll together and are taken over together. A poll that throws, and one
 * whose commit throws, leaves the watcher as it was. Whoever stores both in one transaction over `baseRevision` books
 * each change once, wherever the program dies.
 */

import { parseAddress } from "../core/address.ts";
import { keyText } from "../core/transfer.ts";
import { type Book, EMPTY_BOOK, type Held, isLive, readTo } from "./book.ts";
import { assetOf, type PollResult, toDeposit, type WatchedDeposit } from "./deposit.ts";
import { type Change, Draft, type DraftSettings, type Request } from "./draft.ts";
import { fillGaps } from "./fill-gaps.ts";
import { readChain } from "./read-chain.ts";
import { checkedPolicy, type WatcherPolicy } from "./rules.ts";
import type { DepositSource, SourceNetwork } from "./source.ts";
import { fromState, toState, type WatcherState } from "./state.ts";
import type { Turn } from "./turn.ts";

export interface WatchedAddress {
  readonly address: string;
  /** First height whose payments count. Absent: from the next height that is read. */
  readonly startHeight?: number;
}

export interface WatcherOptions {
  readonly policy: WatcherPolicy;
  /** Blocks at the top that may be replaced. Confirmations go up to here; what lies deeper is never taken back. */
  readonly reorgDepth: number;
  /** What was stored last. Absent or null: begin at the chain's head. */
  readonly state?: WatcherState | null;
  /** Most blocks of one poll; 4,096 unless given. A reorganisation is followed whole all the same. */
  readonly maxBlocksPerPoll?: number;
}

const MAX_BLOCKS_PER_POLL = 4_096;
/** After this many polls without a new block the other providers are asked as well. */
const QUIET_POLLS = 10;

export class DepositWatcher {
  readonly #source: DepositSource;
  readonly #settings: DraftSettings;
  readonly #maxBlocks: number;
  #book: Book;
  #requests: Request[] = [];
  #isPolling = false;
  #quietPolls = 0;

  /**
   * @param addresses what is watched from now on, whatever the state says: others in it are removed. Null: those of
   * the state.
   * @throws Error for a policy that cannot be kept, an address that is none, a state that does not belong here
   */
  constructor(source: DepositSource, addresses: Iterable<string | WatchedAddress> | null, options: WatcherOptions) {
    const { policy, reorgDepth, state = null, maxBlocksPerPoll = MAX_BLOCKS_PER_POLL } = options;
    const { network } = source;
    if (!Number.isSafeInteger(maxBlocksPerPoll) || maxBlocksPerPoll < 1)
      throw new Error(`maxBlocksPerPoll: expected 1 or more, got ${maxBlocksPerPoll}`);
    this.#source = source;
    this.#settings = { network, reorgDepth, policy: checkedPolicy(network, policy, reorgDepth) };
    this.#maxBlocks = maxBlocksPerPoll;
    this.#book = state === null ? EMPTY_BOOK : fromState(network, state);
    for (const held of this.#book.deposits.values()) assertStillRead(network, held);
    if (addresses !== null) this.#watchOnly(addresses);
  }

  /** What was taken over last, as plain JSON. Addresses added since the last poll are not in it yet. */
  get state(): WatcherState {
    return toState(this.#settings.network, this.#book);
  }

  /**
   * Takes effect with the next poll, and for good with its state. Adding what is watched already changes nothing; an
   * earlier start height adds the heights before, each told once.
   * @throws Error when it is no address, or a mixed-case one whose checksum is wrong
   */
  add(...addresses: readonly (string | WatchedAddress)[]): void {
    this.#requests.push(...addresses.map((entry) => this.#toAdd(entry)));
  }

  /** Takes effect with the next poll. What is mined in the next `reorgDepth` blocks still counts: it may have moved. */
  remove(...addresses: readonly string[]): void {
    this.#requests.push(
      ...addresses.map((address) => ({ kind: "remove" as const, address: this.#canonical(address) })),
    );
  }

  /**
   * Reads what is new. With `commit`, the watcher goes on from the new state only when that has returned; it is not
   * called when nothing changed. Without, it goes on at once: store the result, or make a new watcher of the old state.
   * One poll at a time.
   * @throws ChainFault when no provider can be read from: `retryable` says whether it may help to poll again
   * @throws DeepReorganisation when the chain was replaced below the window
   * @throws whatever `commit` threw
   */
  async poll(commit?: (result: PollResult) => void | Promise<void>): Promise<PollResult> {
    if (this.#isPolling) throw new Error("a poll is under way: the next one may begin when it has ended");
    this.#isPolling = true;
    try {
      const requests = [...this.#requests];
      const result = await this.#read(requests);
      if (commit !== undefined && result.poll.changed) await commit(result.poll);
      this.#book = result.book;
      this.#requests = this.#requests.slice(requests.length);
      this.#quietPolls = result.hasAdvanced ? 0 : this.#quietPolls + 1;
      return result.poll;
    } finally {
      this.#isPolling = false;
    }
  }

  async #read(requests: readonly Request[]): Promise<{ poll: PollResult; book: Book; hasAdvanced: boolean }> {
    const before = this.#book;
    const draft = new Draft(this.#settings, before, requests);
    const turn: Turn = {
      ...this.#settings,
      source: this.#source,
      draft,
      candidates: this.#source.candidates(),
      blocksLeft: this.#maxBlocks,
      hasAdvanced: false,
      internal: null,
      detail: "",
    };
    const { head, more } = await readChain(turn, this.#quietPolls >= QUIET_POLLS);
    await fillGaps(turn);
    const book = draft.close();
    const { chain, gaps } = book;
    if (chain === null) throw new Error("a provider answered, and the watcher has not begun");
    const { network } = this.#settings;
    const poll: PollResult = {
      ...listsOf(network, draft.changes),
      head,
      readTo: readTo(chain),
      windowFrom: chain.windowFrom,
      pastBlocks: pastBlocks(book),
      more: more || gaps.length > 0,
      internal: turn.internal,
      changed: book !== before,
      watchesChanged: book.watches !== before.watches,
      baseRevision: before.revision,
      state: toState(network, book),
    };
    return { poll, book, hasAdvanced: turn.hasAdvanced };
  }

  #watchOnly(addresses: Iterable<string | WatchedAddress>): void {
    const wanted = Array.from(addresses, (entry) => this.#toAdd(entry));
    const kept = new Set(wanted.map(({ address }) => address));
    for (const [address, intervals] of this.#book.watches) {
      const isOpen = intervals.some(([, until]) => until === null);
      if (isOpen && !kept.has(address)) this.#requests.push({ kind: "remove", address });
    }
    for (const request of wanted) this.#requests.push(request);
  }

  #toAdd(entry: string | WatchedAddress): Request & { kind: "add" } {
    const { address, startHeight = null } = typeof entry === "string" ? { address: entry } : entry;
    if (startHeight !== null && (!Number.isSafeInteger(startHeight) || startHeight < 0))
      throw new Error(`startHeight of ${address}: expected 0 or more, got ${startHeight}`);
    return { kind: "add", address: this.#canonical(address), from: startHeight };
  }

  #canonical(text: string): string {
    const { network } = this.#settings;
    const parsed = parseAddress(network, text);
    if (!parsed.ok) throw new Error(`${JSON.stringify(text)} is no address of ${network.id} (${parsed.reason})`);
    return parsed.address;
  }
}

/** A payment that is followed and not read any more would seem to be gone from the chain. */
function assertStillRead(network: SourceNetwork, held: Held): void {
  if (!isLive(held) || held.status === "settled") return;
  const isRead =
    assetOf(network, held.asset) !== null &&
    (network.native || held.transferIndex !== "value") &&
    (network.internal || !held.transferIndex.startsWith("call:"));
  if (!isRead)
    throw new Error(`the state follows ${keyText(held)} in ${held.asset}, which the source does not read any more`);
}

function listsOf(network: SourceNetwork, changes: readonly Change[]) {
  const lists = { reverted: [], confirmed: [], pending: [], dropped: [], settled: [] } as Record<
    Change["step"]["type"],
    WatchedDeposit[]
  >;
  const confirmed = new Set(changes.filter(({ step }) => step.type === "confirmed").map(({ key }) => keyText(key)));
  for (const { key, step } of changes) {
    if (step.type === "pending" && confirmed.has(keyText(key))) continue;
    lists[step.type].push(toDeposit(network, key, step.told));
  }
  return lists;
}

function pastBlocks({ gaps }: Book): number {
  const heights = gaps.map(({ from, to }) => [from, to] as const).sort(([a], [b]) => a - b);
  let total = 0;
  let counted = -1;
  for (const [from, to] of heights) {
    total += Math.max(0, to - Math.max(from, counted + 1) + 1);
    counted = Math.max(counted, to);
  }
  return total;
}
