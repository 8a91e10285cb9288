/**
 * One poll's work on a book: readings go in, changes come out. Synchronous throughout, so a poll that fails
 * leaves nothing half done, and thrown away with it is everything the poll had taken in.
 *
 * Within one draft a branch is replaced at most once, before anything else is read. So one key is reverted and
 * then confirmed, never the other way round.
 */

import type { BlockRef, ChainTip, Reading } from "../chains/port.ts";
import { ruleFor } from "../core/policy.ts";
import { isInternal, keyText, type Transfer, type TransferKey } from "../core/transfer.ts";
import { type ChainView, decide, type SeenPayment, type Step } from "../core/watcher.ts";
import { brokenLink, type Link, windowStart } from "../core/window.ts";
import { type Book, type Held, hashAt, isLive, type ReadChain, readTo } from "./book.ts";
import { assetOf } from "./deposit.ts";
import type { CheckedPolicy } from "./rules.ts";
import type { SourceNetwork } from "./source.ts";
import { areSame, covers, coversFrom, type Gap, unwatched, type Watches, watched, withoutRead } from "./watches.ts";

export interface DraftSettings {
  readonly network: SourceNetwork;
  readonly policy: CheckedPolicy;
  readonly reorgDepth: number;
}

/** What the caller asked for since the last poll, in order. */
export type Request =
  /** `from` null: from the next height that is read. */
  | { readonly kind: "add"; readonly address: string; readonly from: number | null }
  | {
      readonly kind: "remove";
      readonly address: string;
    };

export interface Change {
  readonly key: TransferKey;
  readonly step: Step;
}

export class Draft {
  readonly changes: Change[] = [];
  readonly #settings: DraftSettings;
  readonly #book: Book;
  readonly #requests: readonly Request[];
  #chain: ReadChain | null;
  readonly #deposits: Map<string, Held>;
  #watches: Watches;
  #gaps: readonly Gap[];

  constructor(settings: DraftSettings, book: Book, requests: readonly Request[]) {
    this.#settings = settings;
    this.#book = book;
    this.#requests = requests;
    this.#chain = book.chain;
    this.#deposits = new Map(book.deposits);
    this.#watches = book.watches;
    this.#gaps = book.gaps;
    if (book.chain !== null) this.#takeRequests(readTo(book.chain));
  }

  /** Null before the first block. */
  get chain(): ReadChain | null {
    return this.#chain;
  }

  get gaps(): readonly Gap[] {
    return this.#gaps;
  }

