/**
 * Whatever the chain, its providers and the program's own store do to a watcher, its books end as the chain's. Seeds
 * are worlds: forks, payments mined again elsewhere, providers that lag, fail or sit on a branch of their own, commits
 * that are lost, restarts at every moment, addresses that come, go and come back with a past.
 */

import { describe, expect, it } from "vitest";
import { ChainFault, DepositWatcher, type PollResult, type WatcherOptions } from "../../src/watcher/index.ts";
import { covers } from "../../src/watcher/watches.ts";
import { Dice } from "../simulation/world/dice.ts";
import {
  ModelChain,
  ModelNode,
  newAddress,
  pay,
  payThrough,
  payTokens,
  resetFresh,
  STRANGER,
  type Tx,
} from "../support/model-chain.ts";
import { modelSource, paymentsOn, Store, TOKEN } from "../support/watcher-world.ts";

const SEEDS = 60;
const MOVES = 45;
const DEPTH = 8;
const MAX_POLLS = 300;

class World {
  readonly #dice: Dice;
  readonly chain = new ModelChain();
  readonly #nodes = [new ModelNode(this.chain), new ModelNode(this.chain)];
  readonly #source = modelSource(this.#nodes);
  readonly store = new Store();
  /** The program's own table of addresses. */
  readonly #addresses = new Map<string, number | undefined>();
  readonly #people = Array.from({ length: 7 }, newAddress);
  readonly #gone: Tx[] = [];
  readonly #options: Omit<WatcherOptions, "state">;
  #watcher: DepositWatcher;
  #highest = 0;
  readonly met = { reverted: 0, again: 0, lost: 0, restarts: 0, faults: 0, past: 0 };

