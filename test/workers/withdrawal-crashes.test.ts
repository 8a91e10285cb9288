/**
 * The machine goes away in the middle of a withdrawal: just before each call that leaves the object, and just
 * after the call was applied, with its answer lost. What starts again goes on from the rows, and pays once.
 */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deriveSigner } from "../../src/chains/evm/derived-signer.ts";
import type { Env } from "../../src/env.ts";
import { patrol } from "../../src/patrol.ts";
import { newAddress } from "../support/model-chain.ts";
import { DB, quiet, time } from "./line.ts";
import { checkPayouts, PayingMerchant, provider, startPayouts, type Wanted, wallets } from "./payout-line.ts";

const TOK = newAddress();
const SEND = "node eth_sendRawTransaction";
const MAX_ROUNDS = 30;
const PATIENCE = { timeout: 10_000 };
/** Some twenty withdrawals, each with a crash. */
const MANY_CRASHES_MS = 120_000;

beforeEach(() => startPayouts());
afterEach(() => {
  vi.restoreAllMocks();
});

interface Crash {
  /** Which of the outside calls, from 0, or the first of a name. */
  readonly at: number | string;
  readonly when: "before" | "after";
}

/** Counts the calls that leave the object, and takes the object away at one of them. */
class Outside {
  calls: string[] = [];
  crashed = false;
  #crash: Crash | null = null;
  #state: DurableObjectState | null = null;

  constructor() {
    provider().http = (methods, honest) => this.#call(`node ${requestName(methods)}`, honest);
    this.#watch(Object.getPrototypeOf(DB), "batch", "D1 batch");
    this.#watch(Object.getPrototypeOf(DB.prepare("SELECT 1")), "first", "D1 first");
    const signer = deriveSigner((env as unknown as Env).WALLET_SEED, "anybody", { id: "local" });
    this.#watch(Object.getPrototypeOf(signer), "sign", "signer");
  }

  /** From now on counts anew; `crash`: where this instance of the object ends. */
  async begin(merchant: PayingMerchant, crash: Crash | null): Promise<void> {
    this.calls = [];
    this.crashed = false;
    this.#crash = crash;
    this.#state = await runInDurableObject(merchant.stub, (_, state) => state);
  }

  #watch(prototype: object, method: string, label: string): void {
    const target = prototype as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const honest = target[method];
    if (honest === undefined) throw new Error(`there is no method ${method} to watch`);
    const outside = this;
    vi.spyOn(target, method).mockImplementation(function (this: unknown, ...args) {
      return outside.#call(label, () => honest.apply(this, args));
    });
  }

  async #call<T>(label: string, honest: () => Promise<T>): Promise<T> {
    const ends = this.#crash !== null && [this.calls.length, label].includes(this.#crash.at);
    this.calls.push(label);
    if (!ends) return honest();
    if (this.#crash?.when === "after") await honest();
    this.#crash = null;
    this.crashed = true;
    this.#state?.abort("the machine went away");
    return new Promise(() => {});
  }
}

/** A look is two requests, whose length depends on what else is open. */
function requestName(methods: readonly string[]): string {
  const counts = methods.filter((method) => method === "eth_getTransactionCount").length;
  if (counts === 0) return methods.join(" ");
  return counts === 2 ? "look" : "ground of the look";
}

/** The object starts again. @param inAlarm whether it ended in its alarm, which the platform then runs again */
async function restart(merchant: PayingMerchant, inAlarm: boolean): Promise<void> {
  await vi.waitFor(() => merchant.takeTime(), PATIENCE);
  // Whatever is signed from here on has other bytes.
  wallets.baseFee += 1n;
  await runInDurableObject(merchant.stub, async (_, { storage }) => {
    if (inAlarm) return storage.setAlarm(time.now);
    // Nobody calls again: what is durable must have its alarm, set in the same turn.
    const open = storage.sql.exec("SELECT id FROM withdrawals WHERE state NOT IN ('confirmed', 'failed')").toArray();
    if (open.length > 0) expect(await storage.getAlarm()).not.toBeNull();
  });
}

/** One whole withdrawal up to its confirmation, with a client that repeats its request until it is answered. */
async function payThrough(merchant: PayingMerchant, outside: Outside, wanted: Wanted, crash: Crash | null) {
  await merchant.evict();
  // As on the wallet's first day, so that the first look is among the steps.
  await merchant.inside((_, sql) => sql.exec("UPDATE wallets SET used_below = -1"));
  // Only this withdrawal sets it.
  await runInDurableObject(merchant.stub, (_, { storage }) => storage.deleteAlarm());
  await outside.begin(merchant, crash);
  let restarted = false;
  const restartOnce = async (inAlarm: boolean) => {
    if (!outside.crashed || restarted) return;
    restarted = true;
    await restart(merchant, inAlarm);
  };
  const key = `crash-${crash?.when}-${crash?.at}`;
  let id: string | null = null;
  for (let tries = 0; id === null && tries < 3; tries++) {
    const answer = await merchant.ask(wanted, key).catch(() => null);
    if (answer?.ok) id = ((await answer.json()) as { id: string }).id;
    // The round that the request set off comes to its end, or its crash does.
    await merchant.settle().catch(() => {});
    await restartOnce(false);
  }
  if (id === null) throw new Error("the request was never answered");
  for (let round = 0; round < MAX_ROUNDS; round++) {
    if ((await merchant.state(id)) === "confirmed") return id;
    wallets.mine();
    time.now += 16_000;
    await runDurableObjectAlarm(merchant.stub).catch(() => {});
    await restartOnce(true);
  }
  throw new Error(`not confirmed: ${JSON.stringify(await merchant.withdrawal(id))}`);
}

