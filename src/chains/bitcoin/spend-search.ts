/**
 * Who spends an output, found without an index of transactions: by reading blocks upwards from where a spender may
 * stand. What was read is remembered by the hashes of blocks, which hold for ever whatever becomes of the chain: a
 * block is fetched once, and a look goes on where the last one ended.
 *
 * Kept for every pin: the blocks from its height to `upTo`, each the parent of the next, do not spend it.
 */

import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { type CoinPin, type CoinRef, coinText, type Spender } from "../coin-payout.ts";
import type { BitcoinBlock } from "./block.ts";
import { SpentOutputs } from "./spent-outputs.ts";
import type { BitcoinTransaction } from "./transaction.ts";

/** A block of the main chain is 4 MB of hex: this is what one look may take from a provider. */
const MAX_BLOCKS_PER_LOOK = 50;
const MAX_PINS = 4_000;

export interface Place {
  readonly height: number;
  readonly hash: string;
}

/** One provider's best chain, for the time of one look. */
export interface ChainView {
  readonly head: Place;
  /** Hash at each of these heights, none above the head. */
  hashesAt(heights: readonly number[]): Promise<ReadonlyMap<number, string>>;
  /** Null: the node has not kept it. */
  block(hash: string): Promise<BitcoinBlock | null>;
}

/** What is said of a pin that is not unspent; absent from the answer where the search did not come to its end. */
export type Found = ReadonlyMap<string, Spender | "missing">;

interface Trail {
  readonly from: number;
  upTo: Place | null;
  spender: Spender | null;
}

interface Searched {
  readonly pin: CoinPin;
  readonly text: string;
  readonly trail: Trail;
}

export class SpendSearch {
  readonly #trails = new Map<string, Trail>();
  readonly #spent = new SpentOutputs();

  /** These were there to be spent at this head: nothing up to it spends them. */
  noteUnspent(pins: readonly CoinPin[], head: Place): void {
    for (const pin of pins) {
      const trail = this.#trailOf(pin);
      trail.upTo = head.height >= trail.from ? head : null;
      trail.spender = null;
    }
  }

  /**
   * @param pins none of them there to be spent at the view's head
   * @returns null when the blocks do not hang together: the chain moved meanwhile
   */
  async find(pins: readonly CoinPin[], view: ChainView): Promise<Found | null> {
    const trails = pins.map((pin) => ({ pin, text: coinText(pin.ref), trail: this.#trailOf(pin) }));
    await this.#dropStale(trails, view);
    const found = new Map<string, Spender | "missing">();
    const open: Searched[] = [];
    for (const searched of trails) {
      if (searched.trail.spender === null) open.push(searched);
      else found.set(searched.text, searched.trail.spender);
    }
    if (!(await this.#climb(open, view))) return null;
    for (const { pin, text, trail } of open) {
      if (trail.spender !== null) found.set(text, trail.spender);
      // Below where the search begins there is nothing to be missed: such a node is not there yet.
      else if (trail.upTo?.height === view.head.height && view.head.height >= pin.from) found.set(text, "missing");
    }
    return found;
  }

  /** Up to where this look found that nothing spends the pin; null: it does not know of any height. */
  searchedTo(pin: CoinPin): number | null {
    return this.#trailOf(pin).upTo?.height ?? null;
  }

  /** What stands on blocks that are no longer on the chain is searched again. */
  async #dropStale(searched: readonly Searched[], { head, hashesAt }: ChainView): Promise<void> {
    const places = searched.flatMap(({ trail: { upTo, spender } }) => {
      const where = spender === null ? upTo : { height: spender.height, hash: spender.blockHash };
      return where === null ? [] : [where.height];
    });
    const hashes = await hashesAt([...new Set(places)].filter((height) => height <= head.height));
    for (const { trail } of searched) {
      if (trail.spender !== null && hashes.get(trail.spender.height) !== trail.spender.blockHash) {
        trail.spender = null;
        trail.upTo = null;
      }
      if (trail.upTo !== null && hashes.get(trail.upTo.height) !== trail.upTo.hash) trail.upTo = null;
    }
  }

  /** @returns false when a block does not go on from the one below */
  async #climb(open: readonly Searched[], { head, hashesAt, block }: ChainView): Promise<boolean> {
    const next = ({ pin, trail }: Searched) => (trail.upTo === null ? pin.from : trail.upTo.height + 1);
    let fetched = 0;
    let hashes: ReadonlyMap<number, string> = new Map();
    for (let height = lowest(open.map(next)); height <= head.height; height++) {
      const wanted = open.filter((searched) => searched.trail.spender === null && next(searched) === height);
      if (wanted.length === 0) {
        height = lowest(open.filter(({ trail }) => trail.spender === null).map(next)) - 1;
        continue;
      }
      if (!hashes.has(height)) hashes = await hashesAt(range(height, head.height));
      const hash = hashes.get(height);
      if (hash === undefined || (height === head.height && hash !== head.hash)) return false;
      const refs = wanted.map(({ pin }) => pin.ref);
      let parentHash = this.#spent.parentIfUntouched(hash, refs);
      if (parentHash === null) {
        if (fetched === MAX_BLOCKS_PER_LOOK) return true;
        fetched += 1;
        const whole = await block(hash);
        if (whole === null) return true;
        this.#spent.keep(whole);
        parentHash = whole.header.parentHash;
        noteSpenders(wanted, whole, { height, hash });
      }
      for (const { trail } of wanted) {
        if (trail.upTo !== null && trail.upTo.hash !== parentHash) {
          trail.spender = null;
          return false;
        }
        if (trail.spender === null) trail.upTo = { height, hash };
      }
    }
    return true;
  }

  #trailOf({ ref, from }: CoinPin): Trail {
    const text = coinText(ref);
    const known = this.#trails.get(text);
    this.#trails.delete(text);
    const trail = known === undefined || known.from > from ? { from, upTo: null, spender: null } : known;
    this.#trails.set(text, trail);
    for (const oldest of this.#trails.keys()) {
      if (this.#trails.size <= MAX_PINS) break;
      this.#trails.delete(oldest);
    }
    return trail;
  }
}

function noteSpenders(wanted: readonly Searched[], { transactions }: BitcoinBlock, where: Place): void {
  const byText = new Map(wanted.map((searched) => [searched.text, searched.trail]));
  for (const transaction of transactions) {
    for (const input of transaction.inputs) {
      const trail = byText.get(coinText(input));
      if (trail !== undefined) trail.spender = spenderOf(transaction, where);
    }
  }
}

function spenderOf({ txId, inputs, outputs }: BitcoinTransaction, { height, hash }: Place): Spender {
  return {
    txId,
    height,
    blockHash: hash,
    inputs: inputs.map((input): CoinRef => ({ txId: input.txId, vout: input.vout })),
    // The scripts are parts of the whole block's text, and would keep it in memory.
    outputs: outputs.map(({ script, amountUnits }) => ({ script: bytesToHex(hexToBytes(script)), amountUnits })),
  };
}

function range(from: number, to: number): number[] {
  const last = Math.min(to, from + MAX_BLOCKS_PER_LOOK - 1);
  return Array.from({ length: last - from + 1 }, (_, i) => from + i);
}

function lowest(heights: readonly number[]): number {
  return heights.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}
