/**
 * The addresses that a merchant watches: it takes new ones, some of them after they were paid to; gives some up,
 * and takes them again or leaves them to others; and tries to take what is somebody else's.
 */

import { newAddress } from "../support/model-chain.ts";
import type { ChainLife } from "./chain-life.ts";
import type { Client, Complaints, Told } from "./client.ts";
import { REORG_WINDOW } from "./receiver.ts";
import type { World } from "./world/world.ts";

/** A provider that hangs behind has fewer blocks than there are. */
const MAX_BEHIND = 6;

export interface Held {
  readonly id: string;
  readonly address: string;
  readonly account: string;
}

/** Its deletion was answered: the last height that is its owner's lies between these. Nobody knows `most` when it was done before. */
export interface GivenUp {
  readonly address: string;
  readonly least: number;
  readonly most: number;
}

export class Addresses {
  /** What it has now, as far as it was told. */
  readonly held: Held[] = [];
  readonly givenUp: GivenUp[] = [];
  readonly #world: World;
  readonly #client: Client;
  readonly #complaints: Complaints;
  readonly #life: ChainLife;
  readonly #scannedTo: () => number;

  /** @param scannedTo the height up to which the product has read now */
  constructor(world: World, client: Client, complaints: Complaints, life: ChainLife, scannedTo: () => number) {
    this.#scannedTo = scannedTo;
    this.#world = world;
    this.#client = client;
    this.#complaints = complaints;
    this.#life = life;
  }

  /** Watches a new address. @param isPaidBefore it is paid to for a while, then asked for from where that began */
  async watch(account: string, isPaidBefore: boolean): Promise<void> {
    const life = this.#life;
    const address = newAddress();
    const from = life.chain.head + 1;
    if (isPaidBefore) {
      life.payees.push(address);
      await this.#world.sleep(this.#world.dice.between(5_000, 40_000));
    }
    const start = isPaidBefore ? Math.min(from, life.chain.head - MAX_BEHIND) : null;
    const made = await this.take(address, account, start);
    if (isPaidBefore && Number(made.body.watched_from) > from)
      this.#complaints.add(`I5 ${address} was to be read from ${from}, and is from ${made.body.watched_from}`);
    if (!isPaidBefore) life.payees.push(address);
  }

  /** @param start from where it is to be read; null: from now on */
  async take(address: string, account: string, start: number | null): Promise<Told> {
    const body = { network: "local", address, account, ...(start === null ? {} : { start_height: start }) };
    const told = await this.#client.untilTold("POST", "/v1/addresses", body, null);
    if (told.status < 300) this.held.push({ id: String(told.body.id), address, account });
    else if (told.status !== 409) throw new Error(`${address} was answered ${JSON.stringify(told)}`);
    return told;
  }

  /** Deletes one of an account that keeps others. @returns it; null: there was none */
  async giveUp(): Promise<Held | null> {
    const counts = Map.groupBy(this.held, ({ account }) => account);
    const spare = this.held.filter(({ account }) => (counts.get(account)?.length ?? 0) > 1);
    if (spare.length === 0) return null;
    const chosen = this.#world.dice.pick(spare);
    this.held.splice(this.held.indexOf(chosen), 1);
    const least = this.#scannedTo() + REORG_WINDOW;
    const told = await this.#client.untilTold("DELETE", `/v1/addresses/${chosen.id}`, undefined, null);
    // Not found: an earlier try did it, and what it could not give back yet is given back later.
    const isLate = told.status === 404;
    if (told.status >= 300 && !isLate) throw new Error(`${chosen.address} was not given up: ${JSON.stringify(told)}`);
    // Given up before, and taken again: that watch ends here now.
    const before = this.givenUp.findIndex(({ address }) => address === chosen.address);
    if (before !== -1) this.givenUp.splice(before, 1);
    const most = isLate ? Number.POSITIVE_INFINITY : this.#life.chain.head + REORG_WINDOW;
    this.givenUp.push({ address: chosen.address, least, most });
    if (isLate) return null;
    return chosen;
  }

  /** Somebody else's: it must be refused as long as the other one has it. */
  async poach(victim: Addresses): Promise<void> {
    if (victim.held.length === 0) return;
    const wanted = this.#world.dice.pick(victim.held);
    const body = { network: "local", address: wanted.address, account: "bob" };
    const told = await this.#client.ask("POST", "/v1/addresses", body, null);
    if (told === null || !victim.held.includes(wanted)) return;
    if (told.status !== 409) this.#complaints.add(`I14 ${wanted.address} was taken from its owner: ${told.status}`);
  }
}