describe("I6 I8 the object ends at any call that leaves it, and what was asked for is paid once", () => {
  const RUNS = (["ETH", "TOK"] as const).flatMap((asset) =>
    (["before", "after"] as const).map((when) => [asset, when] as const),
  );
  it.each(RUNS)("%s, %s the call", { timeout: MANY_CRASHES_MS }, async (asset, when) => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start({ token: TOK });
    const outside = new Outside();
    const wanted = () => ({ asset, amount: "0.1", destination: newAddress() });
    await payThrough(merchant, outside, wanted(), null);
    const calm = outside.calls;
    for (const step of ["D1 batch", "D1 first", "signer", SEND, "node eth_estimateGas"]) {
      expect(calm).toContain(step);
    }
    for (let at = 0; at < calm.length; at++) {
      const one = wanted();
      const id = await payThrough(merchant, outside, one, { at, when });
      const step = `${at} ${calm[at]}`;
      expect([step, outside.crashed, outside.calls.slice(0, at + 1)]).toEqual([step, true, calm.slice(0, at + 1)]);
      const paid = wallets.paidBy(merchant.wallet).filter(({ to }) => to === one.destination);
      expect([step, paid.length]).toEqual([step, 1]);
      expect([step, (await merchant.withdrawal(id)).attempts.length]).toEqual([step, 1]);
    }
    await merchant.rest();
    await checkPayouts(merchant);
    // Nothing left that is not written down.
    const signed = (await merchant.signed()).map(({ hash }) => hash);
    expect(signed).toEqual(expect.arrayContaining([...wallets.received.keys()]));
  });
});

describe("restarts", () => {
  /** The object is gone without a word, and starts again. */
  async function abort(merchant: PayingMerchant): Promise<void> {
    await runInDurableObject(merchant.stub, (_, state) => state.abort("deployed")).catch(() => {});
    await vi.waitFor(() => merchant.takeTime(), PATIENCE);
  }

  it("B101: with 5 in flight nothing is signed anew, and the next nonce is the sixth", async () => {
    const merchant = await PayingMerchant.start();
    for (let i = 0; i < 5; i++) await merchant.withdraw({ amount: "0.1" });
    const before = await merchant.signed();
    expect(before.map(({ nonce }) => nonce)).toEqual([0, 1, 2, 3, 4]);
    // The pools lost them as well, so that the chain knows of none.
    wallets.forget();
    await abort(merchant);
    await merchant.withdraw({ amount: "0.1" });
    expect((await merchant.signed()).map(({ hash }) => hash).slice(0, 5)).toEqual(before.map(({ hash }) => hash));
    expect((await merchant.signed()).map(({ nonce }) => nonce)).toEqual([0, 1, 2, 3, 4, 5]);
    await merchant.rest();
    expect(wallets.paidBy(merchant.wallet)).toHaveLength(6);
    await checkPayouts(merchant);
  });

  it("B102: bytes that were stored and never sent, their alarm lost, are found by the patrol", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const outside = new Outside();
    await payThrough(merchant, outside, { amount: "0.1" }, null);
    await merchant.rest();
    await outside.begin(merchant, { at: SEND, when: "before" });
    const asked = await merchant.ask({ amount: "0.1" });
    const { id } = (await asked.json()) as { id: string };
    await merchant.settle().catch(() => {});
    await vi.waitFor(() => merchant.takeTime(), PATIENCE);
    expect(outside.crashed).toBe(true);
    expect([(await merchant.signed()).length, wallets.received.size]).toEqual([2, 1]);
    await runInDurableObject(merchant.stub, (_, { storage }) => storage.deleteAlarm());
    expect(await runDurableObjectAlarm(merchant.stub)).toBe(false);

    time.now += 6 * 60_000;
    await patrol(env as unknown as Env, time.now);
    await vi.waitFor(async () => expect(await merchant.state(id)).toBe("confirmation_tracking"), PATIENCE);
    await merchant.rest();
    expect(await merchant.signed()).toHaveLength(2);
    await checkPayouts(merchant);
  });

  it("B135: a deployment in the middle of every send uses nothing up", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    wallets.forget();
    const outside = new Outside();
    let cut = 0;
    for (let i = 0; i < 8; i++) {
      await outside.begin(merchant, { at: SEND, when: i % 2 === 0 ? "before" : "after" });
      time.now += 31_000;
      await runDurableObjectAlarm(merchant.stub).catch(() => {});
      if (outside.crashed) cut++;
      await restart(merchant, true);
      wallets.forget();
    }
    expect(cut).toBe(8);
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    expect(await merchant.signed()).toHaveLength(1);
    await checkPayouts(merchant);
  });

  it("the object leaves memory between every two steps", async () => {
    const merchant = await PayingMerchant.start({ token: TOK });
    const ids = [(await merchant.withdraw()).id, (await merchant.withdraw({ asset: "TOK" })).id];
    for (let i = 0; i < 10; i++) {
      await merchant.evict();
      if (i % 2 === 0) wallets.mine();
      await merchant.drive(1, 5_000);
    }
    await merchant.rest();
    for (const id of ids) expect(await merchant.steps(id)).toBe("nonce_assigned accepted confirmed_on_chain");
    await checkPayouts(merchant);
  });
});
