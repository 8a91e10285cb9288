/**
 * Random games on TRON's own adapter, over three nodes of which one at a time lies and others lag, lose answers or are
 * gone; the object is killed, or restored from an older copy; D1 loses answers; bytes land late; people give up. No
 * withdrawal is paid twice, none is released and paid, and what is reserved is what is open.
 */

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { tronHex } from "../../src/core/tron-address.ts";
import { isOpen } from "../../src/core/withdrawal.ts";
import { Dice } from "../simulation/world/dice.ts";
import { newTronAddress } from "../support/expiring-chain.ts";
import { parseTx, Refusal } from "../support/tron-block.ts";
import { TronChain } from "../support/tron-chain.ts";
import { type Json, TronNodeDouble } from "../support/tron-double.ts";
import { ExpiringMerchant, TRX, tron, urls, watched } from "./expiring-line.ts";
import { DAY_MS, DB, quiet, time } from "./line.ts";
import { copyOf } from "./older-copy.ts";

const SEEDS = 3;
const STEPS = 40;
const UNSOLID = 18;
const HOUR_MS = 3_600_000;
const MAX_WITHDRAWALS = 12;

const shipped = { caip2: tron.caip2, urls: [...urls] };
const database = Object.getPrototypeOf(DB) as D1Database;
const { batch } = database;

let chain: TronChain;
let doubles: TronNodeDouble[];

beforeEach(() => {
  quiet("warn", "error");
  time.now = Date.now() + 365 * DAY_MS;
  chain = new TronChain();
  chain.mine(30);
  chain.unsolid = UNSOLID;
  doubles = [0, 1, 2].map(() => new TronNodeDouble(chain));
  Object.assign(tron, { caip2: `tron:0x${chain.at(0).id.slice(-8)}` });
  urls.splice(0, urls.length, ...doubles.map((_, i) => `http://tron-${i}.test`));
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const [, index = ""] = /^http:\/\/tron-(\d)\.test/.exec(String(input)) ?? [];
    const double = doubles[Number(index)];
    if (double === undefined) throw new TypeError(`nobody is at ${String(input)}`);
    return double.fetch(input, init);
  });
  watched();
});
afterEach(() => {
  Object.assign(tron, { caip2: shipped.caip2 });
  urls.splice(0, urls.length, ...shipped.urls);
  vi.restoreAllMocks();
});

it.each(Array.from({ length: SEEDS }, (_, i) => i + 1))("game %i", { timeout: 120_000 }, async (seed) => {
  const game = await Game.start(new Dice(seed));
  for (let step = 0; step < STEPS; step++) {
    await game.step();
    await game.check();
  }
  await game.end();
});

const LIES = ["hides", "fails", "says nothing of outcomes", "takes nothing"] as const;

class Game {
  readonly #dice: Dice;
  readonly #merchant: ExpiringMerchant;
  readonly #destinations: string[] = [];
  #restore: (() => Promise<void>) | null = null;
  /** What was done, for whoever reads a failure. */
  readonly #story: string[] = [];

  private constructor(dice: Dice, merchant: ExpiringMerchant) {
    this.#dice = dice;
    this.#merchant = merchant;
  }

  static async start(dice: Dice): Promise<Game> {
    const merchant = await ExpiringMerchant.opened();
    chain.pay(merchant.wallet, 1_000n * TRX);
    chain.mine(UNSOLID + 1);
    await merchant.credit("native", 100n * TRX);
    return new Game(dice, merchant);
  }

  async step(): Promise<void> {
    const dice = this.#dice;
    const acts: (() => Promise<void> | void)[] = [
      this.#mine,
      this.#mine,
      this.#mine,
      this.#withdraw,
      this.#withdraw,
      this.#fault,
      this.#fault,
      this.#lie,
      this.#late,
      this.#late,
      this.#stall,
      this.#reorg,
      this.#crash,
      this.#copy,
      this.#goBack,
      this.#loseD1,
      this.#person,
      this.#blackout,
      this.#forget,
      this.#forgetSecond,
    ];
    await dice.pick(acts)();
    if (dice.chance(0.7)) await this.#merchant.drive();
  }

