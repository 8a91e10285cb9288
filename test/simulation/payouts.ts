/**
 * How a merchant pays out: clicks twice, retries with the same key, changes its mind, misuses keys, asks for more
 * than there is, approves with the wrong key. It remembers what each key was answered with, so that two answers
 * can be held against each other.
 */

import { formatAmount } from "../../src/core/amount.ts";
import type { Page, WithdrawalView } from "../../src/core/views.ts";
import { newAddress } from "../support/model-chain.ts";
import type { Client, Complaints, Told } from "./client.ts";
import type { World } from "./world/world.ts";

const DECIMALS = 18;
const MOST_TRIES = 6;
/** Requests for one balance at the same moment, each for so much of it that two cannot be paid. */
const RUSH = 3;
const RUSH_PERCENT = 60n;

/** A payment that was asked for: every destination belongs to one of them alone. */
export interface Wish {
  readonly key: string;
  readonly account: string;
  readonly body: { network: string; asset: string; destination: string; amount: string; account: string };
  /** The id that the key was answered with. */
  id: string | null;
}

interface BalanceAnswer {
  readonly account: string;
  readonly asset: string;
  readonly available: string;
  readonly debt: string;
}

export class Payouts {
  readonly wishes: Wish[] = [];
  /** May approve, and nothing else. */
  approver = "";
  readonly #name: string;
  readonly #world: World;
  readonly #client: Client;
  readonly #complaints: Complaints;
  #keys = 0;

  constructor(name: string, world: World, client: Client, complaints: Complaints) {
    this.#name = name;
    this.#world = world;
    this.#client = client;
    this.#complaints = complaints;
  }

  newWish(): Wish {
    const { dice } = this.#world;
    const account = dice.pick(["ann", "bob"]);
    const asset = dice.pick(["ETH", "TOK"]);
    const amount = `${dice.between(1, 9)}.${dice.between(1, 999)}`.replace(/\.?0+$/, "");
    return this.wish(account, asset, `0.${amount.replace(".", "")}`);
  }

  wish(account: string, asset: string, amount: string): Wish {
    const wish = this.#newWish(account, asset, amount);
    this.wishes.push(wish);
    return wish;
  }

  /** Asks for it, once or several times at once, and again later if nobody answered. */
  async wishFor(wish: Wish): Promise<void> {
    const { dice } = this.#world;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const clicks = dice.chance(0.3) ? dice.between(2, 4) : 1;
      const wasKnown = wish.id !== null;
      const answers = await Promise.all(Array.from({ length: clicks }, () => this.#askFor(wish)));
      for (const told of answers) if (told !== null) this.#judgeAnswer(wish, told, wasKnown);
      if (answers.some((told) => told !== null && told.status < 300)) return;
      // Perhaps there will be money; a refusal has not used the key up.
      await this.#world.sleep(dice.between(500, 8_000));
    }
  }

  /** Another request under a key that has a withdrawal: it must be refused and change nothing. */
  async misuse(wish: Wish): Promise<void> {
    const told = await this.#askFor({ ...wish, body: { ...wish.body, amount: "0.000123" } });
    if (told === null || wish.id === null) return;
    if (told.status !== 422)
      this.#complaints.add(`I10 key ${wish.key} was accepted for another request: ${told.status}`);
  }

  /**
   * Asks, hears nothing, and asks for something else under the same key. One of the two has the key from then on;
   * whichever it is, the other one is refused.
   */
  async changeMind(): Promise<void> {
    const { dice } = this.#world;
    const first = this.#newWish(dice.pick(["ann", "bob"]), dice.pick(["ETH", "TOK"]), "0.01");
    const second = { ...first, body: { ...first.body, destination: newAddress(), amount: "0.02" } };
    const told = await this.#askFor(first);
    if (told !== null) return this.#keep(first, told);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const other = await this.#askFor(second);
      if (other !== null && other.status < 300) {
        this.#keep(second, other);
        const late = await this.#askFor(first);
        if (late !== null && late.status < 300) this.#complaints.add(`I10 key ${first.key} was accepted twice`);
        return;
      }
      if (other?.body.code === "idempotency_key_reused") break;
      await this.#world.sleep(dice.between(200, 4_000));
    }
    const last = await this.#askFor(first);
    this.#keep(first, last);
  }

