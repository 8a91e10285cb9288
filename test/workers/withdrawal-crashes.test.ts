/**
 * The object of a tenant starts again in the middle of its withdrawals: restarts that leave several of them under way,
 * and those that come again and again. Every single step of one withdrawal is ended at in crash/withdrawals.test.ts.
 */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Env } from "../../src/env.ts";
import { patrol } from "../../src/patrol.ts";
import { newAddress } from "../support/model-chain.ts";
import type { Point, Way } from "./crash/machine.ts";
import { machine } from "./crash/scenario.ts";
import { quiet, time } from "./line.ts";
import { checkPayouts, PayingMerchant, startPayouts, wallets } from "./payout-line.ts";

const TOK = newAddress();
const PATIENCE = { timeout: 10_000 };

beforeEach(() => startPayouts());
afterEach(() => {
  machine.end();
  vi.restoreAllMocks();
});

const atSend = (way: Way): Point => ({ name: "rpc eth_sendRawTransaction", occurrence: 1, way });

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
    await merchant.withdraw({ amount: "0.1" });
    await merchant.rest();
    machine.begin([atSend("before")]);
    const asked = await merchant.ask({ amount: "0.1" });
    const { id } = (await asked.json()) as { id: string };
    await machine.quiet();
    machine.end();
    expect(machine.hits).toHaveLength(1);
    await vi.waitFor(() => merchant.takeTime(), PATIENCE);
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
    let cut = 0;
    for (let i = 0; i < 8; i++) {
      machine.begin([atSend(i % 2 === 0 ? "before" : "after")]);
      time.now += 31_000;
      await runDurableObjectAlarm(merchant.stub).catch(() => {});
      cut += machine.hits.length;
      machine.end();
      await vi.waitFor(() => merchant.takeTime(), PATIENCE);
      // The platform runs an alarm again that did not come to its end. What is signed from here on has other bytes.
      await runInDurableObject(merchant.stub, (_, { storage }) => storage.setAlarm(time.now));
      wallets.baseFee += 1n;
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
