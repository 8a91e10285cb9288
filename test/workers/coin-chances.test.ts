/**
 * Withdrawals of coins on a chain that does what it likes: blocks that leave out or take older attempts, reorganisations,
 * pools that forget, nodes that lie about a send, an object that starts again, people who hurry and give up. Whatever
 * happens, each withdrawal is paid once or released, and never both. The same chances on every run.
 */

import { afterEach, describe, expect, it, vi } from "vitest";
import { CoreError } from "../support/bitcoin-double.ts";
import { chain, node, poll, regtest } from "./bitcoin-line.ts";
import { checkCoinPayouts, expectStrangers, receivedBy } from "./coin-checks.ts";
import { BTC, CoinMerchant, startCoins, WINDOW } from "./coin-line.ts";
import { quiet, time } from "./line.ts";

/** Seed and steps. In the last one a deep reorganisation mines another attempt than the one whose change was spent since. */
const GAMES = [...Array.from({ length: 10 }, (_, i) => [i + 1, 40] as const), [115, 60] as const];

afterEach(() => {
  vi.restoreAllMocks();
});

class Chances {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 0x9e3779b9;
  }

  /** From 0 up to, and without, the limit. */
  below(limit: number): number {
    this.#state = (Math.imul(this.#state ^ (this.#state >>> 15), 0x2c1b3c6d) + 0x7f4a7c15) | 0;
    const mixed = Math.imul(this.#state ^ (this.#state >>> 12), 0x297a2d39);
    return ((mixed ^ (mixed >>> 15)) >>> 0) % limit;
  }

  of<T>(all: readonly T[]): T | undefined {
    return all[this.below(all.length || 1)];
  }
}

type Act = (merchant: CoinMerchant, chances: Chances) => Promise<unknown> | unknown;

const withdraw: Act = (merchant, chances) => merchant.withdraw({ amount: `0.${100 + chances.below(400)}` });

const hurry: Act = async (merchant, chances) => {
  const one = chances.of((await merchant.withdrawals()).filter(({ state }) => state === "confirmation_tracking"));
  if (one !== undefined) await merchant.act(one.id, "speed-up");
};

/** Late, and called off by a person. */
const giveUp: Act = async (merchant, chances) => {
  time.now += regtest.payout.deadlineS * 1_000;
  await merchant.drive(1, 1_000);
  const one = chances.of((await merchant.withdrawals()).filter(({ state }) => state === "manual_review"));
  if (one !== undefined) await merchant.act(one.id, "resolve", { outcome: "failed", evidence: "called off" });
};

/** A miner who takes some attempt, the latest or not. */
const mineSome: Act = async (merchant, chances) => {
  const tx = chances.of(await merchant.signed());
  if (tx === undefined) return;
  try {
    chain.mine(1, { include: [tx] });
  } catch {
    // What it spends is gone.
  }
};

const ACTS: readonly (readonly [weight: number, act: Act])[] = [
  [4, withdraw],
  [6, (merchant) => merchant.drive(1, 16_000)],
  [3, (merchant) => merchant.drive(1, 31_000)],
  [4, () => void chain.mine()],
  [3, () => void chain.mine(1, { include: [] })],
  [3, mineSome],
  [2, (_, chances) => void chain.reorg(1 + chances.below(WINDOW - 2), { pool: chances.below(2) ? "drop" : "return" })],
  [2, () => chain.forget()],
  [2, (merchant) => merchant.abort()],
  [2, hurry],
  [1, giveUp],
  [1, () => node.loseAnswers("sendrawtransaction", 1)],
  [1, () => node.turnAway("sendrawtransaction", 503, 1)],
  [
    1,
    (_, chances) => {
      const code = chances.of([-25, -26, -27, -28]) ?? -25;
      node.next("sendrawtransaction", 1, () => {
        throw new CoreError(code, code === -25 ? "bad-txns-inputs-missingorspent" : "no");
      });
    },
  ],
  [1, (_, chances) => void Object.assign(node.facts, { estimate: BigInt(2_000 + chances.below(60_000)) })],
];
const DEALT = ACTS.flatMap(([weight, act]) => Array.from({ length: weight }, () => act));

it.each(GAMES)("chances %i, %i steps", { timeout: 120_000 }, async (seed, steps) => {
  quiet("warn", "error");
  expectStrangers();
  await startCoins();
  const merchant = await CoinMerchant.start({ funds: 40n * BTC, coins: [BTC, BTC, BTC / 2n, 2n * BTC, BTC / 4n] });
  await merchant.mineAndPoll(WINDOW + 2);
  const chances = new Chances(seed);
  for (let step = 0; step < steps; step++) {
    await chances.of(DEALT)?.(merchant, chances);
    await poll(1);
    for (const { destination, state } of await merchant.withdrawals()) {
      const paid = receivedBy(destination).length;
      expect([seed, step, paid < 2, paid > 0 && state === "failed"]).toEqual([seed, step, true, false]);
    }
  }
  node.honestAgain();
  await merchant.rest();
  expect((await merchant.withdrawals()).length).toBeGreaterThan(0);
  await checkCoinPayouts(merchant);
  expect(await merchant.hotWallet()).toMatchObject({ status: "active", incident: null });
});

describe("the chances", () => {
  it("are the same for the same seed", () => {
    const drawn = (seed: number) => {
      const chances = new Chances(seed);
      return Array.from({ length: 20 }, () => chances.below(100));
    };
    expect(drawn(1)).toEqual(drawn(1));
    expect(drawn(1)).not.toEqual(drawn(2));
  });
});