  /** Receivers whose payments count somewhere from this height on, or did and may have moved there. */
  watchedFrom(height: number): (addresses: ReadonlySet<string>) => ReadonlySet<string> {
    return (addresses) => {
      const held = new Set([...this.#deposits.values()].filter(isLive).map(({ address }) => address));
      return new Set([...addresses].filter((a) => held.has(a) || coversFrom(this.#watches.get(a), height)));
    };
  }

  /** Whether coins sent by a contract are told of above this height. */
  holdsInternalAbove(height: number): boolean {
    return [...this.#deposits.values()].some((held) => isLive(held) && isInternal(held) && held.height > height);
  }

  /** Begins with these linked headers, of which the last is the highest read. Payments in them are no news. */
  begin(headers: readonly BlockRef[], finalized: ChainTip["finalized"]): void {
    const [first] = headers;
    const last = headers.at(-1);
    if (first === undefined || last === undefined || this.#chain !== null)
      throw new Error("a watcher begins once, with one header at least");
    this.#chain = {
      windowFrom: first.height + 1,
      hashes: headers.map(({ hash }) => hash),
      tipTimestamp: last.timestamp,
      finalized: Math.min(finalized?.height ?? -1, last.height),
    };
    this.#takeRequests(last.height);
  }

  /**
   * Appends a reading to the highest block read.
   * @param finalTo highest of these heights that is final already, because it was read as such
   */
  extend(reading: Reading, finalized: ChainTip["finalized"], finalTo: number): "extended" | "forked" {
    const chain = this.#begun();
    const tip = { height: readTo(chain), hash: chain.hashes.at(-1) ?? "", parentHash: "" };
    const [first] = reading.blocks;
    if (first?.height !== tip.height + 1)
      throw new Error(`a reading begins at ${first?.height}, not above ${tip.height}`);
    if (first.parentHash !== tip.hash) return "forked";
    this.#take(tip, [reading], finalized, finalTo);
    return "extended";
  }

  /** Replaces everything above `ancestor` by a longer branch that one node proved. */
  replace(ancestor: Link, readings: readonly Reading[], finalized: ChainTip["finalized"]): void {
    const to = readings.at(-1)?.blocks.at(-1)?.height ?? -1;
    const tip = readTo(this.#begun());
    if (to <= tip) throw new Error(`a branch to ${to} is not longer than ${tip}`);
    this.#take(ancestor, readings, finalized, -1);
  }

  /** Adds what past heights hold for the addresses that lack them. Never removes. `from` is the lowest gap's. */
  fill(reading: Reading): void {
    const last = reading.blocks.at(-1);
    if (last === undefined) throw new Error("a gap is filled with one block at least");
    const timestamps = new Map(reading.blocks.map((block) => [block.height, block.timestamp]));
    const found = this.#inGaps(reading.transfers);
    this.#gaps = withoutRead(this.#gaps, last.height);
    for (const transfer of found) {
      const held = this.#deposits.get(keyText(transfer));
      // Settled is final: read again, it is the same payment. It was kept for this moment alone.
      if (held?.status !== "settled") this.#look(transfer, held, seenAs(transfer, timestamps));
      else if (this.#isRead(held)) this.#deposits.delete(keyText(transfer));
    }
  }

  /** The book after this poll: the same one when nothing changed. */
  close(): Book {
    const book = this.#book;
    const isSame =
      this.changes.length === 0 &&
      this.#chain === book.chain &&
      this.#watches === book.watches &&
      this.#gaps === book.gaps;
    if (isSame) return book;
    return {
      revision: book.revision + 1,
      chain: this.#chain,
      deposits: this.#deposits,
      watches: this.#watches,
      gaps: this.#gaps,
    };
  }

  #inGaps(transfers: readonly Transfer[]): readonly Transfer[] {
    const paid = new Set(transfers.map(({ address }) => address));
    const gaps = this.#gaps.filter(({ address }) => paid.has(address));
    return transfers.filter((transfer) => gaps.some((gap) => isInGap(gap, transfer)));
  }

  #begun(): ReadChain {
    if (this.#chain === null) throw new Error("the watcher has not begun");
    return this.#chain;
  }

  #takeRequests(tip: number): void {
    if (this.#requests.length === 0) return;
    const watches = new Map(this.#watches);
    const gaps: Gap[] = [];
    let changed = false;
    for (const request of this.#requests) {
      const before = watches.get(request.address) ?? [];
      const added = request.kind === "add" ? watched(request.address, before, request.from, tip) : null;
      // A payment that was mined in time may be mined again later, as long as the window is.
      const after = added?.intervals ?? unwatched(before, tip + this.#settings.reorgDepth);
      if (areSame(before, after)) continue;
      changed = true;
      gaps.push(...(added?.gaps ?? []));
      if (after.length > 0) watches.set(request.address, after);
      else watches.delete(request.address);
    }
    if (changed) this.#watches = watches;
    if (gaps.length > 0) this.#gaps = [...this.#gaps, ...gaps];
  }

  #take(parent: Link, readings: readonly Reading[], finalized: ChainTip["finalized"], finalTo: number): void {
    const chain = this.#begun();
    const blocks = readings.flatMap((reading) => reading.blocks);
    const broken = brokenLink(parent, blocks);
    if (broken !== -1) throw new Error(`block ${blocks[broken]?.height} does not go on from the one before it`);
    const tip = blocks.at(-1);
    if (tip === undefined) throw new Error("a branch has one block at least");
    const kept = chain.hashes.slice(0, parent.height - chain.windowFrom + 2);
    const joined = { ...chain, hashes: [...kept, ...blocks.map(({ hash }) => hash)], tipTimestamp: tip.timestamp };
    const final = Math.max(chain.finalized, provenFinalized(joined, finalized, finalTo));
    this.#chain = this.#moveWindow({ ...joined, finalized: final }, finalTo);

    const orphans = new Map([...this.#deposits].filter(([, held]) => isLive(held) && held.height > parent.height));
    const timestamps = new Map(blocks.map((block) => [block.height, block.timestamp]));
    const counted = readings
      .flatMap((reading) => reading.transfers)
      .filter((t) => covers(this.#watches.get(t.address), t.height) || orphans.get(keyText(t))?.address === t.address);
    const news = new Map(counted.map((transfer) => [keyText(transfer), transfer]));
    for (const [name, held] of orphans) if (!news.has(name)) this.#look(held, held, null);
    for (const [name, transfer] of news) this.#look(transfer, this.#deposits.get(name), seenAs(transfer, timestamps));
    for (const [name, held] of [...this.#deposits]) {
      if (!news.has(name) && (held.status === "pending" || held.status === "confirmed")) this.#look(held, held, held);
    }
  }

  #moveWindow(chain: ReadChain, finalTo: number): ReadChain {
    const tip = readTo(chain);
    const settings = { finality: "depth" as const, reorgWindow: this.#settings.reorgDepth };
    const at = { scannedTo: tip, finalized: chain.finalized, current: chain.windowFrom };
    const windowFrom = Math.max(windowStart(settings, at), Math.min(finalTo, tip) + 1);
    return { ...chain, windowFrom, hashes: chain.hashes.slice(windowFrom - chain.windowFrom) };
  }

  #look(key: TransferKey, held: Held | undefined, seen: SeenPayment | null): void {
    const chain = this.#begun();
    const { network, policy } = this.#settings;
    const view: ChainView = {
      head: readTo(chain),
      headTimestamp: chain.tipTimestamp,
      finalized: chain.finalized,
      windowFrom: chain.windowFrom,
      minConfirmSeconds: policy.minConfirmSeconds,
    };
    const { told, steps } = decide(held ?? null, seen, view, (payment) => {
      const asset = assetOf(network, payment.asset);
      if (asset === null) throw new Error(`${network.id} does not list ${payment.asset}, which was not asked for`);
      return ruleFor(policy.fallback, policy.rules, asset, payment.amountUnits);
    });
    for (const step of steps) this.changes.push({ key, step });
    if (told === null) return;
    const { txId, transferIndex } = key;
    const isUntold = told.status === "dropped" && told.epoch === 1;
    const isOver = told.status === "settled" && this.#isRead(told);
    if (isUntold || isOver) this.#deposits.delete(keyText(key));
    else this.#deposits.set(keyText(key), { ...told, txId, transferIndex });
  }

  /** Whether this height of the address was read as its own and so never will be again. */
  #isRead(at: Pick<Transfer, "address" | "height">): boolean {
    return covers(this.#watches.get(at.address), at.height) && !this.#gaps.some((gap) => isInGap(gap, at));
  }
}

/**
 * How far the node's finalized block proves our own chain final: a height of ours must have the hash the node
 * names. Above what was read it says something only about a range that was read as final.
 */
function provenFinalized(chain: ReadChain, finalized: ChainTip["finalized"], finalTo: number): number {
  if (finalized === null) return -1;
  const to = readTo(chain);
  if (finalized.height > to) return finalTo >= to ? to : -1;
  const ours = hashAt(chain, finalized.height);
  return ours === undefined || ours === finalized.hash ? finalized.height : -1;
}

function seenAs(transfer: Transfer, timestamps: ReadonlyMap<number, number>): SeenPayment {
  return { ...transfer, timestamp: timestamps.get(transfer.height) ?? 0 };
}

function isInGap(gap: Gap, { address, height }: Pick<Transfer, "address" | "height">): boolean {
  return gap.address === address && gap.from <= height && height <= gap.to;
}