  constructor(seed: number) {
    this.#dice = new Dice(seed);
    this.chain.grow(5 + this.#dice.roll(30));
    for (const person of this.#people.slice(0, 3)) this.#addresses.set(person, this.#dice.chance(0.5) ? 0 : undefined);
    for (let i = 0; i < 6; i++) this.chain.mine(this.#payments());
    const depths = [1 + this.#dice.roll(4), 1 + this.#dice.roll(DEPTH)] as const;
    this.#options = {
      reorgDepth: DEPTH,
      maxBlocksPerPoll: 1 + this.#dice.roll(40),
      policy: {
        default: depths[0],
        assets: { COIN: { default: depths[1], amounts: [{ from: "0.000004", confirmations: DEPTH }] } },
      },
    };
    this.#watcher = this.#open();
  }

  /** One thing happens. */
  async move(): Promise<void> {
    const dice = this.#dice;
    const what = dice.roll(12);
    if (what < 3) this.chain.mine(this.#payments());
    else if (what < 5) this.#fork();
    else if (what === 5) for (const node of this.#nodes) node.lag = dice.roll(3);
    else if (what === 6) for (const node of this.#nodes) node.down = dice.chance(0.3);
    else if (what === 7) this.#splitOff();
    else if (what === 8) this.#changeAddresses();
    this.#highest = Math.max(this.#highest, ...this.#nodes.map((node) => node.chain.head));
    if (dice.chance(0.8)) await this.#poll();
    if (dice.chance(0.1)) this.#restart();
  }

  /** The chain rests, every provider is well, and all is read. */
  async rest(): Promise<void> {
    for (const node of this.#nodes) {
      node.chain = this.chain;
      node.lag = 0;
      node.down = false;
    }
    for (const blocks of [Math.max(0, this.#highest - this.chain.head) + 1, DEPTH]) {
      this.chain.grow(blocks);
      for (let polls = 0; (await this.#poll(true))?.changed !== false; polls++)
        if (polls > MAX_POLLS) throw new Error("the watcher comes to no end");
    }
  }

  #open(): DepositWatcher {
    const list = [...this.#addresses].map(([address, startHeight]) =>
      startHeight === undefined ? address : { address, startHeight },
    );
    return new DepositWatcher(this.#source, list, { ...this.#options, state: this.store.state });
  }

  #restart(): void {
    this.met.restarts++;
    this.#watcher = this.#open();
  }

  async #poll(isCalm = false): Promise<PollResult | null> {
    const losing = !isCalm && this.#dice.chance(0.25);
    const before = JSON.stringify(this.#watcher.state);
    const lost = new Error("the database is gone");
    try {
      const result = await this.#watcher.poll((poll) => {
        this.met.reverted += poll.reverted.length;
        this.met.again += poll.confirmed.filter(({ epoch }) => epoch > 1).length;
        if (poll.pastBlocks > 0) this.met.past++;
        if (losing) throw lost;
        this.store.commit(poll);
      });
      expect(JSON.stringify(this.#watcher.state)).toBe(JSON.stringify(result.state));
      return result;
    } catch (error) {
      if (error === lost) this.met.lost++;
      else if (error instanceof ChainFault) this.met.faults++;
      else throw error;
      expect(JSON.stringify(this.#watcher.state)).toBe(before);
      // A program that does not know how its commit ended begins anew with what is stored.
      if (error === lost && this.#dice.chance(0.5)) this.#restart();
      return null;
    }
  }

  #fork(): void {
    const deepest = Math.min(DEPTH - 1, this.chain.head - (this.#highest - DEPTH + 1), this.chain.head - 1);
    if (deepest < 1) return;
    const depth = 1 + this.#dice.roll(deepest);
    for (let height = this.chain.head - depth + 1; height <= this.chain.head; height++)
      this.#gone.push(...(this.chain.at(height)?.txs ?? []));
    const blocks = Array.from({ length: Math.max(1, depth + this.#dice.roll(4) - 1) }, () => this.#payments());
    this.chain.reorg(depth, ...blocks);
  }

  /** A provider goes on alone from a few blocks below the head. */
  #splitOff(): void {
    const node = this.#dice.pick(this.#nodes);
    const depth = Math.min(this.#dice.roll(3), this.chain.head - (this.#highest - DEPTH + 2));
    if (depth < 0 || node.chain !== this.chain) {
      node.chain = this.chain;
      return;
    }
    const alone = this.chain.fork(depth);
    for (let i = this.#dice.roll(depth + 2); i > 0; i--) alone.mine(this.#payments(false));
    node.chain = alone;
  }

  #changeAddresses(): void {
    const person = this.#dice.pick(this.#people);
    if (this.#addresses.has(person) && this.#dice.chance(0.5)) {
      this.#addresses.delete(person);
      this.#watcher.remove(person);
    } else {
      const startHeight = this.#dice.chance(0.7) ? this.#dice.roll(this.chain.head + 1) : undefined;
      this.#addresses.set(person, startHeight);
      this.#watcher.add(startHeight === undefined ? person : { address: person, startHeight });
    }
  }

  /** @param returns whether transactions of lost blocks may be among them, in an order of their own */
  #payments(returns = true): Tx[] {
    const dice = this.#dice;
    const txs: Tx[] = [];
    while (returns && this.#gone.length > 0 && dice.chance(0.6)) {
      const [tx] = this.#gone.splice(dice.roll(this.#gone.length), 1);
      // Executed again, it may pay otherwise.
      if (tx !== undefined) txs.push(dice.chance(0.9) ? tx : { ...tx, value: tx.value * 2n, calls: [] });
    }
    for (let i = dice.roll(3); i > 0; i--) {
      const to = dice.chance(0.8) ? dice.pick(this.#people) : STRANGER;
      const units = BigInt(1 + dice.roll(6));
      const kind = dice.roll(3);
      if (kind === 0) txs.push(pay(to, units));
      else if (kind === 1) txs.push(payTokens(TOKEN, [STRANGER, 1n], [to, units]));
      else txs.push(payThrough(STRANGER, { to, value: units }, { to: dice.pick(this.#people), value: 1n }));
    }
    return txs;
  }
}

async function play(seed: number): Promise<World> {
  resetFresh();
  const world = new World(seed);
  for (let i = 0; i < MOVES; i++) await world.move();
  await world.rest();
  return world;
}

/** Every payment at a height that counts is booked once and as it is; nothing is booked that is not on the chain. */
function expectBooks({ chain, store }: World): void {
  const paid = paymentsOn(chain);
  for (const [key, line] of store.books) expect([key, paid.get(key)?.line]).toEqual([key, line]);
  for (const [key, { address, height, line }] of paid) {
    if (covers(store.state?.watches[address], height)) expect([key, store.books.get(key)]).toEqual([key, line]);
  }
  for (const [key, story] of store.stories) {
    const turns = story.map((_, i) => (i % 2 === 0 ? `confirmed ${i / 2 + 1}` : `reverted ${(i + 1) / 2}`));
    expect([key, story]).toEqual([key, turns]);
  }
}

describe("any world", () => {
  it(`ends with the chain's books, after ${SEEDS} lives of ${MOVES} moves`, async () => {
    const met = { reverted: 0, again: 0, lost: 0, restarts: 0, faults: 0, past: 0, booked: 0 };
    for (let seed = 1; seed <= SEEDS; seed++) {
      const world = await play(seed).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error });
      });
      try {
        expectBooks(world);
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
      for (const [name, count] of Object.entries(world.met)) met[name as keyof typeof world.met] += count;
      met.booked += [...world.store.books].length;
    }
    // What the worlds are there for has happened.
    for (const [name, count] of Object.entries(met)) expect([name, count > SEEDS]).toEqual([name, true]);
  }, 120_000);
});