  /** Several people ask for the same money at once. */
  async rush(): Promise<void> {
    const { dice } = this.#world;
    const rich = (await this.balances("")).filter(({ available }) => unitsOf(available) > 0n);
    if (rich.length === 0) return;
    const { account, asset, available } = dice.pick(rich);
    const amount = formatAmount((unitsOf(available) * RUSH_PERCENT) / 100n, DECIMALS);
    const wishes = Array.from({ length: RUSH }, () => this.wish(account, asset, amount));
    await Promise.all(
      wishes.map(async (wish) => {
        const told = await this.#askFor(wish);
        if (told !== null) this.#judgeAnswer(wish, told, false);
      }),
    );
  }

  /** @param account "" for all of them */
  async balances(account: string): Promise<readonly BalanceAnswer[]> {
    const query = account === "" ? "" : `&account=${account}`;
    const told = await this.#client.untilDone("GET", `/v1/balances?limit=200${query}`, undefined, null);
    return (told.body as unknown as Page<BalanceAnswer>).data;
  }

  async change(wish: Wish, what: "cancel" | "speed-up" | "approve" | "reject"): Promise<void> {
    if (wish.id === null) return;
    const as = what === "approve" || what === "reject" ? this.approver : this.#client.key;
    await this.#client.ask("POST", `/v1/withdrawals/${wish.id}/${what}`, undefined, null, as);
  }

  /** Whoever asked for a payment tries to approve it, too; perhaps with a key that took the other one's place. */
  async approveOwn(id: string): Promise<void> {
    const told = await this.#client.ask("POST", `/v1/withdrawals/${id}/approve`, undefined, null);
    if (told !== null && told.status < 300)
      this.#complaints.add(`approval ${id}: the key that asked for it has approved it`);
  }

  /** Somebody decides about what waits for an approval. */
  async decideAll(): Promise<void> {
    for (const { id } of await this.#allIn("pending_approval")) {
      if (this.#world.dice.chance(0.5)) await this.approveOwn(id);
      const what = this.#world.dice.chance(0.7) ? "approve" : "reject";
      await this.#client.ask("POST", `/v1/withdrawals/${id}/${what}`, undefined, null, this.approver);
    }
  }

  /** In the end a person looks at whatever waits for one, and calls it failed: the chain must still win. */
  async resolveAll(): Promise<void> {
    for (const { id } of await this.#allIn("manual_review")) {
      const decision = { outcome: "failed", evidence: "looked at it" };
      await this.#client.ask("POST", `/v1/withdrawals/${id}/resolve`, decision, null, this.approver);
    }
    await this.#client.ask("POST", "/v1/wallets/local/resume", undefined, null);
  }

  #newWish(account: string, asset: string, amount: string): Wish {
    const body = { network: "local", asset, destination: newAddress(), amount, account };
    return { key: `${this.#name}-${++this.#keys}`, account, body, id: null };
  }

  #askFor({ body, key }: Wish): Promise<Told | null> {
    return this.#client.ask("POST", "/v1/withdrawals", body, key);
  }

  /** From now on it is a wish like others, to be asked for again. */
  #keep(wish: Wish, told: Told | null): void {
    this.wishes.push(wish);
    if (told !== null) this.#judgeAnswer(wish, told, false);
  }

  async #allIn(state: string): Promise<readonly WithdrawalView[]> {
    const told = await this.#client.untilDone("GET", `/v1/withdrawals?state=${state}&limit=200`, undefined, null);
    return (told.body as unknown as Page<WithdrawalView>).data;
  }

  /** @param wasKnown whether the key had its withdrawal before this was asked: of two clicks one may be refused */
  #judgeAnswer(wish: Wish, { status, body }: Told, wasKnown: boolean): void {
    if (status !== 200 && status !== 201) {
      if (wasKnown) this.#complaints.add(`I10 key ${wish.key} had ${wish.id} and was then answered ${status}`);
      return;
    }
    const { id, destination } = body as unknown as WithdrawalView;
    if (wish.id !== null && wish.id !== id) this.#complaints.add(`I10 key ${wish.key} names ${wish.id} and ${id}`);
    if (destination !== wish.body.destination) this.#complaints.add(`I10 key ${wish.key} pays ${destination}`);
    wish.id = id;
  }
}

/** Of an amount that an answer states. Wei. */
export function unitsOf(amount: string): bigint {
  const [whole = "0", fraction = ""] = amount.split(".");
  return BigInt(whole + fraction.padEnd(DECIMALS, "0"));
}