  /** A stranger's payment in each, so that one who hides ours can show a block that is not empty. */
  readonly #mine = async () => {
    const blocks = this.#dice.between(1, 12);
    this.#story.push(`mine ${blocks}`);
    for (let i = 0; i < blocks; i++) {
      chain.pay(newTronAddress(), 1n);
      chain.mine();
      if (i % 3 === 0) await this.#merchant.drive();
    }
  };

  readonly #withdraw = async () => {
    if (this.#destinations.length >= MAX_WITHDRAWALS) return;
    const destination = newTronAddress();
    this.#destinations.push(destination);
    const { status } = await this.#merchant.ask({ destination });
    this.#story.push(`withdraw ${this.#destinations.length}: ${status}`);
    await this.#merchant.settle();
  };

  readonly #fault = () => {
    const { double, index } = this.#any();
    const kind = this.#dice.pick(["well", "down", "lags", "loses answers"]);
    this.#story.push(`${index} ${kind}`);
    Object.assign(double, { down: kind === "down", lag: kind === "lags" ? this.#dice.between(1, 40) : 0 });
    double.on(
      "wallet/broadcasthex",
      kind !== "loses answers"
        ? null
        : async (_, honest) => {
            await honest();
            throw new Error("timeout");
          },
    );
  };

  readonly #lie = () => {
    for (const double of doubles) beHonest(double);
    const { index } = this.#any();
    const lie = this.#dice.pick(LIES);
    this.#story.push(`${index} ${lie}`);
    this.#lies(index, lie);
  };

  #lies(index: number, lie: (typeof LIES)[number]): void {
    const double = doubles[index];
    if (double === undefined) throw new Error(`no node ${index}`);
    const wallet = `41${tronHex(this.#merchant.wallet)}`;
    const ours = (tx: Json) => JSON.stringify(tx).includes(wallet);
    const change = (each: (txs: Json[]) => Json[]) =>
      double.on("walletsolidity/getblock", async (_, honest) => {
        const block = (await honest()) as Json;
        return Array.isArray(block.transactions) ? { ...block, transactions: each(block.transactions) } : block;
      });
    const outcome = (ret: Json[]) => change((txs) => txs.map((tx) => (ours(tx) ? { ...tx, ret } : tx)));
    const infos = (each: (info: Json) => Json) =>
      double.on("walletsolidity/gettransactioninfobyid", async (_, honest) => each((await honest()) as Json));
    switch (lie) {
      case "hides":
        change((txs) => txs.filter((tx) => !ours(tx)));
        infos(() => ({}));
        break;
      case "fails":
        outcome([{ contractRet: "REVERT" }]);
        infos((info) => ({ ...info, result: "FAILED" }));
        break;
      case "says nothing of outcomes":
        outcome([]);
        break;
      case "takes nothing":
        takeNothing(double);
        break;
    }
  }

  /** Bytes that were on their way somewhere. */
  readonly #late = () => {
    const bytes = [...new Set(doubles.flatMap(({ sent }) => sent))];
    if (bytes.length > 0) this.#push(this.#dice.pick(bytes));
  };

  #push(bytes: string): void {
    try {
      chain.push(parseTx(bytes));
      this.#story.push("late bytes");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }

  /** Nothing becomes solid for a while, or all of it at once. */
  readonly #stall = () => {
    const blocks = chain.unsolid > UNSOLID ? 0 : this.#dice.between(10, 60);
    this.#story.push(`stall ${blocks}`);
    chain.unsolid = blocks === 0 ? UNSOLID : chain.unsolid + blocks;
    chain.mine(blocks);
  };

  readonly #reorg = () => {
    const depth = this.#dice.between(1, UNSOLID - 1);
    this.#story.push(`reorg ${depth}`);
    const txs = Array.from({ length: depth }, (_, i) => chain.at(chain.head.height - i).txs).flat();
    chain.reorg(
      depth,
      txs.filter(() => this.#dice.chance(0.5)),
    );
  };

  readonly #crash = async () => {
    this.#story.push("crash");
    await this.#merchant.abort();
  };

  readonly #copy = async () => {
    this.#story.push("copy");
    this.#restore = await copyOf(this.#merchant);
  };

  readonly #goBack = async () => {
    if (this.#restore === null) return;
    this.#story.push("restored");
    await this.#restore();
  };

  readonly #loseD1 = async () => {
    const applies = this.#dice.chance(0.5);
    this.#story.push(`D1 is gone, ${applies ? "and does what it is told" : "altogether"}`);
    vi.spyOn(database, "batch").mockImplementation(async function (this: D1Database, statements) {
      if (applies) await batch.call(this, statements);
      throw new Error("Network connection lost.");
    } as typeof batch);
    await this.#mine();
    vi.spyOn(database, "batch").mockImplementation(batch);
  };

  readonly #person = async () => {
    time.now += HOUR_MS;
    await this.#merchant.drive();
    for (const { id, state } of await this.#merchant.withdrawals()) {
      if (state !== "manual_review") continue;
      const done = this.#dice.chance(0.5)
        ? await this.#merchant.act(id, "resolve", { outcome: "failed", evidence: "called off" })
        : await this.#merchant.act(id, "speed-up");
      this.#story.push(`person: ${done}`);
    }
  };

  /** One hides what landed until it has expired, one is gone, and one is far behind; then all are well. */
  readonly #blackout = async () => {
    await this.#withdraw();
    const { index } = this.#any();
    this.#story.push(`only ${index} is there, and hides`);
    for (const [i, double] of doubles.entries()) {
      const isGone = i === (index + 1) % doubles.length;
      Object.assign(double, { down: isGone, lag: i === index || isGone ? 0 : 60 });
    }
    this.#lies(index, "hides");
    for (let i = 0; i < 9; i++) await this.#mine();
    this.#heal();
  };

  /** What is signed after the copy that the object is restored from is not known to it. */
  readonly #forget = async () => {
    watched("halted");
    await this.#withdraw();
    const restore = await copyOf(this.#merchant);
    watched();
    await this.#merchant.drive();
    this.#story.push("forgets what it signed");
    await restore();
    chain.mine();
    await this.#merchant.drive(2);
  };

  /** The same of a second transaction, while a person gives the withdrawal up, and the bytes land after that. */
  readonly #forgetSecond = async () => {
    this.#heal();
    for (const double of doubles) takeNothing(double);
    await this.#withdraw();
    const restore = await copyOf(this.#merchant);
    for (let i = 0; i < 45; i++) {
      chain.mine();
      if (i > 35) await this.#merchant.drive();
    }
    this.#story.push("forgets its second transaction");
    await restore();
    this.#heal();
    if (this.#dice.chance(0.5)) await this.#person();
    await this.#merchant.drive(3);
    const last = doubles[0]?.sent.at(-1);
    if (last !== undefined) this.#push(last);
    chain.mine();
  };

  #any(): { readonly double: TronNodeDouble; readonly index: number } {
    const index = this.#dice.roll(doubles.length);
    const double = doubles[index];
    if (double === undefined) throw new Error(`no node ${index}`);
    return { double, index };
  }

  #heal(): void {
    for (const double of doubles) {
      beHonest(double);
      Object.assign(double, { down: false, lag: 0 });
    }
  }

  /** Sun of each payment of the wallet to an address. */
  #paidTo(destination: string): bigint[] {
    const [from, to] = [this.#merchant.wallet, destination].map((address) => `41${tronHex(address)}`);
    return Array.from({ length: chain.head.height + 1 }, (_, height) => chain.at(height).txs)
      .flat()
      .flatMap(({ data: { contract } }) =>
        contract.kind === "transfer" && contract.owner === from && contract.to === to ? [contract.amountUnits] : [],
      );
  }

  async check(): Promise<void> {
    const story = this.#story.join("; ");
    const all = await this.#merchant.withdrawals();
    for (const destination of this.#destinations)
      expect(this.#paidTo(destination).length, `${destination}: ${story}`).toBeLessThan(2);
    for (const { id, state, destination } of all) {
      const paid = this.#paidTo(destination).length;
      if (state === "confirmed") expect(paid, `${id} is ${state}: ${story}`).toBe(1);
      else if (!isOpen(state)) expect(paid, `${id} is ${state}: ${story}`).toBe(0);
    }
    const balances = await this.#merchant.rows<{ reserved: string }>("SELECT reserved FROM balances");
    const reserved = balances.reduce((sum, balance) => sum + BigInt(balance.reserved), 0n);
    expect(reserved, story).toBe(BigInt(all.filter(({ state }) => isOpen(state)).length) * TRX);
  }

  /** Everything is well again, and comes to an end; whoever still has bytes sends them for the last time. */
  async end(): Promise<void> {
    this.#heal();
    chain.unsolid = UNSOLID;
    vi.spyOn(database, "batch").mockImplementation(batch);
    for (let round = 0; round < 40; round++) {
      this.#late();
      await this.#mine();
      const open = (await this.#merchant.withdrawals()).filter(({ state }) => isOpen(state));
      if (open.length === 0) break;
      for (const { id, state } of open)
        if (state === "manual_review")
          await this.#merchant.act(id, "resolve", { outcome: "failed", evidence: "called off" });
    }
    await this.check();
    const states = (await this.#merchant.withdrawals()).map(({ state }) => state);
    expect(states.filter(isOpen), this.#story.join("; ")).toEqual([]);
  }
}

/** It says that it passes on what it keeps to itself. */
function takeNothing(double: TronNodeDouble): void {
  double.on("wallet/broadcasthex", (body) => {
    const bytes = String(body.transaction);
    double.sent.push(bytes);
    return { result: true, code: "SUCCESS", txid: parseTx(bytes).txId };
  });
}

function beHonest(double: TronNodeDouble): void {
  for (const path of ["walletsolidity/getblock", "walletsolidity/gettransactioninfobyid", "wallet/broadcasthex"])
    double.on(path, null);
}
