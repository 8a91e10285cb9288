/**
 * In which slot the block of a height is. Nodes are asked by slot, and what one says a slot holds is checked against the
 * block itself by whoever reads it: a slot from here is where to look, never a fact.
 */

import { ChainFault } from "../port.ts";
import type { RpcClient } from "../rpc/client.ts";
import { MalformedAnswer, parseList } from "../rpc/malformed.ts";
import { ask, FINALIZED, faultOf, isWithoutBlock, parseCount } from "./answers.ts";
import { type BlockHead, headCall, readHead } from "./block.ts";

/** Heights whose slots are remembered. */
const MAX_KNOWN = 4_096;
/** From a block so far below, the wanted one is found by counting. */
const COUNTABLE = 1_000;
/** Interpolation takes three to five; halving all of the main chain takes 29. */
const MAX_PROBES = 40;
/** Slots below the newest final one that are looked through for a block, and blocks tried there. */
const NEWEST_REACH = 64;
const NEWEST_TRIED = 8;

export interface FoundSlots {
  /** Of consecutive heights from the one asked for; perhaps fewer than asked, perhaps none. */
  readonly slots: readonly number[];
  /** Found by what was known before. When it proves wrong, `forget` and ask again. */
  readonly isRemembered: boolean;
}

export class Slots {
  readonly #rpc: RpcClient;
  readonly #known = new Map<number, number>();

  constructor(rpc: RpcClient) {
    this.#rpc = rpc;
  }

  learn(height: number, slot: number): void {
    this.#known.delete(height);
    this.#known.set(height, slot);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }

  forget(): void {
    this.#known.clear();
  }

  /** @throws ChainFault, MalformedAnswer */
  async of(from: number, to: number): Promise<FoundSlots> {
    const count = to - from + 1;
    for (const height of [from, from - 1]) {
      const slot = this.#known.get(height);
      if (slot === undefined) continue;
      const listed = await this.#list(slot, count + from - height);
      if (listed[0] === slot) return { slots: listed.slice(from - height), isRemembered: true };
    }
    const slot = await this.#search(from);
    const listed = slot === null ? [] : await this.#list(slot, count);
    return { slots: listed[0] === slot ? listed : [], isRemembered: false };
  }

  /** The newest final block that the node gives. @throws ChainFault, MalformedAnswer */
  async newest(): Promise<BlockHead & { readonly height: number; readonly timestamp: number }> {
    const slot = parseCount(await ask(this.#rpc, "getSlot", [{ commitment: FINALIZED }]), "final slot");
    const from = Math.max(0, slot - NEWEST_REACH);
    const answer = await ask(this.#rpc, "getBlocks", [from, slot, { commitment: FINALIZED }]);
    for (const candidate of parseSlots(answer, from).slice(-NEWEST_TRIED).reverse()) {
      const head = await this.#head(candidate);
      if (head === null || head.height === null || head.timestamp === null) continue;
      this.learn(head.height, head.slot);
      return { ...head, height: head.height, timestamp: head.timestamp };
    }
    throw new ChainFault(`${this.#rpc.name} gives no block of the slots ${from} to ${slot}`, true, this.#rpc.name);
  }

  /** Null when the node does not show where it is. */
  async #search(height: number): Promise<number | null> {
    const top = await this.newest();
    if (height >= top.height) return height === top.height ? top.slot : null;
    let [low, high] = [
      { height: 0, slot: 0 },
      { height: top.height, slot: top.slot },
    ];
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      if (height - low.height <= COUNTABLE) {
        const listed = await this.#list(low.slot, height - low.height + 1);
        const isCounted = listed[0] === low.slot && listed.length > height - low.height;
        // The first block may be gone from a node whose later ones are not.
        if (isCounted || low.height > 0) return isCounted ? (listed[height - low.height] ?? null) : null;
      }
      const guess = guessBetween(low, high, height, probe);
      const [slot] = await this.#list(guess, 1);
      if (slot === undefined || slot >= high.slot) {
        high = { height: high.height, slot: guess };
        continue;
      }
      const found = (await this.#head(slot))?.height ?? null;
      if (found === null || found === height) return found === null ? null : slot;
      if (found < height) low = { height: found, slot };
      else high = { height: found, slot: guess };
      if (high.slot - low.slot <= 1) return null;
    }
    return null;
  }

  async #head(slot: number): Promise<BlockHead | null> {
    const { method, params } = headCall(slot);
    const answer = await this.#rpc.call(method, params);
    if (answer.ok) return answer.result === null ? null : readHead(answer.result, slot);
    if (isWithoutBlock(answer.failure)) return null;
    throw faultOf(this.#rpc, `block of slot ${slot}`, answer.failure);
  }

  async #list(slot: number, count: number): Promise<readonly number[]> {
    const answer = await ask(this.#rpc, "getBlocksWithLimit", [slot, count, { commitment: FINALIZED }]);
    return parseSlots(answer, slot).slice(0, count);
  }
}

interface Point {
  readonly height: number;
  readonly slot: number;
}

/** Strictly between, a little below where the height should be; every fourth time the middle, whatever is skipped where. */
function guessBetween(low: Point, high: Point, height: number, probe: number): number {
  const perBlock = (high.slot - low.slot) / Math.max(1, high.height - low.height);
  const guess = low.slot + (height - low.height - COUNTABLE / 2) * perBlock;
  const middle = (low.slot + high.slot) / 2;
  return Math.floor(Math.min(high.slot - 1, Math.max(low.slot + 1, probe % 4 === 3 ? middle : guess)));
}

function parseSlots(value: unknown, from: number): readonly number[] {
  let last = from - 1;
  return parseList(value, `slots from ${from}`).map((item) => {
    const slot = parseCount(item, `slots from ${from}`);
    if (slot <= last) throw new MalformedAnswer(`slots from ${from}`, `ascending slots, above ${last}`, slot);
    last = slot;
    return slot;
  });
}
